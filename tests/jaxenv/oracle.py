"""The rules of the world once more, in plain Python loops over one board, for the verifier to be held against.

It shares nothing with `jaxenv.verify` but the numbers of the labels. Times are counted in states: state 0 are the
starts, state t + 1 what action t leads to.
"""

import math
from dataclasses import dataclass, field

MOVES = {0: (0, 0), 1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
OPTIMAL, UNSOLVABLE = 1, 2


@dataclass
class Board:
    rows: list[str]
    starts: list[tuple[int, int]]
    goals: list[tuple[int, int]]


@dataclass
class Verdict:
    label: str
    flags: set[str] = field(default_factory=set)
    sum_of_costs: int = -1
    makespan: int = -1
    gap: float = math.nan
    step: int = -1
    agents: tuple[int, int] = (-1, -1)
    cell: tuple[int, int] = (-1, -1)


def judge(board, plan, status, best_sum, best_makespan, objective="sum_of_costs"):
    """The verdict on one list of actions per agent."""
    size = len(board.rows)
    where = list(board.starts)
    history = [where]
    for t in range(max(map(len, plan), default=0)):
        after = []
        for agent, (row, col) in enumerate(where):
            action = plan[agent][t] if t < len(plan[agent]) else 0
            after.append((row + MOVES[action][0], col + MOVES[action][1]))
        offences = {}  # label: (agents, cell), the smallest agents first

        def note(label, agents, cell, offences=offences):
            offences.setdefault(label, (agents, cell))

        for agent, (row, col) in enumerate(after):
            if row not in range(size) or col not in range(size):
                note("off_map", (agent, -1), where[agent])
            elif board.rows[row][col] == "H":
                note("hole", (agent, -1), (row, col))
        for one in range(len(after)):
            for two in range(one + 1, len(after)):
                if after[one] == after[two]:
                    note("vertex_conflict", (one, two), after[one])
                if after[one] == where[two] and after[two] == where[one]:
                    note("swap_conflict", (one, two), after[one])
        for label in ("off_map", "hole", "vertex_conflict", "swap_conflict"):
            if label in offences:
                agents, cell = offences[label]
                return Verdict(label, set(offences), step=t, agents=agents, cell=cell)
        where = after
        history.append(where)
    for agent, goal in enumerate(board.goals):
        if where[agent] != goal:
            return Verdict("goal_not_reached", {"goal_not_reached"}, agents=(agent, -1))
    costs = []
    for agent, goal in enumerate(board.goals):
        time = len(history) - 1
        while time > 0 and history[time - 1][agent] == goal:
            time -= 1
        costs.append(time)
    found = {"sum_of_costs": sum(costs), "makespan": max(costs)}
    best = {"sum_of_costs": best_sum, "makespan": best_makespan}
    verdict = Verdict("suboptimal", **found)
    if status == OPTIMAL:
        verdict.gap = (found[objective] - best[objective]) / max(best[objective], 1)
        if found[objective] == best[objective]:
            verdict.label = "optimal"
        if any(found[name] < best[name] for name in found):
            verdict.flags = {"solver_fault"}
    if status == UNSOLVABLE:
        verdict.flags = {"solver_fault"}
    return verdict
