"""One episode by hand: a wrong kernel, what the judge says of it, and the right one.

Run it from a checkout, without arguments.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym

KERNEL = Path(__file__).parent / "kernels" / "aten.mm.py"


def main() -> None:
    """Play the episode and print it."""
    env = gym.make("kgb_env:kgb/aten.mm-v0", profile="best_effort", max_turns=2)
    observation, _ = env.reset(seed=1)
    print(observation["text"].splitlines()[0], end="\n\n")

    right = KERNEL.read_text(encoding="utf-8")
    wrong = right.replace("total = tl.dot(", "total = 2 * tl.dot(")
    for source in (wrong, right):
        observation, reward, terminated, truncated, info = env.step(f"```python\n{source}```")
        print(observation["text"])
        print(f"reward {reward:+.3f}, terms {info['reward_terms']}, over {terminated or truncated}", end="\n\n")
    env.close()


if __name__ == "__main__":
    main()
