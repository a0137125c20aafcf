"""No label of the host engine is contradicted by two independent methods, on 8,000 boards and mazes."""

import random

import pytest

from tests.jaxenv.joint_search import least_makespan, least_sum_of_costs
from tests.slow.agreement import compare
from tests.slow.boards import place, random_map
from tests.slow.joint_astar import NONE, joint_optimum


def test_the_joint_a_star_agrees_with_plain_dijkstra_on_small_boards():
    rng = random.Random(1)
    solved = 0
    for _ in range(150):
        board = place(rng, random_map(rng, rng.choice([3, 4]), rng.uniform(0, 0.5)), rng.randint(1, 3))
        if board is None:
            continue
        for objective, search in (("sum_of_costs", least_sum_of_costs), ("makespan", least_makespan)):
            for waits in (True, False):
                best = search(*board, waits=waits)
                assert joint_optimum(board, objective, waits=waits) == (NONE if best is None else best), board
                solved += best is not None
    assert solved > 200


def test_no_label_is_contradicted_by_a_joint_a_star_or_another_solver():
    rows = [compare(agents, seed, mazes=False) for agents in range(2, 6) for seed in range(6)]
    rows += [compare(agents, seed, mazes=True) for agents in range(2, 6) for seed in range(2)]
    assert [fault for row in rows for fault in row["wrong"]] == []
    assert sum(row["all_three"] for row in rows) >= 5_000


@pytest.mark.parametrize("agents", range(2, 6))
def test_every_class_of_label_is_seen_by_the_joint_search(agents):
    """A check that meets no unsolvable board, or whose oracle gives up on most boards, says little."""
    row = compare(agents, 100, mazes=False)
    assert row["unsolvable"] > 0 and row["optimal"] > 150
    assert min(row["joint"], row["makespan"]) > 200
