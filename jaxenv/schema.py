"""What a config may hold, as plain data: the one place for bounds, units and reasons.

`EnvConfig`, the engineer's JSON schema and prompt, the command line's help and the docs are all made from it. It
imports nothing, so that the driver can read it too.
"""

from dataclasses import dataclass

SIZES = tuple(range(3, 11))  # side lengths a config speaks of
SUM_TOLERANCE = 1e-3  # a simplex off by no more than this was meant to be exact: decimals are rounded


@dataclass(frozen=True)
class Field:
    """One value of a config, or one per map size."""

    name: str
    minimum: float
    maximum: float
    unit: str
    reason: str  # what it steers, and why its bounds are what they are
    per_size: bool = True
    sums_to_one: bool = False  # over the sizes
    integer: bool = False

    @property
    def range(self) -> str:
        """The bounds in words."""
        return f"{self.minimum:g} to {self.maximum:g}"


DATA_RATIO = Field(
    "data_ratio",
    0.0,
    1.0,
    "share of all boards",
    "how often this map size is trained on; the shares of all sizes sum to 1",
    sums_to_one=True,
)
HOLE_RATIO = Field(
    "hole_ratio",
    0.0,
    0.5,
    "share of the map's cells",
    "how many cells are holes; more holes make narrow passages, and above one half few boards can be solved",
)
WAIT_RATIO = Field(
    "wait_ratio",
    0.0,
    1.0,
    "share of this size's boards",
    "how many boards have no optimal plan without a wait, so that agents must let each other pass",
)
NUM_AGENTS = Field(
    "num_agents",
    1,
    5,
    "agents",
    "how many agents move at the same time on every board",
    per_size=False,
    integer=True,
)

FIELDS = (DATA_RATIO, HOLE_RATIO, WAIT_RATIO)  # in the engineer's JSON, one value per size
