"""The eight symmetries of the square and the order of the agents change no label, on random boards and mazes."""

import random

import numpy as np
import pytest

import jaxenv
from jaxenv import Status
from tests.slow.boards import draw_boards, draw_mazes, instances_of, turned

LABELS = ("status", "sum_of_costs", "makespan", "single_path_bound", "needs_wait", "interacts")


@pytest.mark.parametrize("objective", ["sum_of_costs", "makespan"])
@pytest.mark.parametrize("agents", range(2, 6))
def test_symmetries_and_the_order_of_agents_change_no_label(agents, objective):
    boards = draw_boards(500, agents, 300, 0.5)[0] + draw_mazes(500, agents, 100)
    rng = random.Random(agents)
    variants = []
    for turns in range(4):
        for mirrored in (False, True):
            for board in boards:
                rows, starts, goals = turned(board, turns, mirrored)
                order = rng.sample(range(agents), agents)
                variants.append((rows, [starts[i] for i in order], [goals[i] for i in order]))
    plain = jaxenv.solve(instances_of(boards), engine="host", objective=objective)
    found = jaxenv.solve(instances_of(variants), engine="host", objective=objective)
    # Whether a board is left open may depend on the way it lies; what is decided may not.
    decided = np.asarray(found.status).reshape(8, -1) != Status.UNDETERMINED
    decided &= np.asarray(plain.status) != Status.UNDETERMINED
    assert decided.mean() > 0.98
    for name in LABELS:
        one, many = np.asarray(getattr(plain, name)), np.asarray(getattr(found, name)).reshape(8, -1)
        np.testing.assert_array_equal(many[decided], np.tile(one, (8, 1))[decided], err_msg=name)
