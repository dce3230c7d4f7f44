"""What runs inside a confined process. It trusts nobody, and nobody trusts it."""

__all__: list[str] = []
