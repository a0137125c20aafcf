"""How many boards of which kind a config asks for. Ratios are read as the decimals they were written as, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jaxenv.config import EnvConfig
from jaxenv.errors import GenerationError
from jaxenv.types import MIN_SIZE, Limits


@dataclass(frozen=True)
class Part:
    """A number of boards of one class. `group` tells apart parts of a set that differ in nothing but holes."""

    num_agents: int
    size: int
    needs_wait: bool
    hole_ratio: Fraction
    wanted: int
    group: int = 0

    @property
    def name(self) -> str:
        kind = "need a wait" if self.needs_wait else "need no wait"
        world = f"{self.num_agents} agents, hole ratio {float(self.hole_ratio):g}"
        return f"{self.size}x{self.size} boards that {kind} ({world})"


def as_fraction(value: float) -> Fraction:
    """The shortest decimal that reads back as this float32: 0.3 is 3/10, so no tie is lost to rounding."""
    return Fraction(str(np.float32(value)))


def largest_remainder(weights: Sequence[Fraction], count: int) -> list[int]:
    """`count` split in proportion to the weights; the rest goes to the largest remainders, ties to the first."""
    total = sum(weights)
    if total <= 0:
        raise GenerationError("no boards can be shared out: every data_ratio is 0; give one size a positive data_ratio")
    shares = [weight * count / total for weight in weights]
    result = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda k: (result[k] - shares[k], k))
    for k in order[: count - sum(result)]:
        result[k] += 1
    return result


def parts_of(config: EnvConfig, count: int, limits: Limits) -> list[Part]:
    """The classes of a config and their numbers: sizes ascending, the wait class first; empty classes left out."""
    if count < 1:
        raise GenerationError(f"count is {count}; ask for at least one board")
    num_agents = int(config.num_agents)
    if not 1 <= num_agents <= limits.max_agents:
        raise GenerationError(f"num_agents is {num_agents}; the limits allow 1 to {limits.max_agents}")
    data = [as_fraction(float(x)) for x in np.asarray(config.data_ratio)]
    holes = [as_fraction(float(x)) for x in np.asarray(config.hole_ratio)]
    waits = [as_fraction(float(x)) for x in np.asarray(config.wait_ratio)]
    parts = []
    for k, boards in enumerate(largest_remainder(data, count)):
        size = MIN_SIZE + k
        if boards and size > limits.max_size:
            raise GenerationError(f"{boards} boards of size {size} are asked for; the limits end at {limits.max_size}")
        classes = zip((True, False), largest_remainder([waits[k], 1 - waits[k]], boards), strict=True)
        parts += [Part(num_agents, size, needs_wait, holes[k], wanted) for needs_wait, wanted in classes if wanted]
    return parts
