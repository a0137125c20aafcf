"""The host engine against a joint A* and another project's CBS, board by board.

    python -m tests.slow.agreement --agents 3 --seeds 0 10 [--mazes] [--out FILE]

A seed is 250 boards: sizes 3 to 10, hole ratios 0 to 0.5, or mazes. Seeds are independent, so they can be spread over
processes and machines; with --out each appends a row, and seeds that have one are passed over. Exits with 1 when a
label of ours is wrong.

Who is wrong is decided by proof: a valid plan below our optimum refutes us; our own verified plan below the peer's
refutes the peer; and the joint A* has to agree with us wherever it ends.
"""

import sys

import numpy as np

import jaxenv
from jaxenv import Label, Status
from tests.jaxenv.joint_search import replay
from tests.slow import rows as store
from tests.slow.boards import draw_boards, draw_mazes, instances_of
from tests.slow.joint_astar import GAVE_UP, NONE, joint_optimum
from tests.slow.peer import NAME, peer_plan

BOARDS = 250
PEER_SECONDS = 0.2


def compare(agents, seed, mazes, count=BOARDS):
    """Counts of one seed, and each board that somebody got wrong."""
    boards = draw_mazes(seed, agents, count) if mazes else draw_boards(seed, agents, count, 0.5)[0]
    instances = instances_of(boards)
    found = {name: jaxenv.solve(instances, engine="host", objective=name) for name in ("sum_of_costs", "makespan")}
    wrong = {(b, why) for name, solutions in found.items() for b, why in _broken_plans(instances, solutions, name)}
    counts = dict.fromkeys(("optimal", "unsolvable", "undetermined", "joint", "makespan", "peer", "all_three"), 0)
    peer_wrong = []
    for b, board in enumerate(boards):
        status = int(found["sum_of_costs"].status[b])
        counts[Status(status).name.lower()] += 1
        ends = {name: _joint_ends(board, solutions, name, b, wrong) for name, solutions in found.items()}
        counts["joint"] += ends["sum_of_costs"]
        counts["makespan"] += ends["makespan"]
        if ends["sum_of_costs"] and status == Status.UNSOLVABLE:
            continue  # proved twice, and the peer would only use up its time: it never ends without a plan
        plan = peer_plan(board, PEER_SECONDS)
        if plan is None:
            continue
        counts["peer"] += 1
        counts["all_three"] += status == Status.OPTIMAL and ends["sum_of_costs"]
        try:
            theirs = sum(replay(*board, plan)[0])
        except AssertionError:
            peer_wrong.append({"board": board, "peer": "a plan against the rules"})
            continue
        ours = int(found["sum_of_costs"].sum_of_costs[b])
        if status == Status.UNSOLVABLE or (status == Status.OPTIMAL and theirs < ours):
            wrong.add((b, f"the peer has a plan of {theirs}"))
        elif status == Status.OPTIMAL and theirs > ours:
            peer_wrong.append({"board": board, "peer": theirs, "optimum": ours})
    return {
        "peer_name": NAME,
        "boards": count,
        **{name: int(value) for name, value in counts.items()},
        "wrong": [{"board": boards[b], "why": why} for b, why in sorted(wrong)],
        "peer_wrong": peer_wrong,
    }


def _broken_plans(instances, solutions, objective):
    """Boards whose plan the verifier does not find optimal at exactly the claimed cost."""
    verdicts = jaxenv.verify(instances, solutions, solutions.plans, objective=objective)
    optimal = np.asarray(solutions.status) == Status.OPTIMAL
    claimed, paid = (np.asarray(getattr(x, objective)) for x in (solutions, verdicts))
    right = (np.asarray(verdicts.label) == Label.OPTIMAL) & (claimed == paid)
    return [(int(b), f"{objective}: its own plan does not verify") for b in np.flatnonzero(optimal & ~right)]


def _joint_ends(board, solutions, objective, b, wrong):
    """Hold status, cost and needs_wait against the joint A*; True when it came to an end."""
    best = joint_optimum(board, objective)
    status, ours = int(solutions.status[b]), int(getattr(solutions, objective)[b])
    if best == GAVE_UP:
        return False
    expected = Status.UNSOLVABLE if best == NONE else Status.OPTIMAL
    if status != Status.UNDETERMINED and (status, ours) != (expected, best):
        wrong.add((b, f"{objective}: status {status}, cost {ours}, and the joint A* says {best}"))
    elif status == Status.OPTIMAL:
        without = joint_optimum(board, objective, waits=False, limit=best)
        if without != GAVE_UP and bool(solutions.needs_wait[b]) != (without == NONE):
            wrong.add((b, f"{objective}: needs_wait is {bool(solutions.needs_wait[b])}"))
    return True


if __name__ == "__main__":
    sys.exit(store.collect(__doc__, "agreement", compare, kinds=("agents", "mazes"), packages=("w9-pathfinding",)))
