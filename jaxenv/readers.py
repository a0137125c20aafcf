"""Boards from other people's files: the text that `draw_board` writes, and MovingAI maps with their scenarios.

MovingAI counts x to the right and y downwards, and its maps need not be square. Nowhere else is a column named first.
"""

from pathlib import Path

from jaxenv.build import FREE, HOLE, make_instances
from jaxenv.draw import GOALS
from jaxenv.errors import InstanceError
from jaxenv.types import Instances, Limits

_PASSABLE = ".GS"  # MovingAI's ground, grass and swamp; all else is out of bounds, trees, water
_SCENARIO_COLUMNS = 9  # bucket, map, width, height, start x and y, goal x and y, distance

Cell = tuple[int, int]
_Board = tuple[list[str], list[Cell], list[Cell]]


def read_text(text: str) -> Instances:
    """Boards as `draw_board` writes them, separated by empty lines.

    A cell is `.` or `H`, or an agent's number, and after it the letter of the agent whose goal it is: `1a`.

    Raises:
        InstanceError: a board that cannot be read; it names the board and the cell.
    """
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    boards = [_read_block(number, block) for number, block in enumerate(block for block in blocks if block)]
    if not boards:
        raise InstanceError("there is no board in the text")
    return _made(boards)


def _read_block(board: int, lines: list[str]) -> _Board:
    rows: list[str] = []
    starts: dict[int, Cell] = {}
    goals: dict[int, Cell] = {}
    for r, line in enumerate(lines):
        row = ""
        for c, cell in enumerate(line.split()):
            mark, goal = cell[0], cell[1:]
            known = mark in (FREE, HOLE) or (mark.isascii() and mark.isdecimal())
            if not known or len(goal) > 1 or (goal and goal not in GOALS) or (mark == HOLE and goal):
                raise InstanceError(f"board {board}: cell ({r}, {c}) is {cell!r}; write something like . H 0 .b 1a")
            row += HOLE if mark == HOLE else FREE
            for places, named in ((starts, mark), (goals, goal and str(GOALS.index(goal)))):
                if named.isdecimal():
                    if int(named) in places:
                        raise InstanceError(f"board {board}: cell ({r}, {c}) is {cell!r}, which is there twice")
                    places[int(named)] = (r, c)
        rows.append(row)
    agents = range(max([*starts, *goals], default=-1) + 1)
    for agent in agents:
        if agent not in starts or agent not in goals:
            lacks = "goal" if agent in starts else "start"
            raise InstanceError(f"board {board}: agent {agent} has no {lacks}; its goal is {GOALS[agent]!r}")
    return rows, [starts[agent] for agent in agents], [goals[agent] for agent in agents]


def read_scenario(path: Path, num_agents: int) -> Instances:
    """Boards of a MovingAI scenario (`.scen`): each next `num_agents` of its lines are one board's agents.

    The map is looked for beside the scenario, by the file name that its lines give. A map that is not square is made so
    with holes. Lines left over at the end make no board.

    Raises:
        InstanceError: a file that cannot be read, a map that is too large, agents that are in each other's way.
    """
    maps: dict[str, list[str]] = {}
    tasks: list[tuple[str, Cell, Cell]] = []
    for number, line in enumerate(_lines(path), start=1):
        words = line.split()
        if not words or words[0].lower() == "version":
            continue
        if len(words) != _SCENARIO_COLUMNS or not all(word.isdecimal() for word in words[2:8]):
            raise InstanceError(f"{path}, line {number}: {line!r} has not the nine columns of a MovingAI scenario")
        name = Path(words[1]).name
        if name not in maps:
            maps[name] = _read_map(path.with_name(name))
        start_x, start_y, goal_x, goal_y = (int(word) for word in words[4:8])
        tasks.append((name, (start_y, start_x), (goal_y, goal_x)))
    boards: list[_Board] = []
    for begin in range(0, len(tasks) - num_agents + 1, num_agents):
        together = tasks[begin : begin + num_agents]
        if len({name for name, _, _ in together}) > 1:
            raise InstanceError(f"{path}: board {len(boards)} would have agents on different maps")
        boards.append((maps[together[0][0]], [start for _, start, _ in together], [goal for _, _, goal in together]))
    if not boards:
        raise InstanceError(f"{path} has {len(tasks)} agents; a board was to have {num_agents}")
    return _made(boards)


def _read_map(path: Path) -> list[str]:
    """Rows of a MovingAI map in our marks, square."""
    lines = _lines(path)
    begin = next((i for i, line in enumerate(lines) if line.strip() == "map"), None)
    if begin is None:
        raise InstanceError(f"{path} is no MovingAI map: it has no line 'map'")
    rows = [line for line in lines[begin + 1 :] if line]
    side = max([len(rows), *(len(row) for row in rows)], default=0)
    if not 1 <= side <= Limits().max_size:
        raise InstanceError(f"{path} is {len(rows)} cells high; at most {Limits().max_size} by {Limits().max_size} fit")
    free = ["".join(FREE if mark in _PASSABLE else HOLE for mark in row).ljust(side, HOLE) for row in rows]
    return free + [HOLE * side] * (side - len(rows))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InstanceError(f"{path} cannot be read: {error}") from error


def _made(boards: list[_Board]) -> Instances:
    return make_instances(
        [rows for rows, _, _ in boards], [starts for _, starts, _ in boards], [goals for _, _, goals in boards]
    )
