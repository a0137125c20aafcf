"""The comparison of several runs, against the rows it is made of."""

import contextlib
import io
import re
import shlex
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.errors import RunFolderError
from experiments.reports.comparison import write_comparison
from experiments.reports.groups import at_wait_ratio
from experiments.stats import bootstrap_mean, needed, paired_p
from experiments.tables import read_table

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def runs(finished, tmp_path_factory):
    """Two kinds of runs with three seeds each: `rule` loses a few boards that `self` solves."""
    folder = tmp_path_factory.mktemp("runs")
    for engineer in ("self", "rule"):
        for seed in SEEDS:
            run = folder / f"{engineer}-{seed}"
            shutil.copytree(finished.path, run)
            recipe = run / "recipe.yaml"
            text = recipe.read_text().replace("  name: self\n", f"  name: {engineer}\n")
            recipe.write_text(text.replace("\nseed: 0\n", f"\nseed: {seed}\n"))
            path = run / "stage_1" / "eval" / "learn.parquet"
            rows = read_table(path)
            lost = np.random.default_rng([seed, len(engineer)]).random(320) < (0.2 if engineer == "rule" else 0.05)
            pq.write_table(pa.table({**rows, "valid": rows["valid"] & ~lost}), path)
    return folder


@pytest.fixture(scope="module")
def text(runs, tmp_path_factory):
    return write_comparison(sorted(runs.iterdir()), tmp_path_factory.mktemp("out") / "report").read_text()


def part(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def cells(text, title, row):
    line = next(line for line in part(text, title).splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def valid(runs, engineer, seed):
    return read_table(runs / f"{engineer}-{seed}" / "stage_1" / "eval" / "learn.parquet")["valid"]


def test_the_headline_is_the_mean_over_seeds_with_its_bootstrap_interval(runs, text):
    mean = bootstrap_mean([valid(runs, "self", seed).mean() for seed in SEEDS])
    shown = cells(text, "Headline", r"self, V6 (3)")[0]
    assert shown.startswith(f"**{100 * mean.value:.1f} / ")
    assert f"({100 * mean.low:.1f}-{100 * mean.high:.1f} / " in shown
    assert not cells(text, "Headline", "rule (3)")[0].startswith("**")
    assert cells(text, "Headline", "*GPT-5.4*") == ["", "*32.50 / 20.58*"]


def test_pairs_are_tested_over_their_seeds_on_the_same_boards(runs, text):
    rule, own = ([valid(runs, engineer, seed) for seed in SEEDS] for engineer in ("rule", "self"))
    shown = cells(text, "Compared in pairs", "rule → self, V6")
    means = [[column.mean() for column in columns] for columns in (rule, own)]
    difference = np.mean(means[1]) - np.mean(means[0])
    assert shown[0] == "3" and shown[1].startswith(f"{100 * difference:+.1f} (")
    assert float(shown[2]) == pytest.approx(paired_p(*means), abs=1e-3) and shown[3] == shown[2]
    won = sum(int((b & ~a).sum()) for a, b in zip(rule, own, strict=True))
    lost = sum(int((a & ~b).sum()) for a, b in zip(rule, own, strict=True))
    assert shown[4] == f"{won} : {lost}" and shown[5] == "3 of 3"
    spread = np.std(np.subtract(means[1], means[0]), ddof=1)
    assert shown[6:] == [str(needed(float(spread), points)) for points in (0.01, 0.02, 0.05)]


def test_the_first_lines_claim_what_the_tests_allow(runs, text, tmp_path):
    lines = text.splitlines()
    assert lines[2].startswith("**Mean valid rate on `learn` after the last stage: self, V6 ")
    shown = cells(text, "Compared in pairs", "rule → self, V6")
    told = lines[4].startswith(
        f"Told apart over the seeds (paired t test, Holm's correction, 5 %): rule → self, V6 {shown[1]}"
    )
    assert told == (float(shown[3]) < 0.05)
    alone = write_comparison([runs / "rule-0", runs / "self-0"], tmp_path / "alone").read_text()
    assert "nothing can be said of their difference" in alone.splitlines()[4] and "Compared in pairs" not in alone
    for seed in SEEDS:
        shutil.copytree(runs / f"self-{seed}", tmp_path / f"same-{seed}")
        recipe = tmp_path / f"same-{seed}" / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace("  name: self\n", "  name: fixed\n"))
        shutil.copytree(runs / f"self-{seed}", tmp_path / f"self-{seed}")
    same = [tmp_path / f"{name}-{seed}" for name in ("same", "self") for seed in SEEDS]
    equal = write_comparison(same, tmp_path / "equal").read_text()
    assert "The seeds tell no two of them apart" in equal.splitlines()[4]


def test_contexts_are_laid_beside_the_published_ones(runs, text):
    tables = [read_table(runs / f"self-{seed}" / "stage_1" / "eval" / "learn.parquet") for seed in SEEDS]
    means = [np.mean([at_wait_ratio(table, waits) for table in tables]) for waits in (0.25, 0.5, 0.75)]
    shown = cells(text, "Contexts V1 to V6", "self, V6 (3)")
    assert [cell.split(" ")[0] for cell in shown] == [f"{100 * mean:.1f}" for mean in means]
    assert cells(text, "Contexts V1 to V6", "*V6: F G H T (bookkeeping)*") == ["*45.2*", "*35.7*", "*27.3*"]
    assert "rule" not in part(text, "Contexts V1 to V6")


def test_the_rate_at_a_wait_ratio_weights_the_two_kinds_of_boards():
    table = {"valid": np.array([1, 0, 1, 1]), "needs_wait": np.array([True, True, False, False])}
    assert at_wait_ratio(table, 0.25) == 0.25 * 0.5 + 0.75
    assert at_wait_ratio({**table, "needs_wait": np.zeros(4, bool)}, 0.25) is None


def test_every_run_has_its_gain_and_every_kind_its_colour(runs, text):
    for engineer in ("rule", "self"):
        for seed in SEEDS:
            shown = cells(text, "Each run", f"`{engineer}-{seed}`")
            assert shown[:3] == [engineer, "V6", str(seed)]
            assert shown[4] == f"{100 * valid(runs, engineer, seed).mean():.1f}"


def test_equal_budgets_and_boards_are_said_and_unequal_ones_are_warned_of(runs, text, tmp_path):
    assert "differ" not in part(text, "Equal terms")
    other = tmp_path / "other"
    shutil.copytree(runs / "self-0", other)
    recipe = other / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("boards_per_stage: 64", "boards_per_stage: 65"))
    metadata = other / "sets" / "learn" / "metadata.json"
    metadata.write_text('{"content_hash": "other boards"}')
    (tmp_path / "half").mkdir()
    shutil.copytree(runs / "rule-0", tmp_path / "half", dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "half" / "stage_1")
    shutil.copytree(runs / "self-1", tmp_path / "self-1")
    folders = [other, tmp_path / "self-1", tmp_path / "half"]
    told = part(write_comparison(folders, tmp_path / "report").read_text(), "Equal terms")
    assert "The budgets differ" in told and "are not the same in all runs" in told
    assert "left out, for it is not finished: half" in told


def test_every_command_behind_a_section_prints_its_numbers(runs, text, monkeypatch):
    monkeypatch.chdir(runs)
    said = {}
    for section in text.split("\n## ")[1:]:
        if found := re.search(r"These numbers, from their rows.*?```\n(.*?)\n```", section, re.DOTALL):
            _, option, code, *_ = shlex.split(found[1])
            if option == "-c":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(code, {})
                said[section.partition("\n")[0]] = out.getvalue()
    assert {"Headline", "Compared in pairs", "Contexts V1 to V6", "Side by side"} <= set(said)
    difference, won, lost = said["Compared in pairs"].split()
    a, b = valid(runs, "rule", 0), valid(runs, "self", 0)
    assert (int(won), int(lost)) == ((b & ~a).sum(), (a & ~b).sum())
    assert float(difference) == pytest.approx(b.mean() - a.mean())


def test_the_same_runs_give_the_same_bytes_in_whatever_order_they_are_named(runs, tmp_path):
    folders = sorted(runs.iterdir())
    one, two = (write_comparison(order, tmp_path / name) for name, order in (("1", folders), ("2", folders[::-1])))
    for name in ("report.md", "report.html"):
        assert (one.parent / name).read_bytes() == (two.parent / name).read_bytes()


def test_no_finished_run_is_nothing_to_compare(runs, tmp_path):
    shutil.copytree(runs / "self-0", tmp_path / "half")
    shutil.rmtree(tmp_path / "half" / "stage_1")
    with pytest.raises(RunFolderError, match="none of these runs has come to its end"):
        write_comparison([tmp_path / "half"], tmp_path / "report")
