"""The command line: thin, quick to answer, one line for what the user can mend."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import commands, run

ROOT = Path(__file__).resolve().parents[2]


def call(capsys, *arguments):
    code = run.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_names_every_command_and_loads_nothing_heavy():
    code = (
        "import sys, contextlib\n"
        "from experiments import run\n"
        "with contextlib.suppress(SystemExit):\n"
        "    run.main(['--help'])\n"
        "print([m for m in ('numpy', 'pydantic', 'torch', 'jax', 'rich') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for name in run.COMMANDS:
        assert f"  {name} " in done.stdout


def test_every_command_is_listed_and_behind_each_stands_a_function():
    assert set(run.COMMANDS) == {*commands._COMMANDS, "doctor"}


@pytest.mark.parametrize("name", [name for name in run.COMMANDS if name != "doctor"])
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as caught:
        run.main([name, "--help"])
    assert caught.value.code == 0
    assert run.COMMANDS[name] in " ".join(capsys.readouterr().out.split())


def test_an_older_python_is_told_so_in_one_line():
    ast.parse((ROOT / "experiments" / "run.py").read_text(), feature_version=(3, 7))
    code = "import sys, runpy\nsys.version_info = (3, 10, 4)\nrunpy.run_path('experiments/run.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: lakeloop needs Python 3.11 or newer, and this is 3.10\n"


def test_a_dry_run_prints_the_resolved_recipe_and_its_budget_and_writes_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = ["stages=3", "grpo.max_steps=10", "batch={prompts: 16, group: 4, micro: 16}", "engineer.samples=5"]
    options = [part for value in values for part in ("--set", value)]
    code, out, _ = call(capsys, "stage_loop", "--dry-run", "--recipe", "smoke", *options)
    assert code == 0 and "stages: 3" in out
    assert "training completions  1920" in out
    assert "10 a stage of 64 completions in groups of 4" in out
    assert "2 to act on (at most 4 tries each), 20 to measure the usable share" in out
    assert "evaluated completions 288 (validation 24, learn 24, learn3 24; starter and each stage)" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stage_loop", "--set", "sed=1"], "unknown key 'sed' in the recipe; did you mean 'seed'?"),
        (["stage_loop", "--recipe", "smok"], "there is no recipe 'smok'; did you mean 'smoke'?"),
        (["stage_loop", "--resume", "--run", "nowhere"], "there is no run in"),
        (["stage_loop", "--resume"], "there is no run under runs/"),
        (["show", "nowhere"], "there is no run in nowhere"),
        (["watch", "nowhere"], "there is no run in nowhere"),
        (["gains", "nowhere"], "there is no run in nowhere"),
        (["report", "nowhere"], "there is no run in"),
        (["engineer", "--run", "nowhere", "--stage", "0"], "there is no run in nowhere"),
        (["generate", "--benchmark", "learn", "--out", "taken"], "exists already"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    code, _, err = call(capsys, *arguments)
    assert code == 2 and said in err
    assert err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(capsys, finished):
    code, _, err = call(capsys, "gains", str(finished.path), "--out", "/dev/full")
    assert code == 2
    assert err == "error: the disk is full; free some space and go on with --resume\n"


def test_gains_adds_a_json_line_a_run_and_replaces_an_older_one_of_the_same_run(capsys, finished, tmp_path):
    out = tmp_path / "results" / "x.jsonl"
    out.parent.mkdir()
    other = {"recipe": "smoke", "engineer": "self", "variant": "V6", "seed": 77, "valid_gain": 0.5}
    out.write_text(json.dumps(other) + "\n" + json.dumps({**other, "seed": 0}) + "\n")
    for _ in range(2):
        code, _, _ = call(capsys, "gains", str(finished.path), "--out", str(out))
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert code == 0 and [line["seed"] for line in lines] == [77, 0]
        assert lines[0] == other and lines[1]["recipe"] == "smoke" and lines[1]["boards"] == 320


def test_show_lists_every_output_with_what_it_took(capsys, finished):
    code, out, _ = call(capsys, "show", str(finished.path))
    assert code == 0
    for step in finished.steps[:-1]:
        assert step in out
    assert "missing" not in out and str(finished.report) in out


def test_watch_prints_the_metrics_of_a_finished_run_and_ends(capsys, finished):
    code, out, _ = call(capsys, "watch", str(finished.path))
    assert code == 0
    assert "stage_1/policy" in out and out.splitlines()[-1] == str(finished.report)


def test_stage_loop_prints_the_path_of_the_report_last(capsys, finished, tmp_path, monkeypatch):
    from experiments import driver

    recipe = []

    def run_loop(loaded, folder, console):
        recipe.append(loaded)
        return folder.path / "report" / "report.md"

    monkeypatch.setattr(driver, "run_loop", run_loop)
    code, out, _ = call(capsys, "stage_loop", "--recipe", "smoke", "--set", "seed=4", "--run", str(tmp_path / "run"))
    assert code == 0 and recipe[0].seed == 4
    assert out.splitlines()[-1] == str(tmp_path / "run" / "report" / "report.md")


def test_a_resumed_run_goes_on_with_its_own_recipe(capsys, copy, monkeypatch):
    from experiments import driver

    recipes = []
    monkeypatch.setattr(driver, "run_loop", lambda loaded, folder, console: recipes.append(loaded) or folder.path)
    call(capsys, "stage_loop", "--resume", "--run", str(copy.path))
    call(capsys, "stage_loop", "--resume", "--run", str(copy.path), "--set", "seed=9")
    first, second = recipes
    assert (first.name, first.boards_per_stage, first.seed) == ("smoke", 64, 0)
    assert (second.boards_per_stage, second.seed) == (64, 9)
