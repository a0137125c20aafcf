"""The reward of one answer: how right it is, less what it is too long by.

Everything here is NumPy in and out and free of state: the caller keeps the ability and saves it with the trainer's
checkpoint. Symbols are those of the design: v valid, l tokens, L0 the free budget, L_max the limit, a the ability.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policy.errors import RewardError

Schedule = Literal["adaptive", "reverse", "constant", "off"]
SCHEDULES: tuple[str, ...] = get_args(Schedule)

RHO = 0.5  # share of the accuracy that a plan loses when its cost is far above the optimum
GAP_MAX = 1.0  # cost gap from which on a plan counts as far above
WEIGHT_LOW, WEIGHT_HIGH = 0.05, 0.30  # ends of the length weight
ABILITY_LOW, ABILITY_HIGH = 0.10, 0.70  # abilities at which the schedules start and end
ABILITY_RATE = 0.05

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class RewardParts:
    """The reward of a batch and what it is made of, for the log."""

    reward: FloatArray  # f64[B]
    accuracy: FloatArray  # f64[B] A, before its weight
    excess: FloatArray  # f64[B] P, before its weight
    length_weight: float  # w_len; the accuracy's weight is one less it
    ability: float


def smoothstep(x: float) -> float:
    """0 up to 0, 1 from 1 on, and 3 x^2 - 2 x^3 between."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def length_weight(ability: float, schedule: str = "adaptive") -> float:
    """w_len at an ability: `adaptive` asks for brevity first, for correctness later; `reverse` the other way round."""
    if schedule not in SCHEDULES:
        raise RewardError(f"reward schedule {schedule!r} is unknown; choose one of {', '.join(SCHEDULES)}")
    if not 0.0 <= ability <= 1.0:
        raise RewardError(f"the ability is a moving valid rate and lies within 0 and 1, not {ability}")
    span = WEIGHT_HIGH - WEIGHT_LOW
    s = smoothstep((ability - ABILITY_LOW) / (ABILITY_HIGH - ABILITY_LOW))
    match schedule:
        case "adaptive":
            return WEIGHT_HIGH - span * s
        case "reverse":
            return WEIGHT_LOW + span * s
        case "constant":
            return (WEIGHT_LOW + WEIGHT_HIGH) / 2
        case _:
            return 0.0


def check_reward(schedule: str = "adaptive", rho: float = RHO, gap_max: float = GAP_MAX) -> None:
    """Refuse settings under which a short wrong answer can beat a long right one.

    With equal weights every valid answer beats every invalid one, at any length, iff w_len < (1 - rho) / (2 - rho): the
    worst valid answer gets (1 - w_len) (1 - rho) - w_len, the best invalid one 0.
    """
    if not 0.0 <= rho < 1.0:
        raise RewardError(f"reward.rho is {rho}, and must be at least 0 and below 1")
    if not gap_max > 0.0:
        raise RewardError(f"reward.gap_max is {gap_max}, and must be above 0")
    largest = max(length_weight(ability, schedule) for ability in (0.0, 1.0))
    bound = (1.0 - rho) / (2.0 - rho)
    if not largest < bound:
        raise RewardError(
            f"reward.rho {rho} with schedule {schedule!r} lets a short invalid answer beat a long valid one: "
            f"the length weight reaches {largest:.3f} and must stay below (1 - rho) / (2 - rho) = {bound:.3f}; "
            "lower reward.rho"
        )


def free_budget(optimal_tokens: ArrayLike, max_tokens: int, think_budget: int = 0) -> FloatArray:
    """L0: the tokens that cost nothing, from the length of the stored optimal plan in the style's canonical answer."""
    if max_tokens < 1:
        raise RewardError(f"max_tokens is {max_tokens}, and must be at least 1")
    if think_budget < 0:
        raise RewardError(f"reward.think_budget is {think_budget}, and must not be negative")
    return np.minimum(1.25 * np.asarray(optimal_tokens, dtype=np.float64) + think_budget, 0.6 * max_tokens)


def reward_parts(
    valid: ArrayLike,
    gap: ArrayLike,
    tokens: ArrayLike,
    truncated: ArrayLike,
    free_budget: ArrayLike,
    max_tokens: int,
    ability: float,
    *,
    schedule: str = "adaptive",
    rho: float = RHO,
    gap_max: float = GAP_MAX,
) -> RewardParts:
    """The reward of a batch with its parts; `compute_reward` says the formula."""
    check_reward(schedule, rho, gap_max)
    gaps = _column("gap", gap)
    right = _column("valid", valid).astype(bool) & ~np.isnan(gaps)
    cut = _column("truncated", truncated).astype(bool)
    used = _column("tokens", tokens)
    free = np.broadcast_to(np.asarray(free_budget, dtype=np.float64), used.shape)
    if not gaps.shape == right.shape == cut.shape == used.shape:
        raise RewardError(
            f"reward columns differ in length: valid {right.size}, gap {gaps.size}, tokens {used.size}, "
            f"truncated {cut.size}"
        )
    if np.any(gaps[right] < 0):
        raise RewardError(
            "a gap is negative: a plan below the certified optimum is a fault of the solver, so stop and report it"
        )
    if np.any(used < 0):
        raise RewardError("a token count is negative")
    if np.any(free >= max_tokens):
        raise RewardError(
            f"the free budget reaches {free.max():.0f} tokens, and must stay below max_tokens {max_tokens}"
        )

    accuracy = np.where(right, 1.0 - rho * np.minimum(1.0, np.nan_to_num(gaps) / gap_max), 0.0)
    excess = np.where(cut, 1.0, np.clip((used - free) / (max_tokens - free), 0.0, 1.0))
    weight = length_weight(ability, schedule)
    reward = (1.0 - weight) * accuracy - weight * excess * np.where(right, 1.0, 0.5)
    return RewardParts(reward, accuracy, excess, weight, float(ability))


def compute_reward(
    valid: ArrayLike,
    gap: ArrayLike,
    tokens: ArrayLike,
    truncated: ArrayLike,
    free_budget: ArrayLike,
    max_tokens: int,
    ability: float,
    *,
    schedule: str = "adaptive",
    rho: float = RHO,
    gap_max: float = GAP_MAX,
) -> FloatArray:
    """R = w_acc A - w_len P (v + 0.5 (1 - v)) for each answer.

    A = v (1 - rho min(1, gap / gap_max)); P = 1 when truncated, else (l - L0) / (L_max - L0) within 0 and 1; a gap that
    is NaN counts as invalid. There is no credit for being shorter than L0.
    """
    options: dict[str, Any] = {"schedule": schedule, "rho": rho, "gap_max": gap_max}
    return reward_parts(valid, gap, tokens, truncated, free_budget, max_tokens, ability, **options).reward


def update_ability(ability: float, valid: ArrayLike, *, rate: float = ABILITY_RATE) -> float:
    """The moving average of the valid rate after one generation batch, gathered over all ranks.

    Score the batch with the previous value first: a batch must not choose its own weights.
    """
    verdicts = _column("valid", valid)
    if not verdicts.size:
        raise RewardError("the ability cannot be updated from an empty batch")
    return float(ability + rate * (verdicts.mean() - ability))


def _column(name: str, values: ArrayLike) -> FloatArray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise RewardError(f"reward column {name!r} has shape {column.shape}, and must be flat, one value an answer")
    return column
