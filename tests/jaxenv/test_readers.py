"""Boards from text and from MovingAI files."""

import numpy as np
import pytest

import jaxenv
from jaxenv.readers import read_scenario, read_text

MAP = "type octile\nheight 4\nwidth 5\nmap\n..@..\n.....\n.T.G.\n.....\n"
SCENARIO = (
    "version 1\n"
    "0\tmaps/m.map\t5\t4\t0\t1\t4\t3\t6.0\n"
    "0\tmaps/m.map\t5\t4\t4\t0\t0\t3\t7.4\n"
    "1\tmaps/m.map\t5\t4\t1\t1\t2\t3\t3.0\n"
)


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "m.map").write_text(MAP)
    path = tmp_path / "m.scen"
    path.write_text(SCENARIO)
    return path


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("size", "num_agents", "holes", "starts", "goals")
    )


@pytest.mark.parametrize("agents", [2, 5])
def test_text_that_was_drawn_reads_back_as_the_same_boards(agents):
    boards = jaxenv.benchmark("validation", num_agents=agents, count=32).instances
    text = "\n\n".join(jaxenv.draw_board(boards, row) for row in range(len(boards)))
    assert same(read_text(text), boards)


def test_an_agent_may_stand_on_its_own_goal_or_on_anothers():
    board = read_text("0a .\n1 .b\n")
    assert board.starts[0, :2].tolist() == [[0, 0], [1, 0]]
    assert board.goals[0, :2].tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no board"),
        ("0a x\n. .", r"board 0: cell \(0, 1\) is 'x'"),
        (". .\n. .\n\n0a Hb\n1 .", r"board 1: cell \(0, 1\) is 'Hb'"),
        ("0 0\n.a .", "twice"),
        ("0a .a\n. .", "twice"),
        ("0a .b\n. .", "agent 1 has no start"),
        ("0a 1\n. .", "agent 1 has no goal"),
        ("0a .\n.", "square"),
        ("0a 2c\n. .", "agent 1 has no start"),
    ],
)
def test_text_that_is_no_board_is_refused_with_the_place(text, said):
    with pytest.raises(jaxenv.InstanceError, match=said):
        read_text(text)


def test_a_scenario_names_the_column_first_and_a_map_that_is_not_square_is_filled_with_holes(scenario):
    boards = read_scenario(scenario, 2)
    assert len(boards) == 1  # the third agent has no partner
    assert jaxenv.draw_board(boards).splitlines() == [
        ".  .  H  .  1",
        "0  .  .  .  .",
        ".  H  .  .  .",
        ".b .  .  .  .a",
        "H  H  H  H  H",
    ]
    assert len(read_scenario(scenario, 1)) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("\t7.4", ""), "line 3"),
        (("\t4\t0\t0", "\tx\t0\t0"), "line 3"),
        (("0\tmaps/m.map\t5\t4\t4", "0\tmaps/n.map\t5\t4\t4"), "n.map cannot be read"),
        (("4\t0\t0\t3", "2\t0\t0\t3"), "board 0, agent 1.*in a hole"),
    ],
)
def test_a_scenario_with_a_fault_is_refused_with_its_place(scenario, change, said):
    scenario.write_text(SCENARIO.replace(*change))
    with pytest.raises(jaxenv.InstanceError, match=said):
        read_scenario(scenario, 2)


def test_too_few_agents_a_map_without_a_map_and_a_large_one_are_refused(scenario):
    with pytest.raises(jaxenv.InstanceError, match="has 3 agents; a board was to have 4"):
        read_scenario(scenario, 4)
    scenario.with_name("m.map").write_text("type octile\n")
    with pytest.raises(jaxenv.InstanceError, match="no line 'map'"):
        read_scenario(scenario, 2)
    scenario.with_name("m.map").write_text("map\n" + ("." * 11 + "\n") * 3)
    with pytest.raises(jaxenv.InstanceError, match="at most 10 by 10"):
        read_scenario(scenario, 2)
