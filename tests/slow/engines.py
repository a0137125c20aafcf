"""The device engine against the host engine, label by label.

    python -m tests.slow.engines --agents 4 --seeds 0 25 [--out FILE]

A seed is 2,000 boards (sizes 3 to 10, hole ratios 0 to 0.5, every tenth a maze); 25 seeds for each of 2 to 5 agents are
the 200,000 boards of the full check. Seeds are independent, so they can be spread over processes and machines; with
--out each appends a row, and seeds that have one are passed over. Exits with 1 when the engines contradict each other.
"""

import sys

import numpy as np

import jaxenv
from jaxenv import Label, Status
from tests.slow import rows as store
from tests.slow.boards import draw_boards, draw_mazes, instances_of

BOARDS = 2000
# Far more than the device spends; with the host's own limit the few boards that only it might solve take all the time.
HOST_STEPS = 100_000
LABELS = ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound", "needs_wait", "interacts")


def compare(agents, seed, objective=None, count=BOARDS):
    """Counts of one seed, and each board on which the engines contradict each other."""
    # Both objectives label both costs; by seed they take turns to decide the plan and needs_wait.
    objective = objective or ("sum_of_costs", "makespan")[seed % 2]
    mazes = draw_mazes(seed, agents, count // 10)
    boards = draw_boards(seed, agents, count - len(mazes), 0.5)[0] + mazes
    instances = instances_of(boards)
    host = jaxenv.solve(instances, engine="host", objective=objective, max_steps=HOST_STEPS)
    device = jaxenv.solve(instances, engine="device", objective=objective)
    wrong = contradictions(instances, host, device, objective)
    both = (np.asarray(host.status) != Status.UNDETERMINED) & (np.asarray(device.status) != Status.UNDETERMINED)
    return {
        "objective": objective,
        "boards": count,
        "both": int(both.sum()),
        "host_open": int((np.asarray(host.status) == Status.UNDETERMINED).sum()),
        "device_open": int((np.asarray(device.status) == Status.UNDETERMINED).sum()),
        "wrong": [{"board": boards[b], "why": why} for b, why in sorted(wrong.items())],
    }


def contradictions(instances, host, device, objective):
    """Board: what is contradictory. What one engine leaves open has to lie above its bound, but not to be equal."""
    one, two = ({name: np.asarray(getattr(x, name)) for name in LABELS} for x in (host, device))
    open_one, open_two = (x["status"] == Status.UNDETERMINED for x in (one, two))
    wrong = {}
    for name in LABELS:
        differ = (one[name] != two[name]) & ~open_one & ~open_two
        if name == "single_path_bound":  # needs no search, so it is there whatever the status
            differ = one[name] != two[name]
        for b in np.flatnonzero(differ):
            wrong.setdefault(int(b), f"{name}: host {one[name][b]}, device {two[name][b]}")
    for name, ended, still_open in (("device", one, two), ("host", two, one)):
        known = (still_open["status"] == Status.UNDETERMINED) & (ended["status"] == Status.OPTIMAL)
        for b in np.flatnonzero(known & (still_open["lower_bound"] > ended[objective])):
            wrong.setdefault(int(b), f"the bound proven by {name}, {still_open['lower_bound'][b]}, is too high")
    for name, solutions in (("host", host), ("device", device)):
        verdicts = jaxenv.verify(instances, solutions, solutions.plans, objective=objective)
        optimal = np.asarray(solutions.status) == Status.OPTIMAL
        for b in np.flatnonzero(optimal & (np.asarray(verdicts.label) != Label.OPTIMAL)):
            wrong.setdefault(int(b), f"the plan of {name} does not verify")
    return wrong


if __name__ == "__main__":
    sys.exit(store.collect(__doc__, "engines", compare))
