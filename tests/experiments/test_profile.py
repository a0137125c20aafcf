"""`profile`: every point says what it took, on what, and what a copy of the same bytes would have taken."""

import json
import time

import pytest

from experiments.profiling import measure, points, timed
from experiments.run import main


def test_compilation_is_told_apart_from_median_and_worst():
    delays = iter([0.3, 0.0, 0.01, 0.01, 0.06])
    found = timed(lambda: time.sleep(next(delays)), rounds=3)
    assert found["rounds"] == 3 and found["compile_seconds"] > 0.2
    assert found["seconds_median"] < 0.05 < found["seconds_worst"]


def test_a_point_of_the_verifier_counts_the_bytes_it_reads_and_returns():
    (row,) = measure("verify", [(256, 3, 32)])
    # Five agents' actions, lengths, starts and goals, the map, and six words; ten fields of the verdict.
    assert row["bytes_given"] == 256 * (5 * 32 + 20 + 40 + 40 + 100 + 4 * 6)
    assert row["bytes_returned"] == 256 * 42
    share = row["per_second_median"] / row["bound_per_second"]
    assert row["share_of_copy"] == pytest.approx(share) and row["share_of_traffic"] == pytest.approx(share / 2)
    assert row["per_second_worst"] <= row["per_second_median"]


def test_the_sweep_is_the_one_asked_for():
    chosen = points("verify", 20)
    assert {agents for _, agents, _ in chosen} == {2, 3, 4, 5} and {horizon for *_, horizon in chosen} == {32, 64, 128}
    assert min(chosen)[0] == 1 << 10 and max(chosen)[0] == 1 << 20
    assert {batch for batch, *_ in points("verify", 8)} == {1 << 10}


def test_the_command_leaves_a_line_a_point_a_table_and_a_picture(tmp_path, capfd):
    out = tmp_path / "profile"
    assert main(["profile", "--of", "solve", "--largest", "8", "--trace", "--out", str(out)]) == 0
    lines = [json.loads(line) for line in (out / "points.jsonl").read_text().splitlines()]
    assert [(line["what"], line["batch"], line["agents"]) for line in lines] == [
        ("solve", 256, a) for a in (2, 3, 4, 5)
    ]
    assert all(line["rounds"] >= 10 and line["device"] and line["versions"]["jax"] for line in lines)
    assert capfd.readouterr().out.count("solve") >= 4
    assert any((out / "trace").rglob("*.xplane.pb"))
    pytest.importorskip("matplotlib")
    assert "</svg>" in (out / "throughput.svg").read_text()
