"""A run in the terminal while it goes on."""

import io
import json
import time

from rich.console import Console

from experiments.runfolder import read_metrics
from experiments.watch import picture, sparkline, watch


def shown(run, now=None):
    console = Console(file=io.StringIO(), width=120)
    console.print(picture(run, now))
    return console.file.getvalue()


def test_a_finished_run_is_all_done_with_its_rates_and_curves(copy):
    metrics = copy.path / "metrics.jsonl"
    rows = read_metrics(metrics)
    for stage in (-1, 0, 1):
        rows.append({"kind": "evaluate", "stage": stage, "set": "learn", "valid": 0.5 + 0.1 * stage, "time": 0})
    rows += [{"kind": "train", "stage": 0, "step": n, "reward": n / 10, "valid": 0.5} for n in range(1, 9)]
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = shown(copy.path)
    assert "to come" not in text and text.count("done in") == len(copy_steps(text))
    assert "smoke, seed 0, engineer self V6" in text
    assert "starter" in text and "40.0%" in text and "stage 1" in text and "60.0%" in text
    assert "▁▂▃▄▅▆▇█" in text and "0.8" in text


def copy_steps(text):
    return [line for line in text.splitlines() if "done in" in line]


def test_a_running_step_tells_how_far_it_is(copy):
    copy.lose("stage_1/policy")
    for step in ("stage_1/eval", "stage_1/usable"):
        copy.lose(step)
    metrics = copy.path / "metrics.jsonl"
    rows = [row for row in read_metrics(metrics) if not str(row.get("of", row["job"])).startswith("stage_1/")]
    rows.append({"job": "stage_1/policy", "kind": "train", "stage": 1, "step": 1, "reward": 0.5, "time": 0})
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    last = max(row["time"] for row in rows if row["job"] == "driver")
    text = shown(copy.path, last + 75)
    line = next(line for line in text.splitlines() if "stage_1/policy" in line)
    assert "step 1 of 2" in line and "1m15s" in line and line.count("━") == line.count("╌") == 10
    assert text.count("to come") == 2


def test_a_run_that_has_just_begun_can_be_watched(copy):
    (copy.path / "metrics.jsonl").unlink()
    for marker in copy.path.rglob(".*.done"):
        marker.unlink()
    text = shown(copy.path)
    assert text.count("at work") == 1 and "done" not in text


def test_on_a_terminal_the_picture_stays_until_the_report_is_there(copy, monkeypatch):
    report = copy.path / "report" / "report.md"
    text = report.read_text()
    report.unlink()
    waited = []

    def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 2:
            report.write_text(text)

    monkeypatch.setattr(time, "sleep", sleep)
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    watch(copy.path, console, poll=0.5)
    assert waited == [0.5, 0.5]
    assert console.file.getvalue().strip().endswith(str(report))


def test_elsewhere_every_metric_is_a_line_once(copy):
    console = Console(file=io.StringIO(), width=120)
    watch(copy.path, console)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == len(read_metrics(copy.path / "metrics.jsonl")) + 1
    assert lines[-1] == str(copy.path / "report" / "report.md")


def test_a_sparkline_spans_its_values_and_keeps_the_latest():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline(range(100), width=4)[-1] == "█" and len(sparkline(range(100), width=4)) == 4
