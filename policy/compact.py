"""The style `compact`: a board and its plan in words of which each is one token of the starter's tokenizer.

    board size5 agents2 a0 r0c0 to r4c4 a1 r4c4 to r0c0 holes r0c3 r2c2 moves
     D>r1c0 U>r3c4 R>r1c1 W>r3c4 ...

The board names its holes instead of drawing all cells, so that one cell has one word in maps of every size and a
prompt stays below 60 words. In the answer the agents act in turn, step by step; an agent that has arrived says W. What
follows the letter is a working note, the cell on which the agent means to stand then. It spares a small model the
counting of moves, is never read as part of the plan, and may be left out.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from jaxenv.types import Action, Limits
from policy.errors import AgentMismatchError, AnswerError

Cell = tuple[int, int]

LETTERS = "WUDLR"
_STEPS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
_ACTIONS = {name: action for action in Action for name in (LETTERS[action], action.name)}


def vocabulary() -> list[str]:
    """Every word of the style as the tokenizer stores it: all but the first carry their leading space."""
    limits = Limits()
    span = range(limits.max_size)
    words = ["board"]
    words += [f" size{size}" for size in range(3, limits.max_size + 1)]
    words += [f" agents{n}" for n in range(2, limits.max_agents + 1)]
    words += [f" a{agent}" for agent in range(limits.max_agents)]
    words += [" to", " holes", " moves"]
    words += [f" r{row}c{col}" for row in span for col in span]
    words += [f" {letter}>r{row}c{col}" for letter in LETTERS for row in span for col in span]
    return words


def render_board(size: int, holes: np.ndarray, starts: Sequence[Cell], goals: Sequence[Cell]) -> str:
    """The prompt of one board; `holes` bool[size, size] or larger, of which the upper left part counts."""
    words = [f"board size{size} agents{len(starts)}"]
    for agent, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        words.append(f"a{agent} {_cell(start)} to {_cell(goal)}")
    words.append("holes")
    words += [_cell((int(row), int(col))) for row, col in np.argwhere(np.asarray(holes)[:size, :size])]
    words.append("moves")
    return " ".join(words)


def render_answer(actions: Sequence[Sequence[int]], starts: Sequence[Cell]) -> str:
    """The answer for one plan, a list of actions per agent; shorter plans wait until the longest ends."""
    cells = list(starts)
    words = []
    for step in range(max((len(listed) for listed in actions), default=0)):
        for agent, listed in enumerate(actions):
            action = listed[step] if step < len(listed) else Action.WAIT
            down, right = _STEPS[action]
            cells[agent] = (cells[agent][0] + down, cells[agent][1] + right)
            words.append(f" {LETTERS[action]}>{_cell(cells[agent])}")
    return "".join(words)


def parse_compact(text: str, num_agents: int) -> list[list[Action]]:
    """A list of actions per agent.

    Raises:
        AnswerError: a word is no move.
        AgentMismatchError: the moves do not share out evenly among the agents.
    """
    actions = [_read_word(word) for word in text.split()]
    if len(actions) % num_agents:
        raise AgentMismatchError(f"{len(actions)} moves do not share out among {num_agents} agents")
    return [actions[agent::num_agents] for agent in range(num_agents)]


@lru_cache(maxsize=1024)
def _read_word(word: str) -> Action:
    name = word.partition(">")[0].upper()
    if name not in _ACTIONS:
        raise AnswerError(f"{word[:40]!r} is no move; say one of W, U, D, L, R")
    return _ACTIONS[name]


def _cell(cell: Cell) -> str:
    return f"r{cell[0]}c{cell[1]}"
