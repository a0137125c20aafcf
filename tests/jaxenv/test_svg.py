"""The SVG is well-formed, and says of a plan what the verifier says."""

from xml.etree import ElementTree

import numpy as np
import pytest

import jaxenv
from jaxenv.svg import draw_svg

NAME = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def swap():
    """Two agents that have to pass each other, with one free row to do it in."""
    boards = jaxenv.make_instances([["...", "...", "HHH"]], [[(0, 0), (0, 2)]], [[(0, 2), (0, 0)]])
    return boards, jaxenv.solve(boards)


def parts(text, name):
    return ElementTree.fromstring(text).iter(NAME + name)


def test_a_board_alone_has_its_holes_and_a_ring_and_a_disc_for_each_agent(swap):
    text = draw_svg(swap[0])
    assert sum(rect.get("fill") == "#274060" for rect in parts(text, "rect")) == 3
    assert len(list(parts(text, "circle"))) == 4
    assert not list(parts(text, "animateTransform"))


def test_agents_end_on_their_goals_when_the_plan_is_valid(swap):
    boards, solutions = swap
    verdicts = jaxenv.verify(boards, solutions, solutions.plans)
    text = draw_svg(boards, plans=solutions.plans, verdicts=verdicts)
    moves = [move.get("values").split(";") for move in parts(text, "animateTransform")]
    assert [values[-1] for values in moves] == ["64 0", "-64 0"]
    assert {len(values) for values in moves} == {int(np.asarray(solutions.makespan)[0]) + 2}
    assert "optimal" in next(parts(text, "title")).text


def test_the_walk_stops_at_the_offence_and_its_cell_is_marked(swap):
    boards, solutions = swap
    right, left = int(jaxenv.Action.RIGHT), int(jaxenv.Action.LEFT)
    plans = jaxenv.make_plans([[[right, right], [left, left]]])
    text = draw_svg(boards, plans=plans, verdicts=jaxenv.verify(boards, solutions, plans))
    assert [move.get("values") for move in parts(text, "animateTransform")] == ["0 0;32 0;32 0", "0 0;-32 0;-32 0"]
    (mark,) = [rect for rect in parts(text, "rect") if rect.get("stroke-dasharray")]
    assert (mark.get("x"), mark.get("y")) == ("41", "9")
    assert "vertex_conflict at step 0" in next(parts(text, "title")).text


def test_the_picture_is_as_wide_as_its_caption(swap):
    boards, solutions = swap
    verdicts = jaxenv.verify(boards, solutions, solutions.plans)
    text = draw_svg(boards, plans=solutions.plans, verdicts=verdicts)
    (told,) = [part for part in parts(text, "text") if "optimal" in part.text]
    # In a wide font a letter of 10 pixels is 6 wide on average.
    assert int(ElementTree.fromstring(text).get("width")) >= int(told.get("x")) + 6 * len(told.text)
    assert int(ElementTree.fromstring(draw_svg(boards)).get("width")) == 3 * 32 + 16


def test_an_answer_that_could_not_be_read_moves_nobody(swap):
    boards, solutions = swap
    plans = solutions.plans.replace(outcome=np.array([int(jaxenv.Label.PARSE_ERROR)], np.int32))
    text = draw_svg(boards, plans=plans, verdicts=jaxenv.verify(boards, solutions, plans))
    assert not list(parts(text, "animateTransform")) and "parse_error" in next(parts(text, "title")).text


def test_a_notebook_shows_the_first_boards_of_a_set_with_their_plans():
    shown = jaxenv.benchmark("validation", num_agents=2, count=8)._repr_html_()
    assert shown.startswith("<p>8 boards</p>") and shown.count("<svg ") == 6 and shown.count("optimal:") >= 6
