"""The report, rebuilt from run folders alone."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.gains import gain_of_run
from experiments.recipe import load
from experiments.report import rates, write_report
from experiments.stats import wilson
from experiments.tables import read_table


def report_of(run, out, draw=lambda *_: "a board"):
    return write_report(run, out, draw=draw).read_text()


@pytest.fixture
def text(finished):
    return finished.report.read_text()


def test_the_headline_is_the_gain_of_the_last_checkpoint_over_the_starter(finished, text):
    gain = gain_of_run(finished.path)
    assert gain["valid_end"] > gain["valid_start"] and gain["boards"] == 320
    first = text.splitlines()[2]
    assert f"from {gain['valid_start']:.3f} to {gain['valid_end']:.3f}" in first
    assert f"{100 * gain['valid_gain']:+.1f} points" in first
    assert f"(95 % interval {100 * gain['gain_low']:+.1f} to {100 * gain['gain_high']:+.1f})" in first


def test_the_line_of_a_run_has_the_fields_that_are_asked_for(finished):
    assert list(gain_of_run(finished.path))[:9] == [
        "recipe",
        "seed",
        "valid_start",
        "valid_start_small",
        "valid_end",
        "valid_gain",
        "gain_low",
        "gain_high",
        "boards",
    ]
    assert gain_of_run(finished.path)["command"].startswith("python -m experiments.run")


@pytest.mark.parametrize("name", ["learn", "learn3"])
@pytest.mark.parametrize("column", ["valid", "optimal"])
def test_every_rate_is_that_of_its_rows_with_its_wilson_interval(finished, text, name, column):
    rows = read_table(finished.path / "stage_1" / "eval" / f"{name}.parquet")
    part = text.split(f"## `{name}`")[1].split("\n## ")[0].split(f"| {column.capitalize()} |")[1]
    for size in (3, 10):
        here = rows[column][rows["size"] == size]
        rate = wilson(int(here.sum()), len(here))
        line = next(line for line in part.splitlines() if line.startswith(f"| {size}x{size} |"))
        assert line.endswith(f"| {rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f}) |")


def test_three_agents_are_said_to_be_untrained(text):
    assert "## `learn3`: 3 agents (RL never trained on so many; " in text
    assert "## `learn`: 2 agents\n" in text


def test_the_configs_asked_for_and_realised_are_shown_for_every_stage(text):
    part = text.split("## Configs, asked for and realised")[1].split("\n## ")[0]
    assert "### Stage 0, drawn at random" in part and "### Stage 1, written by `self` after stage 0 (level 4)" in part
    assert len(re.findall(r"^\| 10 \| \d+ \| \d+ \| 0.20 \| 0.21 \| 0.25 \| 0.25 \|$", part, re.M)) == 2
    assert "8 candidates were left out because their optimum was not certified." in part


def test_refused_replies_and_repairs_are_shown_whole(text):
    part = text.split("## The engineer's words")[1].split("\n## ")[0]
    assert "Reply 1, refused (no JSON object found):\n\n````\nI would rather ```skate```\n````" in part
    assert "Reply 2, level 2 (values repaired):" in part
    assert "- hole_ratio clipped: 0.7 became 0.5" in part
    assert "| 0 | level 4 (asked again) | 2 times |" in part
    assert "<details><summary>The prompt</summary>\n\n```\nDesign the boards.\n```" in part


def test_the_usable_share_is_given_for_starter_and_every_checkpoint(text):
    part = text.split("## Usable replies")[1].split("\n## ")[0]
    for name in ("starter", "stage 0", "stage 1"):
        assert f"| {name} | 2 | 0.50 (0.09 to 0.91) | 1 | 0 | 0 | 0 | 1 |" in part
    assert "A refused reply of starter (no JSON object):\n\n```\noh <well>\n```" in part


def test_a_learning_curve_counts_each_step_once(finished, text, tmp_path):
    part = text.split("## Learning curve")[1].split("\n## ")[0]
    assert re.findall(r"^\| (\d) \| (\d) \| ([\d.]+) \|", part, re.M) == [
        (stage, step, f"0.{step}") for stage in "01" for step in "123"
    ]


def test_the_failures_are_of_different_kinds_and_really_wrong(finished, tmp_path):
    drawn = []

    def draw(run, name, rows, row):
        assert not rows["valid"][row] and name == "validation"
        drawn.append(int(rows["label"][row]))
        return f"board {rows['board'][row]}"

    text = report_of(finished.path, tmp_path / "report", draw)
    assert 2 <= len(drawn) == len(set(drawn)) <= 4
    assert "```\nboard " in text


def test_the_report_says_how_the_run_was_made(finished, text):
    manifest = json.loads((finished.path / "manifest.json").read_text())
    assert manifest["recipe_hash"] in text and f"numpy {manifest['versions']['numpy']}" in text
    assert "| stage_0/policy |" in text.split("## Time and memory")[1]


def test_the_same_run_gives_the_same_bytes(finished, tmp_path):
    assert report_of(finished.path, tmp_path / "one") == report_of(finished.path, tmp_path / "two")


def test_a_model_that_got_worse_is_said_to_have_got_worse(copy, tmp_path):
    path = copy.path / "stage_1" / "eval" / "learn.parquet"
    rows = read_table(path)
    pq.write_table(pa.table({**rows, "valid": np.zeros(len(rows["valid"]), bool)}), path)
    assert report_of(copy.path, tmp_path / "report").splitlines()[2].startswith("**It got worse")


def test_a_config_that_was_kept_is_marked_level_5(copy, tmp_path):
    path = copy.path / "stage_0" / "engineer" / "proposal.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"level": 5}))
    text = report_of(copy.path, tmp_path / "report")
    assert "### Stage 1, kept from stage 0, for no reply could be used (level 5)" in text
    assert "| 0 | level 5 (the previous config was kept) |" in text


def test_a_run_without_any_change_claims_no_interval(copy, tmp_path):
    for stage in ("stage_0", "stage_1"):
        shutil.copyfile(copy.path / "start/eval/learn.parquet", copy.path / stage / "eval" / "learn.parquet")
    first = report_of(copy.path, tmp_path / "report").splitlines()[2]
    assert first.startswith("**No difference can be told from chance") and "there is no interval" in first


def test_a_run_that_stopped_half_way_still_has_a_report(copy, tmp_path):
    for name in ("stage_1/eval", "stage_1/usable", "stage_0/engineer"):
        (copy.path / name).rename(tmp_path / name.replace("/", "-"))
    text = report_of(copy.path, tmp_path / "report")
    assert "The run is not finished: this is after stage 0." in text
    assert "## The engineer's words" not in text


def test_a_set_with_several_numbers_of_agents_has_a_row_for_each_size_of_each(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    for folder in run.glob("*/eval"):
        table = pq.read_table(folder / "learn.parquet")
        agents = pa.array(np.where(np.arange(len(table)) % 2 == 0, 3, 5), table.schema.field("num_agents").type)
        place = table.column_names.index("num_agents")
        pq.write_table(table.set_column(place, "num_agents", agents), folder / "quick.parquet")
    recipe = load(str(run / "recipe.yaml")).model_copy(update={"num_agents": 2})
    text = rates(run, recipe, "quick")
    assert text.startswith("## `quick`: 3, 5 agents (RL never")
    rows = read_table(run / "stage_1" / "eval" / "quick.parquet")
    here = rows["valid"][(rows["num_agents"] == 5) & (rows["size"] == 4)]
    line = next(line for line in text.splitlines() if line.startswith("| 4x4, 5 agents |"))
    assert line.split(" | ")[1] == str(len(here)) and f"{here.mean():.3f} (" in line.split(" | ")[-1]
