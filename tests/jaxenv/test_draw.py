"""Boards, plans and verdicts as text."""

import pytest

import jaxenv
from jaxenv import Action, InstanceError, Label, draw_board, draw_plan
from tests.jaxenv.plans import known

ROWS = ["....", ".H..", "....", "...."]
STARTS, GOALS = [(0, 0), (0, 3)], [(0, 3), (2, 0)]


def judged(*plans, **labels):
    boards = jaxenv.make_instances([ROWS] * len(plans), [STARTS] * len(plans), [GOALS] * len(plans))
    given = jaxenv.make_plans(plans)
    return boards, given, jaxenv.verify(boards, known(len(plans), **labels), given)


def test_a_board_shows_agents_as_digits_and_goals_as_letters():
    boards, _, _ = judged([[], []])
    assert draw_board(boards).splitlines() == ["0  .  .  1a", ".  H  .  .", ".b .  .  .", ".  .  .  ."]


def test_the_offending_step_is_marked_and_is_the_last_one():
    right, left = [Action.RIGHT] * 3, [Action.WAIT, Action.LEFT, Action.LEFT, Action.DOWN]
    lines = draw_plan(*judged([right, left])).splitlines()
    assert lines == [
        "step  0: 0 RIGHT (0, 0) -> (0, 1)   1 WAIT  (0, 3) -> (0, 3)",
        "step  1: 0 RIGHT (0, 1) -> (0, 2)   1 LEFT  (0, 3) -> (0, 2)   <-- vertex_conflict",
        "vertex_conflict at step 1: agents 0 and 1, cell (0, 2)",
    ]


def test_a_valid_plan_is_told_with_its_costs_and_gap():
    down = [Action.DOWN, Action.DOWN, Action.LEFT, Action.LEFT, Action.LEFT]
    boards, plans, verdicts = judged([[Action.RIGHT] * 3, down], [[Action.RIGHT] * 3, down], total=4, makespan=4)
    lines = draw_plan(boards, plans, verdicts, 1).splitlines()
    assert len(lines) == 6
    assert lines[3] == "step  3: 0 WAIT  (0, 3) -> (0, 3)   1 LEFT  (2, 2) -> (2, 1)"
    assert lines[-1] == "suboptimal: sum of costs 8, makespan 5, gap 1.00"


def test_a_plan_below_the_certified_optimum_is_told_as_a_contradiction():
    down = [Action.DOWN, Action.DOWN, Action.LEFT, Action.LEFT, Action.LEFT]
    drawn = draw_plan(*judged([[Action.RIGHT] * 3, down], total=9, makespan=5))
    assert drawn.endswith("gap -0.11; this contradicts the label of the board")


def test_an_answer_that_could_not_be_read_shows_no_steps():
    boards, plans, _ = judged([[Action.UP], []])
    unread = plans.replace(outcome=plans.outcome + Label.PARSE_ERROR)
    assert draw_plan(boards, unread, jaxenv.verify(boards, known(1), unread)) == "parse_error"


def test_a_goal_that_is_not_reached_is_told_with_the_agent():
    assert draw_plan(*judged([[], []])) == "goal_not_reached: agent 0"
    assert draw_plan(*judged([[Action.UP], []])).splitlines()[-1] == "off_map at step 0: agent 0, cell (0, 0)"


def test_a_row_that_is_not_there_is_refused():
    boards, plans, verdicts = judged([[], []])
    for index in (-1, 1):
        with pytest.raises(InstanceError, match=f"no row {index}; there are 1"):
            draw_plan(boards, plans, verdicts, index)
