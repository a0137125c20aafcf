"""`show` on a file of boards: the text, the SVG and the GIF of one board with a plan and its verdict."""

from xml.etree import ElementTree

import pytest
from PIL import Image

from experiments.run import main

BOARD = ". . 0b .\n. H . .\n. . . H\n. . 1a .\n"
RED = (192, 0, 32)


@pytest.fixture
def boards(tmp_path):
    (tmp_path / "boards.txt").write_text(BOARD)
    return tmp_path / "boards.txt"


def red_pixels(gif, frame):
    gif.seek(frame)
    return sum(colour == RED for colour in gif.convert("RGB").get_flattened_data())


def test_an_answer_is_drawn_up_to_its_offending_step_which_is_marked(boards, tmp_path, capfd):
    (tmp_path / "answer.txt").write_text("Agent 0: DOWN, DOWN, DOWN\nAgent 1: WAIT, UP, UP\n")
    out = tmp_path / "drawn"
    assert main(["show", str(boards), "--answer", str(tmp_path / "answer.txt"), "--out", str(out)]) == 0
    told = capfd.readouterr().out
    assert "<-- vertex_conflict" in told and "vertex_conflict at step 1: agents 0 and 1, cell (2, 2)" in told
    ElementTree.fromstring((out / "board.svg").read_text())
    gif = Image.open(out / "board.gif")
    assert gif.n_frames == 1 + 2 * 4  # two steps of four frames
    assert [red_pixels(gif, frame) > 100 for frame in (0, gif.n_frames - 2, gif.n_frames - 1)] == [False, False, True]


def test_without_an_answer_the_certified_plan_is_drawn(boards, tmp_path, capfd):
    out = tmp_path / "drawn"
    assert main(["show", str(boards), "--out", str(out)]) == 0
    assert "optimal: sum of costs" in capfd.readouterr().out
    gif = Image.open(out / "board.gif")
    assert gif.info["loop"] == 0 and not any(red_pixels(gif, frame) for frame in range(gif.n_frames))


def test_a_board_that_is_not_there_is_told_in_one_line(boards, capfd):
    assert main(["show", str(boards), "--board", "3"]) == 2
    assert "there is no board 3" in capfd.readouterr().err
