"""The solver against golden boards, plain joint searches, symmetries, replays and its own limits."""

import json
import random
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import jaxenv
from jaxenv import Status
from jaxenv.types import HORIZONS
from tests.jaxenv.joint_search import least_makespan, least_sum_of_costs, replay
from tests.slow.boards import draw_boards

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden.json").read_text())
OBJECTIVES = ("sum_of_costs", "makespan")


def _board(golden):
    cells = ([tuple(cell) for cell in golden[key]] for key in ("starts", "goals"))
    return golden["map"], *cells


def _solve(boards, **options):
    """Solutions as NumPy arrays, and the plans as lists of actions per board and agent."""
    rows, starts, goals = zip(*boards, strict=True)
    instances = jaxenv.make_instances(list(rows), list(starts), list(goals))
    solutions = jaxenv.solve(instances, **options)
    actions, lengths = np.asarray(solutions.plans.actions), np.asarray(solutions.plans.lengths)
    plans = [[actions[b, a, : lengths[b, a]].tolist() for a in range(len(starts[b]))] for b in range(len(boards))]
    names = ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound", "needs_wait", "interacts")
    return {name: np.asarray(getattr(solutions, name)) for name in names}, plans


def _random_board(rng, size, agents, holes):
    while True:
        rows = ["".join("H" if rng.random() < holes else "." for _ in range(size)) for _ in range(size)]
        free = [(r, c) for r in range(size) for c in range(size) if rows[r][c] == "."]
        if len(free) >= agents:
            return rows, rng.sample(free, agents), rng.sample(free, agents)


@lru_cache
def _small_boards():
    """Boards that the plain searches can do: mixed sizes and agents, starts that are goals, unsolvable ones."""
    rng = random.Random(5)
    shapes = [(3, 1), (5, 2), (6, 2), (4, 2), (3, 3), (3, 3), (4, 3)]
    return [_random_board(rng, *shapes[k % len(shapes)], rng.uniform(0, 0.5)) for k in range(140)]


@lru_cache
def _larger_boards():
    rng = random.Random(7)
    return [_random_board(rng, rng.randint(4, 10), rng.randint(2, 5), rng.uniform(0, 0.3)) for _ in range(150)]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_golden_board_has_its_known_optimum_or_is_proved_unsolvable(objective):
    found, plans = _solve([_board(g) for g in GOLDEN], objective=objective)
    for b, golden in enumerate(GOLDEN):
        name = golden["name"]
        if golden["soc"] is None:
            assert found["status"][b] == Status.UNSOLVABLE, name
            assert (found["sum_of_costs"][b], found["makespan"][b]) == (-1, -1), name
            assert not any(plans[b]), name
            continue
        assert found["status"][b] == Status.OPTIMAL, name
        assert (found["sum_of_costs"][b], found["makespan"][b]) == (golden["soc"], golden["makespan"]), name
        best = golden["soc" if objective == "sum_of_costs" else "makespan"]
        assert found["lower_bound"][b] == best, name
        assert found["interacts"][b] == (best > found["single_path_bound"][b]), name
        if objective == "sum_of_costs":
            assert found["single_path_bound"][b] == golden["sum_individual"], name
    assert sum(g["soc"] is None for g in GOLDEN) == 10


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_labels_equal_those_of_plain_joint_searches(objective):
    search = least_sum_of_costs if objective == "sum_of_costs" else least_makespan
    found, _ = _solve(_small_boards(), objective=objective)
    for b, board in enumerate(_small_boards()):
        best = search(*board)
        if best is None:
            assert found["status"][b] == Status.UNSOLVABLE, board
            continue
        assert found["status"][b] == Status.OPTIMAL, board
        assert found[objective][b] == best, board
        assert found["needs_wait"][b] == (search(*board, waits=False) != best), board
    # A test that never sees a class says nothing about it.
    solved = found["status"] == Status.OPTIMAL
    assert 10 < solved.sum() < len(solved) - 10
    assert 4 < (found["needs_wait"] & solved).sum() < (found["interacts"] & solved).sum()


def test_both_costs_are_the_same_whatever_the_objective():
    boards = _small_boards() + _larger_boards()
    one, _ = _solve(boards, objective="sum_of_costs")
    two, _ = _solve(boards, objective="makespan")
    for name in ("status", "sum_of_costs", "makespan"):
        np.testing.assert_array_equal(one[name], two[name])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_plan_replayed_by_the_rules_costs_exactly_what_is_claimed(objective):
    boards = _small_boards() + _larger_boards()
    found, plans = _solve(boards, objective=objective)
    for b, (rows, starts, goals) in enumerate(boards):
        if found["status"][b] != Status.OPTIMAL:
            assert not any(plans[b])
            continue
        costs, history = replay(rows, starts, goals, plans[b])
        assert costs == [len(plan) for plan in plans[b]]
        assert (sum(costs) if objective == "sum_of_costs" else max(costs)) == found[objective][b]
        waits = any(history[t][a] == history[t + 1][a] for a in range(len(goals)) for t in range(costs[a]))
        assert waits or not found["needs_wait"][b]


def _turned(board, turns, mirrored):
    rows, starts, goals = board
    last = len(rows) - 1

    def move(cell):
        r, c = (cell[0], last - cell[1]) if mirrored else cell
        for _ in range(turns):
            r, c = c, last - r
        return r, c

    grid = [["H"] * len(rows) for _ in rows]
    for r, row in enumerate(rows):
        for c, mark in enumerate(row):
            to_r, to_c = move((r, c))
            grid[to_r][to_c] = mark
    return ["".join(row) for row in grid], [move(c) for c in starts], [move(c) for c in goals]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_symmetries_and_the_order_of_agents_change_no_label(objective):
    boards = _larger_boards()[:60]
    plain, _ = _solve(boards, objective=objective)
    # A bound that is merely proven, on a board left open, may depend on the way the board lies.
    assert (plain["status"] != Status.UNDETERMINED).all()
    rng = random.Random(3)
    variants = []
    for turns in range(4):
        for mirrored in (False, True):
            for board in boards:
                rows, starts, goals = _turned(board, turns, mirrored)
                order = rng.sample(range(len(starts)), len(starts))
                variants.append((rows, [starts[i] for i in order], [goals[i] for i in order]))
    found, _ = _solve(variants, objective=objective)
    for name, values in plain.items():
        np.testing.assert_array_equal(found[name].reshape(8, -1), np.tile(values, (8, 1)), err_msg=name)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_step_limit_leaves_boards_undetermined_with_a_proven_bound(objective):
    best, _ = _solve(_larger_boards(), objective=objective)
    found, plans = _solve(_larger_boards(), objective=objective, max_steps=40)
    undetermined = found["status"] == Status.UNDETERMINED
    assert 10 < undetermined.sum() < len(undetermined)
    solvable = best["status"] == Status.OPTIMAL
    assert (found["lower_bound"] >= found["single_path_bound"])[undetermined].all()
    assert (found["lower_bound"] <= best[objective])[undetermined & solvable].all()
    if objective == "sum_of_costs":  # the first search; the others have not begun on a board left open by it
        assert (found["lower_bound"] > found["single_path_bound"])[undetermined].any()
    assert (found["sum_of_costs"][undetermined] == -1).all() and (found["makespan"][undetermined] == -1).all()
    assert not any(any(plans[b]) for b in np.flatnonzero(undetermined))
    # What was determined with few steps is what many steps determine.
    for name in ("status", "sum_of_costs", "makespan", "needs_wait", "interacts"):
        np.testing.assert_array_equal(found[name][~undetermined], best[name][~undetermined])


def test_reachable_goals_that_are_jointly_unsolvable_end_as_unsolvable():
    """whoenig/libMultiRobotPlanning/issues/46: three agents, each goal reachable, and the solver never ends."""
    ring = (["...", ".H.", "..."], [(0, 0), (0, 1), (0, 2)], [(0, 2), (0, 1), (0, 0)])
    corridor = (["....", "HHHH", "HHHH", "HHHH"], [(0, 0), (0, 1), (0, 3)], [(0, 1), (0, 0), (0, 3)])
    found, _ = _solve([ring, corridor])
    assert found["status"].tolist() == [Status.UNSOLVABLE] * 2
    assert found["single_path_bound"].tolist() == [4, 2]


def test_a_goal_cut_off_from_its_start_is_unsolvable_without_a_single_path():
    found, _ = _solve([([".H.", "HH.", "..."], [(0, 0), (2, 2)], [(2, 0), (0, 2)])])
    assert found["status"].tolist() == [Status.UNSOLVABLE]
    assert found["single_path_bound"].tolist() == [-1]


def test_an_agent_on_its_goal_costs_nothing_unless_it_must_make_way():
    idle = (["...", "...", "..."], [(0, 0), (2, 2)], [(0, 0), (2, 2)])
    # The second agent must leave the corridor's mouth and come back.
    in_the_way = (["...", "HH.", "HH."], [(0, 0), (0, 2)], [(2, 2), (0, 2)])
    found, plans = _solve([idle, in_the_way])
    assert found["sum_of_costs"].tolist()[0] == 0 and plans[0] == [[], []]
    assert found["status"].tolist() == [Status.OPTIMAL, Status.UNSOLVABLE]
    make_way = (["...", "H..", "HH."], [(0, 0), (0, 2)], [(2, 2), (0, 2)])
    found, _ = _solve([make_way])
    assert found["sum_of_costs"][0] == least_sum_of_costs(*make_way)


def test_waiting_on_the_goal_before_leaving_it_is_a_wait():
    # Agent 1, at home from the start, lets agent 0 pass in step 2: it waits at home before or in the niche.
    board = (["....", "HH.H", "HHHH", "HHHH"], [(0, 0), (0, 2)], [(0, 3), (0, 2)])
    found, _ = _solve([board])
    assert found["sum_of_costs"][0] == least_sum_of_costs(*board) == 6
    assert found["needs_wait"][0] and least_sum_of_costs(*board, waits=False) is None


def test_plans_come_with_the_smallest_horizon_that_holds_the_set():
    spiral = [
        "..........",
        "HHHHHHHHH.",
        "..........",
        ".HHHHHHHHH",
        "..........",
        "HHHHHHHHH.",
        "..........",
        ".HHHHHHHHH",
        "..........",
        "HHHHHHHHH.",
    ]
    short = (["...", "...", "..."], [(0, 0)], [(2, 2)])
    long = (spiral, [(0, 0)], [(9, 9)])
    for boards, horizon in (([short], 32), ([short, long], 64)):
        rows, starts, goals = zip(*boards, strict=True)
        solutions = jaxenv.solve(jaxenv.make_instances(list(rows), list(starts), list(goals)))
        assert solutions.plans.actions.shape == (len(boards), 5, horizon)
        assert horizon in HORIZONS
        assert (np.asarray(solutions.status) == Status.OPTIMAL).all()


def test_no_board_at_all_gives_no_solution_at_all():
    solutions = jaxenv.solve(
        jaxenv.make_instances([["..."] * 3], [[(0, 0)]], [[(1, 1)]]).replace(
            size=np.zeros(0, np.int32),
            num_agents=np.zeros(0, np.int32),
            holes=np.zeros((0, 10, 10), bool),
            starts=np.zeros((0, 5, 2), np.int32),
            goals=np.zeros((0, 5, 2), np.int32),
        )
    )
    assert len(solutions) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": (1, (0, 1))}, r"board 1, agent 0: the start \(0, 1\) is in a hole"),
        ({"goals": (1, (3, 0))}, r"board 1, agent 0: the goal \(3, 0\) is off the map"),
        ({"starts": (1, (2, 2))}, r"board 1, agent 1: the start \(2, 2\) is another agent's too"),
        ({"num_agents": (0, 6)}, r"board 0: num_agents is 6; it must be between 1 and 5"),
        ({"size": (1, 11)}, r"board 1: size is 11; it must be between 1 and 10"),
    ],
)
def test_a_board_that_is_not_well_formed_is_refused_by_board_and_agent(change, message):
    instances = jaxenv.make_instances([[".H."] + ["..."] * 2] * 2, [[(0, 0), (2, 2)]] * 2, [[(2, 0), (0, 2)]] * 2)
    ((field, (board, value)),) = change.items()
    values = np.array(getattr(instances, field))
    if values.ndim == 3:
        values[board, 0] = value
    else:
        values[board] = value
    with pytest.raises(jaxenv.InstanceError, match=message):
        jaxenv.solve(instances.replace(**{field: values}))


def test_wrong_dtypes_shapes_and_options_are_named():
    instances = jaxenv.make_instances([["..."] * 3], [[(0, 0)]], [[(1, 1)]])
    with pytest.raises(jaxenv.InstanceError, match="size is float32; it must be an integer array"):
        jaxenv.solve(instances.replace(size=np.ones(1, np.float32)))
    with pytest.raises(jaxenv.InstanceError, match="same B and A"):
        jaxenv.solve(instances.replace(goals=np.zeros((1, 4, 2), np.int32)))
    with pytest.raises(jaxenv.JaxenvError, match="objective 'cost' is unknown"):
        jaxenv.solve(instances, objective="cost")
    with pytest.raises(jaxenv.JaxenvError, match="engine 'gpu' is unknown"):
        jaxenv.solve(instances, engine="gpu")
    with pytest.raises(jaxenv.JaxenvError, match="at least 1"):
        jaxenv.solve(instances, max_steps=0)


def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch):
    import numba

    boards = _larger_boards() * 4  # more than one thread's chunk
    one, plans_one = _solve(boards)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 4)
    four, plans_four = _solve(boards)
    for name, values in one.items():
        np.testing.assert_array_equal(values, four[name])
    assert plans_one == plans_four


def test_the_host_engine_needs_no_jax():
    code = "import sys, jaxenv.host_engine; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_one_board_leaves_in_memory_changes_no_label_of_the_next():
    boards = draw_boards(0, 5, 250, 0.5)[0][100:]
    forward, _ = _solve(boards, engine="host", objective="makespan")
    _solve(boards[::-1], engine="host")
    backward, _ = _solve(boards[::-1], engine="host", objective="makespan")
    for name in ("status", "sum_of_costs", "makespan", "needs_wait"):
        np.testing.assert_array_equal(forward[name], backward[name][::-1], err_msg=name)
