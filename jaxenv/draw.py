"""Boards, plans and verdicts as text, for people: `show`, the report, and error messages in tests."""

import numpy as np

from jaxenv.errors import InstanceError
from jaxenv.types import Action, Instances, Label, Plans, Verdicts

_MOVES = {
    Action.WAIT: (0, 0),
    Action.UP: (-1, 0),
    Action.DOWN: (1, 0),
    Action.LEFT: (0, -1),
    Action.RIGHT: (0, 1),
}
GOALS = "abcdefghijklmnop"  # goal of agent 0, 1, ..


def draw_board(instances: Instances, index: int = 0) -> str:
    """The map with agents as digits and their goals as letters: `.` free, `H` hole, `1a` agent 1 on agent 0's goal."""
    _check(index, instances)
    size, count = int(instances.size[index]), int(instances.num_agents[index])
    holes = np.asarray(instances.holes)[index]
    rows = [["H " if holes[r, c] else ". " for c in range(size)] for r in range(size)]
    starts, goals = (np.asarray(cells)[index, :count].tolist() for cells in (instances.starts, instances.goals))
    for agent, (r, c) in enumerate(goals):
        rows[r][c] = rows[r][c][0] + GOALS[agent]
    for agent, (r, c) in enumerate(starts):
        rows[r][c] = str(agent) + rows[r][c][1]
    return "\n".join(" ".join(row).rstrip() for row in rows)


def draw_plan(instances: Instances, plans: Plans, verdicts: Verdicts, index: int = 0) -> str:
    """One line per step with every agent's move, the offending step marked, and the verdict in words as last line.

    Moves after the offending step are left out: nothing is said of them.
    """
    _check(index, instances, plans, verdicts)
    count = int(instances.num_agents[index])
    lengths = np.asarray(plans.lengths)[index, :count]
    actions = np.asarray(plans.actions)[index, :count]
    cells = np.asarray(instances.starts)[index, :count].tolist()
    offending = int(verdicts.step[index])
    last = offending + 1 if offending >= 0 else int(lengths.max(initial=0))
    lines = []
    if int(plans.outcome[index]) == Label.READ:
        for t in range(min(last, actions.shape[1])):
            moves = []
            for agent in range(count):
                action = int(actions[agent, t]) if t < lengths[agent] else Action.WAIT
                name, (down, right) = _describe(action)
                r, c = cells[agent]
                cells[agent] = [r + down, c + right]
                moves.append(f"{agent} {name:<5} ({r}, {c}) -> ({r + down}, {c + right})")
            mark = "   <-- " + Label(int(verdicts.label[index])).name.lower() if t == offending else ""
            lines.append(f"step {t:>2}: " + "   ".join(moves) + mark)
    return "\n".join([*lines, describe_verdict(verdicts, index)])


def describe_verdict(verdicts: Verdicts, index: int = 0) -> str:
    """The verdict in one line."""
    _check(index, verdicts)
    label = Label(int(verdicts.label[index]))
    name = label.name.lower()
    agents = [int(agent) for agent in np.asarray(verdicts.agents)[index] if agent >= 0]
    told = f"agents {agents[0]} and {agents[1]}" if len(agents) == 2 else "".join(f"agent {agent}" for agent in agents)
    if bool(verdicts.valid[index]):
        gap = float(verdicts.gap[index])
        known = "no certified optimum" if np.isnan(gap) else f"gap {gap:.2f}"
        costs = f"sum of costs {int(verdicts.sum_of_costs[index])}, makespan {int(verdicts.makespan[index])}"
        fault = int(verdicts.flags[index]) & (1 << Label.SOLVER_FAULT)
        return f"{name}: {costs}, {known}" + ("; this contradicts the label of the board" if fault else "")
    if int(verdicts.step[index]) >= 0:
        row, col = np.asarray(verdicts.cell)[index].tolist()
        return f"{name} at step {int(verdicts.step[index])}: {told}, cell ({row}, {col})"
    return f"{name}: {told}" if told else name


def _describe(action: int) -> tuple[str, tuple[int, int]]:
    """An action's name and what it adds to row and column; what is no action is shown as it is and moves nobody."""
    if action in _MOVES:
        known = Action(action)
        return known.name, _MOVES[known]
    return f"?{action}", (0, 0)


def _check(index: int, *batches: Instances | Plans | Verdicts) -> None:
    for batch in batches:
        if not 0 <= index < len(batch):
            raise InstanceError(f"there is no row {index}; there are {len(batch)}")
