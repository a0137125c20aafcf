"""From boards to text and back, the reward, and training by GRPO.

Names are imported on first use, so that `import policy` stays light and touches no device.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.answers import Answer, parse_answer
    from policy.errors import AnswerError, PolicyError, RewardError, SolverFaultError, StyleError
    from policy.prompts import canonical_answer, render
    from policy.reward import check_reward, compute_reward, free_budget, update_ability
    from policy.texts import verify_texts

_HOMES = {
    "Answer": "answers",
    "AnswerError": "errors",
    "PolicyError": "errors",
    "RewardError": "errors",
    "SolverFaultError": "errors",
    "StyleError": "errors",
    "canonical_answer": "prompts",
    "check_reward": "reward",
    "compute_reward": "reward",
    "free_budget": "reward",
    "parse_answer": "answers",
    "render": "prompts",
    "update_ability": "reward",
    "verify_texts": "texts",
}

__all__ = [
    "Answer",
    "AnswerError",
    "PolicyError",
    "RewardError",
    "SolverFaultError",
    "StyleError",
    "canonical_answer",
    "check_reward",
    "compute_reward",
    "free_budget",
    "parse_answer",
    "render",
    "update_ability",
    "verify_texts",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
