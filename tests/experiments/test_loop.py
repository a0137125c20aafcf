"""The whole loop with nothing faked: real boards, a real model, real training of a few steps, a kill and a resume."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
VALUES = ("stages=2", "evaluation.samples=2", "grpo.report_to=tensorboard")
OPTIONS = [part for value in VALUES for part in ("--set", value)]
COMMAND = [sys.executable, "-m", "experiments.run", "stage_loop", "--recipe", "smoke", *OPTIONS]

pytestmark = pytest.mark.slow


def call(folder, *more):
    return subprocess.run(
        [*COMMAND, "--run", str(folder), *more], cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that was killed in the middle of its first stage and then gone on with."""
    folder = tmp_path_factory.mktemp("loop") / "run"
    with subprocess.Popen([*COMMAND, "--run", str(folder)], cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 900
        while not (folder / "stage_0" / "data").exists():
            assert first.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        os.kill(first.pid, signal.SIGKILL)
    boards = (folder / "stage_0" / "data" / "boards.parquet").read_bytes()
    done = call(folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert (folder / "stage_0" / "data" / "boards.parquet").read_bytes() == boards
    return folder, done.stdout.splitlines()


def test_the_last_line_is_the_path_of_a_complete_report(run):
    folder, lines = run
    report = Path(lines[-1])
    assert report == folder / "report" / "report.md"
    text = report.read_text()
    for part in ("learn", "learn3", "Wilson", "stage 0", "stage 1"):
        assert part in text
    assert "nan" not in re.sub(r"`[^`]*`|```.*?```", "", text, flags=re.DOTALL).lower().split()


def test_the_page_beside_it_has_the_failures_drawn_and_walking(run):
    folder, _ = run
    page = (folder / "report" / "report.html").read_text()
    assert page.count("<animateTransform") >= 2 and "The answer, step by step" in page


def test_sampled_answers_stand_beside_the_greedy_ones(run):
    folder, _ = run
    for checkpoint in ("start", "stage_0", "stage_1"):
        greedy = pq.read_table(folder / checkpoint / "eval" / "learn.parquet").to_pydict()
        sampled = pq.read_table(folder / checkpoint / "eval" / "samples" / "learn.parquet").to_pydict()
        assert sampled["board"] == [board for board in greedy["board"] for _ in range(2)]
        assert sampled["sample"] == [1, 2] * len(greedy["board"])


def test_training_is_logged_where_the_recipe_reports_to(run):
    folder, _ = run
    for stage in (0, 1):
        assert list((folder / f"stage_{stage}").rglob("events.out.tfevents.*"))


def test_both_stages_trained_and_changed_the_model(run):
    folder, _ = run
    weights = [
        (ROOT / "policy" / "models" / "starter" / "model.safetensors").read_bytes(),
        *((folder / f"stage_{stage}" / "policy" / "model.safetensors").read_bytes() for stage in (0, 1)),
    ]
    assert len(set(weights)) == 3
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = {(row["stage"], row["step"]) for row in rows if row.get("kind") == "train"}
    assert steps == {(stage, step) for stage in (0, 1) for step in (1, 2)}
    assert all((folder / f"stage_{stage}" / "DONE").exists() for stage in (0, 1))


def test_every_completion_was_judged_and_rewarded(run):
    folder, _ = run
    rollouts = pq.read_table(folder / "stage_0" / "policy" / "rollouts.parquet").to_pydict()
    assert len(rollouts["reward"]) == 2 * 16
    groups = {}
    for group, size in zip(rollouts["group"], rollouts["size"], strict=True):
        groups.setdefault(group, set()).add(size)
    assert all(len(sizes) == 1 for sizes in groups.values())  # one board to a group


def test_the_second_config_is_the_checkpoints_own_reply_or_says_that_the_first_was_kept(run):
    folder, _ = run
    proposal = json.loads((folder / "stage_0" / "engineer" / "proposal.json").read_text())
    config = json.loads((folder / "stage_1" / "config.json").read_text())
    assert proposal["engineer"] == "self"
    assert proposal["config"]["maps"] == config["maps"]
    assert proposal["level"] in range(6)
    first = json.loads((folder / "stage_0" / "config.json").read_text())
    assert (proposal["level"] == 5) == (config["maps"] == first["maps"])
    reply = (folder / "stage_0" / "engineer" / "reply.txt").read_text()
    assert reply.strip() in {step.get("reply", "").strip() for step in proposal["steps"]}


def test_a_finished_run_is_kept_and_a_folder_in_use_is_not_overwritten(run):
    folder, _ = run
    before = (folder / "stage_1" / "policy" / "model.safetensors").stat().st_mtime_ns
    again = call(folder, "--resume")
    assert again.returncode == 0
    assert (folder / "stage_1" / "policy" / "model.safetensors").stat().st_mtime_ns == before
    refused = call(folder)
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1 and "--resume" in refused.stderr


def test_any_engineers_can_be_asked_about_the_recorded_evidence_and_stand_side_by_side(run, tmp_path):
    folder, _ = run
    command = [sys.executable, "-m", "experiments.run", "engineer", "--run", str(folder), "--stage", "1"]
    asked = ["--engineer", "self", "fixed", "--variant", "V6", "V1", "--preview", "4", "--set", "engineer.best_of=2"]
    done = subprocess.run(
        [*command, *asked, "--out", str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["self-V6", "self-V1", "fixed"]
    assert done.stdout.splitlines()[-1] == str(tmp_path / "out")
    for name in ("self-V6", "self-V1", "fixed"):
        proposal = json.loads((tmp_path / "out" / name / "proposal.json").read_text())
        assert sum(row["groups"] for row in proposal["preview"]["sizes"].values()) == 4
        assert len(proposal["others"]) == 1
    kept = json.loads((folder / "stage_1" / "config.json").read_text())
    assert proposal["config"] == kept, "fixed proposes the stage's own config"
    assert "guidelines" not in (tmp_path / "out" / "self-V1" / "prompt.txt").read_text()
