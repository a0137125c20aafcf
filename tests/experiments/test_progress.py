"""Bars on a terminal, plain lines elsewhere."""

import io

import pytest
from rich.console import Console

from experiments import progress
from experiments.progress import Display, duration


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_plain_lines_come_now_and_then_with_rate_and_time_left(clock):
    out = io.StringIO()
    with Display(Console(file=out, width=200), 2) as display:
        display.start("stage_0/policy", 1)
        for done in range(1, 41):
            clock.now = float(done)
            display.update({"done": done, "total": 100, "loss": 0.25})
        display.finish("done in 40s", ran=True)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].split(None, 1) == ["stage_0/policy", "16/100  1/s  1m24s left  loss 0.25"]
    assert lines[-1].split(None, 1) == ["stage_0/policy", "done in 40s"]


def test_a_terminal_shows_the_whole_run_and_the_current_step(clock):
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system=None)
    with Display(console, 4) as display:
        display.start("sets", 1)
        clock.now = 10.0
        display.finish("done", ran=True)
        display.start("stage_0/data", 1)
        clock.now = 15.0
        display.update({"done": 1, "total": 2})
    shown = out.getvalue()
    assert "38%" in shown  # 1.5 of 4
    assert "about 25s left" in shown  # 15 s for 1.5 of 4
    assert "1/2" in shown


def test_the_rate_leaves_out_what_came_before_the_first_report(clock):
    out = io.StringIO()
    with Display(Console(file=out, width=200), 1) as display:
        display.start("sets", 1)
        for now, done, total in [(60, 1, 21), (70, 11, 21), (80, 1, 1600), (100, 41, 1600)]:
            clock.now = float(now)
            display.update({"done": done, "total": total})
    assert "41/1600  2/s  13m00s left" in out.getvalue()


def test_what_was_there_already_says_nothing_about_the_speed(clock):
    out = io.StringIO()
    with Display(Console(file=out, width=120, force_terminal=True, color_system=None), 4) as display:
        display.start("sets", 2)
        display.finish("kept", ran=False)
        display.start("stage_0/data", 1)
        clock.now = 10.0
        display.update({"done": 1, "total": 2})
    assert "about 30s left" in out.getvalue()  # half of it took 10 s, and 1.5 are left


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (59.6, "1m00s"), (185, "3m05s"), (7620, "2h07m")])
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text
