"""Boards and plans as text: the user's message of each style, and the answer that a perfect model would give."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxenv.types import Action, Instances, Plans
from policy import compact
from policy.answers import check_style
from policy.sampling import Prompt, messages_of

Cell = tuple[int, int]

_COSTS = {
    "sum_of_costs": "the sum of the agents' costs",
    "makespan": "the largest of the agents' costs",
}
_RULES = """\
{num_agents} agents stand on a frozen lake. Plan the moves of all of them so that each one reaches its own goal.

Rules
- A cell is (row, column). (0, 0) is the top left corner; rows count downward, columns to the right.
- In each step all agents act at the same time. UP is row - 1, DOWN is row + 1, LEFT is column - 1, RIGHT is \
column + 1, WAIT stays.
- An agent must not leave the map and must not enter a hole.
- Two agents must not be in one cell after the same step, and must not exchange their cells in one step. An agent may \
enter a cell that another agent leaves in that step.
- An agent without further actions waits. An agent on its goal blocks the cell; it may leave it and come back.
- An agent's cost is the number of steps until it is on its goal and stays there. Make {cost} as small as possible.

Map of {size} rows and {size} columns, "." is free and "H" is a hole
{rows}

Agents
{agents}

End with one line for each agent and nothing after the last one: its number, a colon and its actions separated by \
commas, as in "Agent 0: RIGHT, DOWN, WAIT". An agent that need not move has nothing after its colon. The lines \
to fill in:
{answers}"""


def render(instances: Instances, style: str, *, objective: str = "sum_of_costs") -> list[str]:
    """The user's message for every board; the chat template around it is the sampler's business."""
    check_style(style)
    texts = []
    for size, holes, starts, goals in _boards(instances):
        if style == "compact":
            texts.append(compact.render_board(size, holes, starts, goals))
            continue
        texts.append(
            _RULES.format(
                num_agents=len(starts),
                cost=_COSTS[objective],
                size=size,
                rows="\n".join(" ".join("H" if hole else "." for hole in row) for row in holes),
                agents="\n".join(
                    f"Agent {i}: from {a} to {b}" for i, (a, b) in enumerate(zip(starts, goals, strict=True))
                ),
                answers="\n".join(f"Agent {i}:" for i in range(len(starts))),
            )
        )
    return texts


def through_template(tokenizer: Any, prompts: Sequence[Prompt], *, thinking: bool) -> list[str]:
    """The texts that a model goes on from: each exchange in its chat template, up to where the answer begins.

    `thinking` is handed to the template; one that knows nothing of it gives the same text either way.
    """
    return [
        tokenizer.apply_chat_template(
            messages_of(prompt), tokenize=False, add_generation_prompt=True, enable_thinking=thinking
        )
        for prompt in prompts
    ]


def canonical_answer(plans: Plans, instances: Instances, style: str) -> list[str]:
    """The answer that says the plan of each board in the style's own words."""
    check_style(style)
    actions, lengths = np.asarray(plans.actions), np.asarray(plans.lengths)
    texts = []
    for board, (_, _, starts, _) in enumerate(_boards(instances)):
        lists = [actions[board, agent, : lengths[board, agent]].tolist() for agent in range(len(starts))]
        if style == "compact":
            texts.append(compact.render_answer(lists, starts))
        else:
            texts.append("\n".join(_line(agent, listed) for agent, listed in enumerate(lists)))
    return texts


def _line(agent: int, actions: list[int]) -> str:
    return f"Agent {agent}: {', '.join(Action(action).name for action in actions)}".rstrip()


def _boards(instances: Instances) -> Iterator[tuple[int, np.ndarray, list[Cell], list[Cell]]]:
    """Each board without its padding."""
    holes, starts, goals = np.asarray(instances.holes), np.asarray(instances.starts), np.asarray(instances.goals)
    sizes, counts = np.asarray(instances.size).tolist(), np.asarray(instances.num_agents).tolist()
    for board, (size, agents) in enumerate(zip(sizes, counts, strict=True)):
        yield (
            size,
            holes[board, :size, :size],
            [(row, col) for row, col in starts[board, :agents].tolist()],
            [(row, col) for row, col in goals[board, :agents].tolist()],
        )
