"""Grids of runs: which cells there are, what happens to those that fail, and what is not done twice."""

import io
import json
import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from experiments import run
from experiments.ablate import rates as measured_rates
from experiments.ablate.cluster import run_on_cluster
from experiments.ablate.grid import cells_of
from experiments.ablate.rates import measure, shipped
from experiments.ablate.sharing import NOTE, share_beginning
from experiments.ablate.sweep import sweep
from experiments.budget import counts
from experiments.errors import ExperimentError, RecipeError, RunFolderError
from experiments.recipe import load
from experiments.runfolder import read_metrics

GRID = ["engineer.name=rule,self", "seed=0,1"]
SMALL = ["stages=2", "boards_per_stage=64", "threads=1"]


def test_the_cells_are_the_product_with_the_last_axis_fastest():
    cells = cells_of("smoke", SMALL, GRID)
    assert [cell.name for cell in cells] == ["rule-seed0", "rule-seed1", "self-seed0", "self-seed1"]
    assert [(cell.recipe.engineer.name, cell.recipe.seed) for cell in cells] == [
        ("rule", 0),
        ("rule", 1),
        ("self", 0),
        ("self", 1),
    ]
    assert cells[3].options[:2] == ["--recipe", "smoke"] and 'engineer.name="self"' in cells[3].options
    assert {cell.recipe.name for cell in cells} == {"smoke"}


def test_an_axis_that_no_row_tells_becomes_part_of_the_recipes_name():
    cells = cells_of("smoke", [], ["model=starter,starter-format", "grpo.learning_rate=1e-4,2e-4"])
    assert len({cell.recipe.name for cell in cells}) == 4
    assert cells[1].recipe.name == "smoke_modelstarter_learning_rate2e_4"
    assert [cell.recipe.grpo["learning_rate"] for cell in cells] == [1e-4, 2e-4, 1e-4, 2e-4]


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (["seed"], "write it as key=value,value"),
        (["seed=[0"], "cannot be read"),
        (["seed=0,0"], "two cells of the grid are the same"),
        (["engineer.nam=rule"], "unknown key 'nam'"),
        (["engineer.name=ruler"], "engineer.name"),
        (["grpo.max_steps=2,3"], "have not the same budget"),
        (["evaluation.limit=24,23"], "have not the same budget"),
        (["objective=sum_of_costs,makespan"], "have not the same objective"),
    ],
)
def test_a_grid_that_cannot_be_compared_or_read_is_refused_in_one_line(grid, said):
    with pytest.raises(RecipeError, match="(?s)" + said.replace("(", r"\(")) as caught:
        cells_of("smoke", [], grid)
    assert "\n" not in str(caught.value)


@pytest.fixture
def loops(finished, tmp_path, monkeypatch):
    """Whole loops that take no time; what they did stands in the file that is returned."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "fakes"))
    monkeypatch.setenv("FAKE_FINISHED", str(finished.path))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log.txt"))
    monkeypatch.setattr("experiments.ablate.processes.MODULE", "fake_loop")
    return tmp_path / "log.txt"


def do(out, cells=None, *, at_once=2, ray=None):
    console = Console(file=io.StringIO(), width=200)
    cells = cells or cells_of("smoke", SMALL, GRID)
    outcomes = sweep(cells, out, out / "results.jsonl", console, at_once=at_once, cores=1, ray=ray)
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return {outcome.cell.name: outcome for outcome in outcomes}, rows, console.file.getvalue()


def test_a_run_that_fails_is_told_and_the_others_go_on_and_a_second_sweep_does_only_what_lacks(
    loops, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAKE_FAILS", "rule-seed1")
    monkeypatch.setenv("FAKE_CRASHES", "self-seed0")
    outcomes, rows, said = do(tmp_path / "out")
    assert list(outcomes) == ["rule-seed0", "rule-seed1", "self-seed0", "self-seed1"]
    assert outcomes["rule-seed1"].error == "the lake has thawed; wait for winter"
    assert "exit code 1" in outcomes["self-seed0"].error and "logs/self-seed0.log" in outcomes["self-seed0"].error
    assert [(row["engineer"], row["seed"]) for row in rows] in ([("rule", 0), ("self", 1)], [("self", 1), ("rule", 0)])
    assert "failed: the lake has thawed" in said and "[4/4]" in said
    assert {"engineer", "variant", "seed", "recipe", "valid_start", "valid_end"} <= set(rows[0])

    monkeypatch.delenv("FAKE_FAILS")
    monkeypatch.delenv("FAKE_CRASHES")
    loops.unlink()
    outcomes, rows, said = do(tmp_path / "out")
    assert [name for name, outcome in outcomes.items() if outcome.kept] == ["rule-seed0", "self-seed1"]
    assert sorted(line.split()[0] for line in loops.read_text().splitlines()) == ["rule-seed1", "self-seed0"]
    assert not any(outcome.error for outcome in outcomes.values()) and len(rows) == 4

    # Another value in the recipe: the run in the folder is not this cell's any more, and is gone on with.
    loops.unlink()
    do(tmp_path / "out", cells_of("smoke", [*SMALL, "engineer.samples=3"], GRID))
    assert sorted(loops.read_text().splitlines()) == [
        f"{name}-seed{seed} True" for name in ("rule", "self") for seed in (0, 1)
    ]


def test_ablate_names_what_failed_and_compares_what_did_not(loops, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_FAILS", "rule-seed1")
    grid = [part for axis in GRID for part in ("--grid", axis)]
    small = [part for value in SMALL for part in ("--set", value)]
    assert run.main(["ablate", "--recipe", "smoke", *small, *grid]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2:] == ["runs/smoke/results.jsonl", "runs/smoke/report/report.md"]
    text = (tmp_path / said[-1]).read_text()
    assert "# 3 runs compared" in text and "| `rule-seed0` | rule | V6 | 0 |" in text
    assert "rule-seed1 failed: the lake has thawed; wait for winter" in said


def test_a_dry_run_tells_runs_steps_tokens_and_time_and_does_nothing(tmp_path, capsys, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    arguments = [
        "ablate",
        "--recipe",
        "study",
        "--grid",
        "engineer.name=fixed,self",
        "--grid",
        "seed=0,1,2",
        "--dry-run",
    ]
    assert run.main([*arguments, "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    recipe = load("study")
    count = counts(recipe)
    seconds = shipped(1).seconds(count)
    assert "6 runs, 2 side by side: fixed-seed0, fixed-seed1" in said
    assert f"GRPO steps            {6 * 48}" in said and f"at most {6 * count.tokens}" in said
    assert f"about {int(seconds // 60)}m" in said and "3 runs can take" in said
    assert not list(tmp_path.iterdir())


def test_the_study_keeps_within_eight_minutes_a_run_by_the_measured_rates():
    recipe = load("study")
    assert recipe.threads == 1
    assert 5 * 60 < shipped(1).seconds(counts(recipe)) < 7.5 * 60


def test_rates_are_the_seconds_of_finished_runs_over_their_work(finished, tmp_path):
    rates = measure([finished.path], 1)
    seconds = {row["of"]: row["seconds"] for row in read_metrics(finished.path / "metrics.jsonl") if "of" in row}
    count = counts(load(str(finished.path / "recipe.yaml")))
    trained = seconds["stage_0/policy"] + seconds["stage_1/policy"]
    assert rates.training_answer == pytest.approx(trained / count.trained, abs=1e-6)
    assert rates.seconds(count) == pytest.approx(sum(seconds.values()), rel=1e-3)
    assert rates.beginning(count) < rates.seconds(count)
    measured_rates.save(tmp_path / "rates.json", [rates])
    assert json.loads((tmp_path / "rates.json").read_text())[0]["source"] == "run"
    with pytest.raises(RunFolderError, match="there is no run"):
        measure([tmp_path], 1)


def test_runs_that_differ_in_their_engineer_alone_begin_with_the_same_stage(copy, tmp_path, monkeypatch):
    cells = cells_of("smoke", SMALL, ["engineer.name=self,rule"])
    out = copy.path.parent / "out"
    out.mkdir()
    first, second = out / "self", out / "rule"
    copy.path.rename(first)
    assert share_beginning(out, cells[0], cells) is None  # it has begun already
    assert share_beginning(out, cells[1], cells) == "self"
    assert json.loads((second / NOTE).read_text())["from"] == "self"
    other = cells_of("smoke", [*SMALL, "num_agents=3"], ["engineer.name=rule"])[0]
    assert share_beginning(copy.path.parent, other, [other, *cells]) is None
    copy.path = second
    copy.run("engineer.name=rule", resume=True)
    # The driver finds that what was copied is what these inputs give, and goes on from there.
    assert copy.ran() == [
        *("start/usable", "stage_0/engineer", "stage_1/data", "stage_1/policy", "stage_1/eval", "stage_1/usable"),
        "report",
    ]
    steps = [row["step"] for row in read_metrics(second / "metrics.jsonl") if row.get("job") == "stage_0/policy"]
    assert steps == [1, 2, 3]
    assert "copied from the run self" in (second / "report" / "report.md").read_text()


def test_a_stopped_sweep_ends_its_runs(tmp_path, monkeypatch):
    from experiments.ablate.processes import run_processes

    fakes = tmp_path / "fakes"
    fakes.mkdir()
    (fakes / "sleeper.py").write_text(
        "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(fakes))
    monkeypatch.setattr("experiments.ablate.processes.MODULE", "sleeper")
    note = tmp_path / "pid"

    def started(name):
        if name == "second":
            deadline = time.monotonic() + 30
            while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
                time.sleep(0.05)
            raise KeyboardInterrupt
        return []

    with pytest.raises(KeyboardInterrupt):
        run_processes({"first": [str(note)], "second": []}, tmp_path, at_once=2, started=started, ended=lambda *_: None)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_a_sweep_runs_on_a_ray_cluster_as_it_does_in_processes(loops, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed; it is the extra `ray`")
    monkeypatch.setenv("FAKE_FAILS", "rule-seed1")
    outcomes, rows, _ = do(tmp_path / "out", ray="local")
    assert outcomes["rule-seed1"].error == "the lake has thawed; wait for winter"
    assert [name for name, outcome in outcomes.items() if outcome.error is None] == [
        "rule-seed0",
        "self-seed0",
        "self-seed1",
    ]
    assert len(rows) == 3


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed; it is the extra `ray`")
    with pytest.raises(ExperimentError, match="nowhere cannot be reached") as caught:
        run_on_cluster({}, tmp_path, address="nowhere", cores=1, started=lambda _: [], ended=lambda *_: None)
    assert "\n" not in str(caught.value)
