"""The reward function that TRL calls: texts to verdicts to rewards, logged part by part and per map size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jaxenv
from jaxenv.batches import take
from policy import ranks
from policy.errors import RewardError
from policy.reward import reward_parts, update_ability
from policy.texts import verify_texts

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class RewardSettings:
    """The recipe's choices for the reward; `policy.reward` says what they mean."""

    max_tokens: int
    schedule: str = "adaptive"
    think_budget: int = 0
    rho: float = 0.5
    gap_max: float = 1.0
    thinking: bool = False  # the model was asked to think first


@dataclass
class BoardReward:
    """The reward function TRL calls once per generation batch, in every process of a training.

    Boards are looked up by the column `board`, since nested columns come back incomplete. The rows of all processes
    are put together before anything is counted, so that ability, log and `rows` are the same everywhere. `rows` keeps
    every completion, for the evidence of the engineer: columns `group` (answers to one board in one batch share a
    number), `board`, `size`, `num_agents`, `label`, `valid`, `optimal`, `gap`, `tokens`, `truncated`, `needs_wait` and
    `reward`.
    """

    instances: jaxenv.Instances  # NumPy arrays, as are those of the solutions
    solutions: jaxenv.Solutions
    style: str
    objective: str
    settings: RewardSettings
    end_tokens: frozenset[int]
    budgets: np.ndarray  # f64[B] free tokens of each board
    ability: float
    rows: list[Columns] = field(default_factory=list)
    __name__ = "board_reward"

    def __call__(
        self,
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        board: Sequence[int],
        log_metric: Callable[[str, float], None],
        **_: object,
    ) -> list[float]:
        """One reward per completion of this process, in order."""
        index = board_column(board, len(completions), len(self.budgets))
        tokens = np.array([len(ids) for ids in completion_ids])
        truncated = np.array([not ids or ids[-1] not in self.end_tokens for ids in completion_ids])
        instances, solutions = take(self.instances, index), take(self.solutions, index)
        verdicts = verify_texts(
            instances,
            solutions,
            [c if isinstance(c, str) else c[-1]["content"] for c in completions],
            style=self.style,
            truncated=truncated,
            thinking=self.settings.thinking,
            objective=self.objective,
        )
        valid, gap = np.asarray(verdicts.valid), np.asarray(verdicts.gap)
        parts = reward_parts(
            valid,
            gap,
            tokens,
            truncated,
            self.budgets[index],
            self.settings.max_tokens,
            self.ability,
            schedule=self.settings.schedule,
            rho=self.settings.rho,
            gap_max=self.settings.gap_max,
        )
        rows = ranks.gather(
            {
                "board": index,
                "size": np.asarray(instances.size),
                "num_agents": np.asarray(instances.num_agents),
                "label": np.asarray(verdicts.label),
                "valid": valid,
                "optimal": np.asarray(verdicts.optimal),
                "gap": gap,
                "tokens": tokens,
                "truncated": truncated,
                "needs_wait": np.asarray(solutions.needs_wait),
                "reward": parts.reward,
                "accuracy": parts.accuracy,
                "excess": parts.excess,
            }
        )
        log_metric("reward/accuracy", float(rows.pop("accuracy").mean()))
        log_metric("reward/length", float(rows.pop("excess").mean()))
        log_metric("weights/length", parts.length_weight)
        log_metric("ability", self.ability)
        log_metric("valid", float(rows["valid"].mean()))
        log_metric("optimal", float(rows["optimal"].mean()))
        for name, value in size_metrics(rows).items():
            log_metric(name, value)
        group = np.unique(rows["board"], return_inverse=True)[1]
        self.rows.append({"group": group + self._next_group(), **rows})
        self.ability = update_ability(self.ability, rows["valid"])
        return [float(value) for value in parts.reward]

    def columns(self) -> Columns:
        """All rows so far, as one table."""
        return {name: np.concatenate([rows[name] for rows in self.rows]) for name in self.rows[0]}

    def _next_group(self) -> int:
        return int(self.rows[-1]["group"].max()) + 1 if self.rows else 0


def size_metrics(rows: Columns) -> dict[str, float]:
    """Per map size of a batch: valid, tokens, truncated, and the shares of groups that teach nothing of validity.

    `all_wrong` and `all_right` are shares of the size's groups without one valid answer, and without one invalid.
    """
    metrics: dict[str, float] = {}
    for size in np.unique(rows["size"]):
        here = rows["size"] == size
        _, group, answers = np.unique(rows["board"][here], return_inverse=True, return_counts=True)
        right = np.bincount(group, weights=rows["valid"][here], minlength=len(answers))
        found = {
            "valid": rows["valid"][here].mean(),
            "tokens": rows["tokens"][here].mean(),
            "truncated": rows["truncated"][here].mean(),
            "all_wrong": (right == 0).mean(),
            "all_right": (right == answers).mean(),
        }
        metrics |= {f"size/{size}/{name}": float(value) for name, value in found.items()}
    return metrics


def board_column(board: Sequence[Any], completions: int, boards: int) -> np.ndarray:
    """The column `board` as i64[completions].

    Raises:
        RewardError: it is incomplete or names a board that the stage does not have.
    """
    # huggingface/trl/issues/2644, huggingface/datasets/issues/7617: columns go missing, or come back filled with None.
    wrong = [value for value in board if not isinstance(value, int | np.integer) or not 0 <= value < boards]
    if len(board) != completions or wrong:
        what = f"holds {wrong[0]!r}" if wrong else f"has {len(board)} values for {completions} completions"
        raise RewardError(
            f"the column 'board' that TRL hands to the reward {what}; "
            "leave grpo.remove_unused_columns out of the recipe, and use the versions in pyproject.toml"
        )
    return np.asarray(board, dtype=np.int64)
