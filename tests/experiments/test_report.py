"""The report of one run, rebuilt from its folder alone."""

import contextlib
import io
import json
import re
import shlex
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jaxenv
from experiments.gains import gain_of_run
from experiments.reports.labels import LABELS
from experiments.reports.single import write_report
from experiments.stats import holm, mcnemar, wilson
from experiments.tables import read_table


def report_of(run, out, draw=lambda *_: ("a board", "<svg></svg>")):
    return write_report(run, out, draw=draw).read_text()


@pytest.fixture
def text(finished):
    return finished.report.read_text()


def part(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def cells(text, title, row):
    line = next(line for line in part(text, title).splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_first_lines_are_the_gain_of_the_last_checkpoint_over_the_starter(finished, text):
    gain = gain_of_run(finished.path)
    assert gain["valid_end"] > gain["valid_start"] and gain["boards"] == 320
    first = text.splitlines()[2]
    assert f"from {gain['valid_start']:.3f} to {gain['valid_end']:.3f}" in first
    assert f"{100 * gain['valid_gain']:+.1f} points" in first
    assert f"(95 % interval {100 * gain['gain_low']:+.1f} to {100 * gain['gain_high']:+.1f})" in first


def test_the_line_of_a_run_has_the_fields_that_are_asked_for(finished):
    row = gain_of_run(finished.path)
    assert {"engineer", "variant", "seed", "recipe", "valid_start", "valid_end", "gain_low", "gain_high"} <= set(row)
    assert row["command"].startswith("python -m experiments.run")


@pytest.mark.parametrize("name", ["learn", "learn3"])
def test_every_rate_is_that_of_its_rows_with_its_wilson_interval(finished, text, name):
    rows = read_table(finished.path / "stage_1" / "eval" / f"{name}.parquet")
    shown = cells(text, f"Set {name}, size by size", "stage 1")
    assert len(shown) == 8 + 1
    for size, cell in zip([*range(3, 11), None], shown, strict=True):
        here = np.ones(320, bool) if size is None else rows["size"] == size
        acc, opt = (wilson(int(rows[column][here].sum()), int(here.sum())) for column in ("valid", "optimal"))
        value = f"{100 * acc.value:.1f} / {100 * opt.value:.1f}"
        spread = " / ".join(f"{100 * rate.low:.0f}-{100 * rate.high:.0f}" for rate in (acc, opt))
        assert cell.replace("*", "") == f"{value} ({spread})"


def test_the_best_of_each_column_is_in_bold_and_only_that(finished, text):
    rows = [cells(text, "Set learn, size by size", name) for name in ("starter", "stage 0", "stage 1")]
    for column in zip(*rows, strict=True):
        acc = [float(cell.replace("*", "").split(" / ")[0]) for cell in column]
        assert [cell.startswith("**") for cell in column] == [value == max(acc) for value in acc]


def test_published_rows_stand_beside_ours_and_are_marked(text):
    headline = part(text, "Headline")
    assert "| acc / opt in % | 2 agents, `learn` | 3 agents, `learn3` |" in headline
    ours = cells(text, "Headline", r"starter")
    assert len(ours) == 2 and "(" in ours[1]
    assert cells(text, "Headline", "*Qwen3-4B + GRPO, checkpoint as engineer (V6)*") == ["", "*51.67 / 31.67*"]
    assert "another model, other boards" in headline and "RL never trained on 3 agents" in headline


def test_the_tests_are_of_the_same_boards_and_corrected_together(finished, text):
    tables = {
        name: [read_table(finished.path / folder / "eval" / f"{name}.parquet")["valid"] for folder in folders]
        for name in ("learn", "learn3")
        for folders in [("start", "stage_0", "stage_1")]
    }
    tests = [mcnemar(t[a], t[b]) for t in tables.values() for a, b in ((0, 2), (0, 1), (1, 2))]
    adjusted = holm([test.p for test in tests])
    names = [
        f"{pair}, `{n}`" for n in tables for pair in ("starter → stage 1", "starter → stage 0", "stage 0 → stage 1")
    ]
    for name, test, p in zip(names, tests, adjusted, strict=True):
        shown = cells(text, "Is the difference real?", name)
        assert shown[1:3] == [str(test.won), str(test.lost)]
        for cell, value in zip(shown[3:5], (test.p, p), strict=True):
            assert cell.startswith("<") if value < 1e-4 else float(cell) == pytest.approx(value, abs=5e-4)
        needed = [int(cell.replace(",", "")) for cell in shown[5:]]
        assert needed == sorted(needed, reverse=True)


def test_the_configs_asked_for_and_realised_are_shown_for_every_stage(text):
    configs = part(text, "Configs, asked for and realised")
    assert "### Stage 0, drawn at random" in configs
    assert "### Stage 1, written by `self` after stage 0 (level 4)" in configs
    assert len(re.findall(r"^\| 10 \| \d+ \| \d+ \| 0.20 \| 0.21 \| 0.25 \| 0.25 \|$", configs, re.M)) == 2
    assert "8 candidates were left out because their optimum was not certified." in configs


def test_the_frontier_is_share_and_valid_rate_of_the_rows(finished, text):
    rollouts = read_table(finished.path / "stage_1" / "policy" / "rollouts.parquet")
    sizes = json.loads((finished.path / "stage_1" / "data" / "metadata.json").read_text())["realised"]["sizes"]
    share = sizes["5"]["count"] / sum(size["count"] for size in sizes.values())
    valid = rollouts["valid"][rollouts["size"] == 5].mean()
    shown = cells(text, "The frontier", "5x5")[1].split(" / ")
    assert shown[:2] == [f"{100 * share:.1f}", f"{100 * valid:.1f}"] and 0 <= float(shown[2]) <= 100


def test_the_engineers_words_are_shown_whole(text):
    words = part(text, "The engineer's words")
    assert "I would rather ```skate```" in words and "hole_ratio clipped: 0.7 became 0.5" in words
    assert "Design the boards." in words
    assert "oh <well>" in part(text, "Usable replies")


def test_a_learning_curve_counts_each_step_once(text):
    assert re.findall(r"^\| (\d) \| (\d) \| ([\d.]+) \|", part(text, "Learning curve"), re.M) == [
        (stage, step, f"0.{step}") for stage in "01" for step in "123"
    ]


def test_the_verdicts_are_counted_by_kind(finished, text):
    labels = read_table(finished.path / "stage_1" / "eval" / "validation.parquet")["label"]
    for name, label in (("vertex conflict", 7), ("optimal", 11)):
        assert cells(text, "Where it fails", name)[-1] == str(int((labels == label).sum()))


def test_the_labels_are_the_worlds():
    assert [name.replace(" ", "_").upper() for name in LABELS] == [label.name for label in jaxenv.Label]
    assert list(jaxenv.Label) == list(range(len(LABELS)))


def test_the_failures_are_of_different_kinds_and_really_wrong(finished, tmp_path):
    drawn = []

    def draw(run, name, rows, row):
        assert not rows["valid"][row] and name == "validation" and run.path == finished.path
        drawn.append(int(rows["label"][row]))
        return f"board {rows['board'][row]}", f'<svg id="drawn{len(drawn)}"></svg>'

    text = report_of(finished.path, tmp_path / "report", draw)
    assert 2 <= len(drawn) == len(set(drawn)) <= 6
    assert "```\nboard " in text
    page = (tmp_path / "report" / "report.html").read_text()
    assert all(f'<svg id="drawn{number}"></svg>' in page for number in range(1, len(drawn) + 1))


def test_the_report_says_how_the_run_was_made(finished, text):
    manifest = json.loads((finished.path / "manifest.json").read_text())
    made = part(text, "How it was made")
    assert manifest["recipe_hash"] in made and f"numpy {manifest['versions']['numpy']}" in made
    assert '"sessions"' in made and "boards_per_stage: 64" in made
    assert "| stage_0/policy |" in part(text, "Time and memory")


def test_every_command_behind_a_section_prints_its_numbers(finished, text, monkeypatch):
    monkeypatch.chdir(finished.path)
    said = {}
    for section in text.split("\n## ")[1:]:
        if found := re.search(r"These numbers, from their rows.*?```\n(.*?)\n```", section, re.DOTALL):
            python, option, code = shlex.split(found[1])
            assert (python, option) == ("python", "-c")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(code, {})
            said[section.partition("\n")[0]] = out.getvalue()
    assert len(said) >= 9
    rows = read_table(finished.path / "stage_1" / "eval" / "learn.parquet")
    assert str(int(rows["valid"].sum())) in said["Headline"]
    won, lost = (cells(text, "Is the difference real?", "starter → stage 1, `learn`")[i] for i in (1, 2))
    assert said["Is the difference real?"].split() == [won, lost]
    failed = cells(text, "Where it fails", "vertex conflict")[-1]
    assert re.search(rf"^7 +{failed}$", said["Where it fails"], re.M)


def test_the_same_run_gives_the_same_bytes(finished, copy, tmp_path):
    report_of(finished.path, tmp_path / "one")
    for path in copy.path.rglob("*.parquet"):
        path.touch()
    report_of(copy.path, tmp_path / "two")
    for name in ("report.md", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


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


def test_a_run_without_any_change_claims_no_interval_and_no_difference(copy, tmp_path):
    for stage in ("stage_0", "stage_1"):
        shutil.copyfile(copy.path / "start/eval/learn.parquet", copy.path / stage / "eval" / "learn.parquet")
    text = report_of(copy.path, tmp_path / "report")
    first = text.splitlines()[2]
    assert first.startswith("**No difference can be told from chance") and "there is no interval" in first
    assert cells(text, "Is the difference real?", "starter → stage 1, `learn`")[:4] == ["+0.0", "0", "0", "1.000"]


def test_a_run_that_stopped_half_way_still_has_a_report(copy, tmp_path):
    for name in ("stage_1/eval", "stage_1/usable", "stage_0/engineer"):
        (copy.path / name).rename(tmp_path / name.replace("/", "-"))
    text = report_of(copy.path, tmp_path / "report")
    assert "The run is not finished: this is after stage 0." in text
    assert "## The engineer's words" not in text


def test_a_run_without_any_evaluation_still_has_a_report(copy, tmp_path):
    for place in (copy.path / "start/eval", copy.path / "stage_0/eval", copy.path / "stage_1/eval"):
        shutil.rmtree(place)
    assert "has not come far enough" in report_of(copy.path, tmp_path / "report").splitlines()[2]


def test_a_set_with_several_numbers_of_agents_has_a_table_for_each(copy, tmp_path):
    for folder in copy.path.glob("*/eval"):
        table = pq.read_table(folder / "learn.parquet")
        agents = pa.array(np.where(np.arange(len(table)) % 2 == 0, 3, 5), table.schema.field("num_agents").type)
        place = table.column_names.index("num_agents")
        pq.write_table(table.set_column(place, "num_agents", agents), folder / "quick.parquet")
    recipe = copy.path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("  - learn3\n", "  - quick\n"))
    text = report_of(copy.path, tmp_path / "report")
    tables = part(text, "Set quick, size by size").split(" agents: ")
    assert len(tables) == 3 and tables[0].endswith("3") and tables[1].strip().endswith("5")
    rows = read_table(copy.path / "stage_1" / "eval" / "quick.parquet")
    here = rows["valid"][(rows["num_agents"] == 5) & (rows["size"] == 4)]
    column = next(line for line in tables[2].splitlines() if line.startswith("| acc")).split(" | ").index("4x4")
    line = next(line for line in tables[2].splitlines() if line.startswith("| stage 1 |"))
    assert f"{100 * here.mean():.1f} / " in line.split(" | ")[column]
    assert "5 agents, `quick`" in part(text, "Headline") and "*18.67 / 11.00*" in part(text, "Headline")


def test_sampled_answers_are_told_by_their_mean_and_the_best_of_each_board(copy, tmp_path):
    for folder in copy.path.glob("*/eval"):
        rows = read_table(folder / "learn.parquet")
        twice = {name: np.repeat(column, 2) for name, column in rows.items()}
        twice["valid"] = np.tile([True, False], 320)  # every board once right, once wrong
        (folder / "samples").mkdir()
        pq.write_table(pa.table({**twice, "sample": np.tile([1, 2], 320)}), folder / "samples" / "learn.parquet")
    recipe = copy.path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("  samples: 0\n", "  samples: 2\n"))
    shown = cells(report_of(copy.path, tmp_path / "report"), "Sampled answers", "stage 1, `learn`")
    assert shown[1] == "50.0" and shown[2].startswith("100.0 (")
