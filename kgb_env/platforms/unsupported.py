"""Features that a platform cannot judge, raised where a submission uses one."""

from __future__ import annotations

from ..errors import UnsupportedError

__all__ = ["NoDriver", "UnsupportedFeature", "refuse_device_queries", "unsupported_reason"]

_DRIVER = "driver query"
_TORCH_CUDA_QUERIES = (
    "current_device",
    "current_stream",
    "default_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "mem_get_info",
)


class UnsupportedFeature(UnsupportedError):
    """The submission used a feature that this platform cannot judge.

    Attributes:
        feature: The key of the feature in :attr:`kgb_env.platforms.base.Platform.unsupported`.
        detail: What was used, in the author's terms.
    """

    def __init__(self, feature: str, detail: str) -> None:
        super().__init__(f"{detail} ({feature} is not supported on this platform)")
        self.feature = feature
        self.detail = detail


class NoDriver:
    """Stands where Triton keeps its GPU driver; every use raises :class:`UnsupportedFeature`."""

    def __getattr__(self, name: str) -> object:
        """Refuse the query.

        Raises:
            UnsupportedFeature: always.
        """
        detail = f"triton.runtime.driver.active.{name}"
        raise UnsupportedFeature(_DRIVER, detail)


def unsupported_reason(error: BaseException) -> str | None:
    """Return the feature that ``error``, or an error it was raised from, names; ``None`` if there is none.

    The result is a key of :attr:`kgb_env.platforms.base.Platform.unsupported`.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        if isinstance(current, UnsupportedFeature):
            return current.feature
        seen.add(id(current))
        current = current.__cause__
    return None


def refuse_device_queries() -> None:
    """Make queries of CUDA device properties through torch raise :class:`UnsupportedFeature`."""
    import torch

    for name in _TORCH_CUDA_QUERIES:
        setattr(torch.cuda, name, _refusal(f"torch.cuda.{name}"))


def _refusal(what: str) -> object:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise UnsupportedFeature(_DRIVER, what)

    return refuse
