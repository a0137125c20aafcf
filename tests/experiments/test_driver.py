"""The driver with fake steps: what is done, what is done again, and what is said when something goes wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import runfolder
from experiments.errors import RunFolderError, StepError
from experiments.runfolder import RunFolder, read_marker, read_metrics

ROOT = Path(__file__).resolve().parents[2]
ALL = [
    "sets",
    "stage_0/config.json",
    "start/eval",
    "start/usable",
    "stage_0/data",
    "stage_0/policy",
    "stage_0/eval",
    "stage_0/engineer",
    "stage_1/data",
    "stage_1/policy",
    "stage_1/eval",
    "stage_1/usable",
    "report",
]


def test_a_run_leaves_the_folder_of_the_contract_and_prints_its_steps(finished):
    fake, lines, report = finished, finished.lines, finished.report
    assert fake.steps == ALL
    assert report == fake.path / "report" / "report.md" and report.is_file()
    for stage in ("stage_0", "stage_1"):
        folder = fake.path / stage
        assert {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")} >= {
            "config.json",
            "data",
            "policy",
            "eval",
            "DONE",
        }
    assert (fake.path / "stage_0" / "engineer" / "prompt.txt").is_file()
    assert not (fake.path / "stage_1" / "engineer").exists()
    for name in ("manifest.json", "recipe.yaml", "metrics.jsonl"):
        assert (fake.path / name).is_file()
    assert any(line.startswith("stage_0/policy") and "done in" in line and "MiB" in line for line in lines)
    assert not list(fake.path.rglob("*.part"))


def test_the_next_config_is_the_one_that_was_proposed(finished):
    proposal = json.loads((finished.path / "stage_0/engineer/proposal.json").read_text())
    assert json.loads((finished.path / "stage_1/config.json").read_text()) == proposal["config"]


def test_the_seeds_of_runs_and_uses_differ(finished, fake):
    seeds = json.loads((finished.path / "manifest.json").read_text())["seeds"]
    assert len(set(seeds.values())) == len(seeds)
    fake.ask("start/eval=error")
    with pytest.raises(StepError):
        fake.run("seed=1")
    first, other = ((run.path / "stage_0" / "config.json").read_bytes() for run in (finished, fake))
    assert first != other


def test_every_step_leaves_its_time_and_memory(finished):
    rows = [row for row in read_metrics(finished.path / "metrics.jsonl") if row["job"] == "driver"]
    assert [row["of"] for row in rows] == ALL[:-1]
    assert all(row["seconds"] > 0 and row["peak_memory"] > 2**20 for row in rows)
    assert read_marker(finished.path / "stage_0/policy")["peak_memory"] == rows[5]["peak_memory"]


def test_a_resumed_run_that_is_complete_does_nothing_but_the_report(copy):
    before = copy.contents()
    copy.run(resume=True)
    assert copy.ran() == ["report"]
    assert copy.contents() == before


def test_resume_redoes_what_has_no_marker_and_what_follows_from_it_only_if_it_changed(copy):
    before = copy.contents()
    (copy.path / "stage_0" / ".policy.done").unlink()
    copy.run(resume=True)
    assert copy.ran() == ["stage_0/policy", "report"]
    assert copy.contents() == before


def test_resume_redoes_what_was_made_from_an_edited_file(copy):
    path = copy.path / "stage_0" / "engineer" / "proposal.json"
    proposal = json.loads(path.read_text())
    path.write_text(json.dumps(proposal | {"config": {"maps": {}}}))
    copy.run(resume=True)
    # The edited output is not what its step wrote: it is made again, and is what it was before.
    assert copy.ran() == ["stage_0/engineer", "report"]
    assert json.loads(path.read_text()) == proposal


def test_a_model_that_was_made_anew_under_its_name_is_another_input(copy, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "model.safetensors").write_text("one")
    copy.ask("stage_0/data=error")
    for weights, ran in (
        ("two", ["start/eval", "start/usable"]),
        ("two", []),
        ("three", ["start/eval", "start/usable"]),
    ):
        (model / "model.safetensors").write_text(weights)
        (copy.path / "stage_0" / ".data.done").unlink(missing_ok=True)
        with pytest.raises(StepError, match="thawed"):
            copy.run(f"model={model}", resume=True)
        assert copy.ran() == [*ran, "stage_0/data"]


def test_resume_with_another_value_redoes_what_depends_on_it(copy):
    copy.run("boards_per_stage=80", resume=True)
    # The fake training ends in the same weights whatever the boards, so that its evaluation stands.
    assert copy.ran() == [
        "stage_0/data",
        "stage_0/policy",
        "stage_0/engineer",
        "stage_1/data",
        "stage_1/policy",
        "report",
    ]


def test_metrics_of_a_step_that_is_done_again_are_not_there_twice(copy):
    (copy.path / "stage_0" / ".policy.done").unlink()
    with (copy.path / "metrics.jsonl").open("a") as stream:
        stream.write('{"job": "stage_0/pol')  # as a kill leaves it
    copy.run(resume=True)
    rows = [row for row in read_metrics(copy.path / "metrics.jsonl") if row["job"] == "stage_0/policy"]
    assert [row["step"] for row in rows] == [1, 2, 3]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("error", "the lake has thawed; wait for winter"),
        ("full", "the disk is full; free some space and go on with --resume"),
        ("crash", "failed with exit code 1 (RuntimeError: a fault of the program)"),
        ("killed", "was killed, perhaps for its memory"),
        ("nothing", "ended without its output"),
    ],
)
def test_a_step_that_fails_is_told_in_one_line_and_can_be_resumed(copy, what, said):
    copy.lose("stage_0/eval")
    copy.ask(f"stage_0/eval={what}")
    with pytest.raises(StepError) as caught:
        copy.run(resume=True)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not (copy.path / "stage_0" / "eval").exists() and not (copy.path / "stage_0" / "DONE").exists()
    copy.ask("")
    copy.run(resume=True)
    assert copy.ran() == ["stage_0/eval", "report"]
    assert (copy.path / "stage_0" / "DONE").exists()


def test_what_a_step_prints_goes_to_its_log(fake):
    fake.ask("sets=crash")
    with pytest.raises(StepError):
        fake.run()
    assert "Traceback" in (fake.path / "logs" / "sets.log").read_text()


@pytest.mark.parametrize("fatal", range(6))
def test_an_output_whose_commit_was_cut_short_is_made_again(tmp_path, monkeypatch, fatal):
    folder = RunFolder.open(tmp_path / "run", resume=False)

    def make(text, inputs):
        folder.begin("data", inputs, keep=False)
        folder.part("data").mkdir()
        (folder.part("data") / "boards").write_text(text)
        folder.commit("data", inputs)

    make("old", "one")
    calls = [0]

    def dying(original):
        def call(*arguments, **options):
            calls[0] += 1
            if calls[0] > fatal:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for owner, name in ((Path, "rename"), (Path, "unlink"), (runfolder, "write_json"), (runfolder, "_remove")):
            patch.setattr(owner, name, dying(getattr(owner, name)))
        with pytest.raises(KeyboardInterrupt):
            make("new", "two")
    if not folder.is_done("data", "two"):
        make("new", "two")
    assert (tmp_path / "run" / "data" / "boards").read_text() == "new"
    assert folder.is_done("data", "two") and not folder.is_done("data", "one")
    folder.close()


DRIVE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs in the background ignore it
from pathlib import Path
from rich.console import Console
from experiments.driver import run_loop
from experiments.recipe import load
from experiments.runfolder import RunFolder
folder = RunFolder.open(sys.argv[1], resume="resume" in sys.argv)
recipe = load("smoke", ["stages=2", "boards_per_stage=64", "threads=1"])
print(run_loop(recipe, folder, Console(), package="fake_steps"))
"""


def start(fake, *arguments):
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ['PYTHONPATH']}"}
    return subprocess.Popen(
        [sys.executable, "-c", DRIVE, str(fake.path), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, seconds=600):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def kill_in(run, step, *arguments):
    """Start the driver, and kill it outright while the step has written half of its output."""
    run.ask(f"{step}=half")
    driver = start(run, *arguments)
    wait_for(lambda: list(run.path.rglob("half.txt")))
    child = int(run.log.read_text().splitlines()[-1].split()[1])
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    wait_for(lambda: gone(child))
    run.ask("")


def test_a_killed_run_takes_its_step_with_it_and_ends_like_an_uninterrupted_one(finished, fake):
    kill_in(fake, "stage_0/data")
    _, report = fake.run(resume=True)
    assert fake.ran() == ALL[ALL.index("stage_0/data") :]
    assert fake.contents() == finished.contents()
    assert "## How it was made" in report.read_text()


@pytest.mark.parametrize("step", ["sets", "start/eval", "stage_0/policy", "stage_0/engineer", "stage_1/usable"])
def test_whatever_step_a_run_is_killed_in_only_that_one_is_done_again(finished, copy, step):
    copy.lose(step)
    kill_in(copy, step, "resume")
    copy.run(resume=True)
    assert copy.ran() == [step, "report"]
    assert copy.contents() == finished.contents()
    # Training and evaluation may go on with their own half; every other step begins anew.
    went_on = copy.log.read_text().splitlines()[0].split()[2]
    assert went_on == ("True" if step in ("stage_0/policy", "start/eval") else "None")


def test_a_half_of_other_inputs_is_thrown_away(copy):
    copy.lose("stage_0/policy")
    kill_in(copy, "stage_0/policy", "resume")
    copy.run("reward.rho=0.4", resume=True)
    assert copy.log.read_text().splitlines()[0].split()[::2] == ["stage_0/policy", "False"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_step(fake, number):
    fake.ask("sets=half")
    driver = start(fake)
    wait_for(lambda: list(fake.path.rglob("half.txt")))
    child = int(fake.log.read_text().splitlines()[-1].split()[1])
    driver.send_signal(number)
    driver.communicate(timeout=60)
    assert driver.returncode != 0 and gone(child)


def test_a_folder_in_use_is_refused_with_the_owner_named(fake):
    fake.ask("sets=half")
    driver = start(fake)
    wait_for(lambda: list(fake.path.rglob("half.txt")))
    try:
        with pytest.raises(RunFolderError, match=rf"is in use by process {driver.pid}; wait for it"):
            RunFolder.open(fake.path, resume=True, patience=0.2)
    finally:
        driver.terminate()
        driver.communicate()


def test_a_child_that_outlives_its_driver_keeps_the_folder(tmp_path):
    folder = RunFolder.open(tmp_path / "run", resume=False)
    (folder.path / "recipe.yaml").write_text("")
    child = subprocess.Popen(["sleep", "60"], pass_fds=[folder.lock_descriptor])
    folder.close()
    try:
        with pytest.raises(RunFolderError, match="in use"):
            RunFolder.open(folder.path, resume=True, patience=0.2)
    finally:
        child.kill()
        child.wait()
    RunFolder.open(folder.path, resume=True).close()


def test_an_old_run_is_not_overwritten(copy):
    with pytest.raises(RunFolderError, match="is not empty; continue the run in it with --resume"):
        copy.run()


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path):
    with pytest.raises(RunFolderError, match="there is no run in"):
        RunFolder.open(tmp_path, resume=True)


def test_a_place_without_permission_is_one_line(tmp_path, monkeypatch):
    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)  # root may write everywhere, so that a mode bit proves nothing
    with pytest.raises(RunFolderError, match="no permission to write there"):
        RunFolder.open(tmp_path / "run", resume=False)


def test_a_session_is_added_to_the_manifest_at_every_resume(copy):
    copy.run(resume=True)
    sessions = json.loads((copy.path / "manifest.json").read_text())["sessions"]
    assert len(sessions) == 2
