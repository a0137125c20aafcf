"""Boards and plans from lists: what is accepted, how it is padded, and what each error names."""

import json
from pathlib import Path

import numpy as np
import pytest

import jaxenv
from jaxenv import Action, InstanceError, Label
from tests.jaxenv.plans import known

GOLDEN = Path(__file__).parent.parent / "data" / "golden.json"
OPEN = ["...", "...", "..."]


def test_boards_of_all_sizes_and_agents_are_padded_alike():
    boards = jaxenv.make_instances(
        [OPEN, [".H..", "....", "....", "...."]], [[(0, 0), (2, 2)], [(3, 3)]], [[(2, 2), (0, 1)], [(3, 3)]]
    )
    assert boards.size.tolist() == [3, 4] and boards.num_agents.tolist() == [2, 1]
    holes = np.asarray(boards.holes)
    assert holes.shape == (2, 10, 10)
    assert np.argwhere(~holes[0]).tolist() == [[r, c] for r in range(3) for c in range(3)]
    assert holes[1, 0, 1] and not holes[1, :4, :4].sum() > 1 and holes[1, 4:].all() and holes[1, :, 4:].all()
    assert boards.starts[0].tolist() == [[0, 0], [2, 2]] + [[10, 10]] * 3
    assert boards.goals[1].tolist() == [[3, 3]] + [[10, 10]] * 4
    assert {str(x.dtype) for x in (boards.size, boards.num_agents, boards.starts, boards.goals)} == {"int32"}


def test_every_golden_board_is_accepted():
    golden = json.loads(GOLDEN.read_text())
    boards = jaxenv.make_instances(*[[board[name] for board in golden] for name in ("map", "starts", "goals")])
    assert len(boards) == len(golden) == 46


def test_a_map_without_holes_works_everywhere():
    # GavinPHR/Multi-Agent-Path-Finding/issues/1: an empty list of obstacles broke.
    boards = jaxenv.make_instances([OPEN], [[(0, 0), (0, 1)]], [[(0, 1), (2, 2)]])
    plans = jaxenv.make_plans([[[Action.RIGHT], [Action.DOWN, Action.DOWN, Action.RIGHT]]])
    assert bool(jaxenv.verify(boards, known(1, total=4, makespan=3), plans).optimal[0])


@pytest.mark.parametrize(
    ("rows", "starts", "goals", "told"),
    [
        (OPEN, [(0, 0), (0, 0)], [(0, 1), (0, 2)], r"board 1, agent 1: the start \(0, 0\) is agent 0's too"),
        (OPEN, [(0, 0), (1, 1)], [(0, 2), (0, 2)], r"board 1, agent 1: the goal \(0, 2\) is agent 0's too"),
        (["H..", "...", "..."], [(0, 0)], [(0, 1)], r"board 1, agent 0: the start \(0, 0\) is in a hole"),
        (["...", "...", "..H"], [(0, 0)], [(2, 2)], r"board 1, agent 0: the goal \(2, 2\) is in a hole"),
        (OPEN, [(0, 3)], [(0, 0)], r"board 1, agent 0: the start \(0, 3\) is off the map; .* 0 to 2"),
        (OPEN, [(0, 0)], [(-1, 0)], r"board 1, agent 0: the goal \(-1, 0\) is off the map"),
        (OPEN, [(0.5, 0)], [(0, 0)], r"the start \(0.5, 0\) is not a \(row, col\)"),
        (OPEN, [(0, 0, 0)], [(0, 0)], r"the start \(0, 0, 0\) is not a \(row, col\)"),
        (OPEN, [("0", "0")], [(0, 0)], r"the start \('0', '0'\) is not a \(row, col\)"),
        (OPEN, [(True, False)], [(0, 0)], r"the start \(True, False\) is not a \(row, col\)"),
        (OPEN, [3], [(0, 0)], r"the start 3 is not a \(row, col\)"),
        (["...", "..", "..."], [(0, 0)], [(0, 1)], r"board 1: row 1 \('..'\) has 2 cells; .* square"),
        (["....", "....", "...."], [(0, 0)], [(0, 1)], "board 1: row 0 .* has 4 cells; a map with 3 rows"),
        (["...", ".x.", "..."], [(0, 0)], [(0, 1)], r"board 1: unknown mark 'x' at \(1, 1\)"),
        (["." * 11] * 11, [(0, 0)], [(0, 1)], "board 1: the map has 11 rows; it must have 1 to 10"),
        ([], [(0, 0)], [(0, 1)], "board 1: the map has 0 rows"),
        (OPEN, [(0, 0)], [(0, 1), (0, 2)], "board 1: 1 starts and 2 goals"),
        (OPEN, [], [], "board 1: 0 agents; a board has 1 to 5"),
        (OPEN, [(r, c) for r in range(2) for c in range(3)], [(r, c) for r in range(2) for c in range(3)], "6 agents"),
    ],
)
def test_a_board_that_cannot_be_judged_is_refused_with_its_board_agent_and_value(rows, starts, goals, told):
    with pytest.raises(InstanceError, match=told):
        jaxenv.make_instances([OPEN, rows], [[(0, 0)], starts], [[(0, 0)], goals])


def test_lists_of_different_length_are_refused():
    with pytest.raises(InstanceError, match="2 maps, 1 starts, 2 goals"):
        jaxenv.make_instances([OPEN] * 2, [[(0, 0)]], [[(0, 0)]] * 2)


def test_plans_are_padded_with_waits_to_the_smallest_horizon_that_holds_them():
    plans = jaxenv.make_plans([[[Action.UP, Action.LEFT], []], [[4]]])
    assert plans.actions.shape == (2, 5, 32) and str(plans.actions.dtype) == "int8"
    assert plans.actions[0, 0, :3].tolist() == [1, 3, 0] and int(plans.actions.sum()) == 8
    assert plans.lengths.tolist() == [[2, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert plans.outcome.tolist() == [Label.READ] * 2
    for steps, horizon in ((32, 32), (33, 64), (65, 128), (128, 128)):
        assert jaxenv.make_plans([[[0] * steps]]).actions.shape[2] == horizon


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ([[1], [0, 5]], "board 1, agent 1: action 1 is 5; it must be one of WAIT 0, UP 1, DOWN 2, LEFT 3, RIGHT 4"),
        ([[-1]], "board 1, agent 0: action 0 is -1"),
        ([["UP"]], "action 0 is 'UP'"),
        ([[True]], "action 0 is True"),
        ([[1.5]], "action 0 is 1.5"),
        ([[0] * 129], "board 1, agent 0: 129 actions; a plan has at most 128"),
        ([[]] * 6, "board 1: plans for 6 agents; a board has at most 5"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_board_agent_and_value(plan, told):
    with pytest.raises(InstanceError, match=told):
        jaxenv.make_plans([[[0]], plan])
