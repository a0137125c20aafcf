"""Boards for the slow checks: random ones as the generator proposes them, and mazes. A board is (rows, starts, goals).

Drawn in plain Python from (seed, agents), so that what the solver is judged on does not come from the code around it.
"""

import random
from collections.abc import Iterator

import jaxenv
from jaxenv import Instances

Cell = tuple[int, int]
Board = tuple[list[str], list[Cell], list[Cell]]
SIZES = range(3, 11)


def neighbours(rows: list[str], cell: Cell) -> Iterator[Cell]:
    r, c = cell
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= r + down < len(rows) and 0 <= c + right < len(rows) and rows[r + down][c + right] == ".":
            yield r + down, c + right


def distances(rows: list[str], origin: Cell) -> dict[Cell, int]:
    """Steps to every cell that can be reached from `origin`, by breadth first."""
    found = {origin: 0}
    queue = [origin]
    for cell in queue:
        for after in neighbours(rows, cell):
            if after not in found:
                found[after] = found[cell] + 1
                queue.append(after)
    return found


def random_map(rng: random.Random, size: int, hole_ratio: float) -> list[str]:
    """Floor or ceiling of ratio x cells many holes, by stochastic rounding, in uniform places."""
    holes = int(hole_ratio * size * size + rng.random())
    marks = ["H"] * holes + ["."] * (size * size - holes)
    rng.shuffle(marks)
    return ["".join(marks[r * size : (r + 1) * size]) for r in range(size)]


def maze_map(rng: random.Random, size: int) -> list[str]:
    """Corridors one cell wide, carved depth first from a corner, and up to two walls opened, for loops."""
    free = {(0, 0)}
    path = [(0, 0)]
    while path:
        r, c = path[-1]
        ways = [
            (down, right)
            for down, right in ((-2, 0), (2, 0), (0, -2), (0, 2))
            if 0 <= r + down < size and 0 <= c + right < size and (r + down, c + right) not in free
        ]
        if not ways:
            path.pop()
            continue
        down, right = rng.choice(ways)
        free |= {(r + down // 2, c + right // 2), (r + down, c + right)}
        path.append((r + down, c + right))
    walls = [(r, c) for r in range(size) for c in range(size) if (r, c) not in free]
    free.update(rng.sample(walls, min(len(walls), rng.randint(0, 2))))
    return ["".join("." if (r, c) in free else "H" for c in range(size)) for r in range(size)]


def place(rng: random.Random, rows: list[str], agents: int) -> Board | None:
    """Each agent's start and goal in one component, starts and goals pairwise distinct; None where they do not fit."""
    starts: list[Cell] = []
    goals: list[Cell] = []
    free = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "."]
    for _ in range(agents):
        open_starts = [cell for cell in free if cell not in starts and any(neighbours(rows, cell))]
        if not open_starts:
            return None
        start = rng.choice(open_starts)
        open_goals = [cell for cell in distances(rows, start) if cell != start and cell not in goals]
        if not open_goals:
            return None
        starts.append(start)
        goals.append(rng.choice(open_goals))
    return rows, starts, goals


def draw_boards(seed: int, agents: int, count: int, most_holes: float) -> tuple[list[Board], list[float]]:
    """Boards with sizes uniform over 3..10 and hole ratios uniform over 0..most_holes, and these ratios."""
    rng = random.Random(f"boards {seed} {agents} {most_holes}")
    boards: list[Board] = []
    ratios: list[float] = []
    while len(boards) < count:
        size = rng.choice(SIZES)
        ratio = rng.uniform(0, most_holes)
        # Redrawn at the same size and ratio, so that neither loses its share to maps on which the agents do not fit.
        for _ in range(1000):
            board = place(rng, random_map(rng, size, ratio), agents)
            if board is not None:
                boards.append(board)
                ratios.append(ratio)
                break
    return boards, ratios


def draw_mazes(seed: int, agents: int, count: int) -> list[Board]:
    """Mazes of all sizes that hold this many agents."""
    rng = random.Random(f"mazes {seed} {agents}")
    boards: list[Board] = []
    while len(boards) < count:
        board = place(rng, maze_map(rng, rng.choice(SIZES)), agents)
        if board is not None:
            boards.append(board)
    return boards


def turned(board: Board, turns: int, mirrored: bool) -> Board:
    """One of the eight symmetries of the square."""
    rows, starts, goals = board
    last = len(rows) - 1

    def move(cell: Cell) -> Cell:
        r, c = (cell[0], last - cell[1]) if mirrored else cell
        for _ in range(turns):
            r, c = c, last - r
        return r, c

    marks = {move((r, c)): mark for r, row in enumerate(rows) for c, mark in enumerate(row)}
    grid = ["".join(marks[r, c] for c in range(len(rows))) for r in range(len(rows))]
    return grid, [move(cell) for cell in starts], [move(cell) for cell in goals]


def instances_of(boards: list[Board]) -> Instances:
    rows, starts, goals = zip(*boards, strict=True)
    return jaxenv.make_instances(list(rows), list(starts), list(goals))
