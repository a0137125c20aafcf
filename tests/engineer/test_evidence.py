"""Verdicts become counts, and counts the one table that every engineer reads."""

import json

import numpy as np
import pytest

from engineer.evidence import COLUMNS, TRAINING_COLUMNS, Evidence, build_evidence, count_rows, render_table
from jaxenv.types import Label
from tests.engineer.stages import columns, stage


def test_counts_agree_with_a_plain_loop_over_random_verdicts():
    random = np.random.default_rng(3)
    n = 2000
    label = random.integers(1, len(Label) - 1, n)
    valid = label >= Label.SUBOPTIMAL
    table = {
        "size": random.integers(3, 11, n),
        "num_agents": random.integers(2, 4, n),
        "label": label,
        "valid": valid,
        "optimal": label == Label.OPTIMAL,
        "gap": np.where(valid, random.random(n), np.nan),
        "tokens": random.integers(1, 90, n),
        "truncated": label == Label.TRUNCATED,
        "needs_wait": random.random(n) < 0.5,
    }
    rows = count_rows(table)
    assert len(rows) == 16 and sum(row.n for row in rows) == n
    for row in rows:
        here = [i for i in range(n) if table["size"][i] == row.size and table["num_agents"][i] == row.num_agents]
        assert row.n == len(here)
        assert row.labels == tuple(sum(label[i] == kind for i in here) for kind in Label)
        assert row.valid == sum(valid[i] for i in here)
        assert row.gap == pytest.approx(np.mean([table["gap"][i] for i in here if valid[i]]))
        assert row.tokens == pytest.approx(np.mean([table["tokens"][i] for i in here]))
        missing = [i for i in here if table["needs_wait"][i] and label[i] in (7, 8)]
        assert row.waits_missing == len(missing)


def test_groups_that_are_all_wrong_and_all_right_are_told_apart():
    # huggingface/trl/issues/3857: groups with equal rewards give no gradient and look like a bug.
    table = columns({5: 9}, groups=True)
    (row,) = count_rows(table)
    assert (row.groups, row.groups_right, row.groups_wrong) == (5, 2, 2)
    assert (row.wrong_percent, row.right_percent) == (40, 40)


def test_a_group_number_shared_by_scattered_rows_is_one_group():
    table = columns({5: 9}, groups=True)
    order = np.random.default_rng(0).permutation(20)
    assert count_rows({name: column[order] for name, column in table.items()}) == count_rows(table)


def test_validation_and_training_are_told_apart_and_a_size_without_answers_keeps_its_line():
    evidence = build_evidence(columns({3: 10, 4: 0}), columns({4: 20}, groups=True))
    header, agents, three, four = render_table(evidence)
    assert agents == "agents 2"
    assert header.split(" | ")[1].split() == ["validation", *COLUMNS]
    assert three == "3 | 20 50 25 13 0 0 10 10 10 10 10 10 4 | 0 - - - - - - - - - - - - - -"
    assert four == "4 | 20 0 0 - 0 0 20 20 20 20 20 20 5 | 20 100 50 13 0 0 0 0 0 0 0 0 5 0 100"
    assert len(four.split(" | ")[2].split()) == len(TRAINING_COLUMNS)


def test_every_number_of_agents_has_its_own_lines():
    two, three = columns({4: 10}), columns({4: 5}, num_agents=3)
    both = {name: np.concatenate([two[name], three[name]]) for name in two}
    lines = render_table(build_evidence(both))
    assert [line for line in lines if line.startswith("agents")] == ["agents 2", "agents 3"]
    assert [line.split()[3] for line in lines if line.startswith("4 ")] == ["50", "25"]


def test_evidence_survives_its_own_json():
    evidence = stage()
    assert Evidence.from_json(json.loads(json.dumps(evidence.to_json()))) == evidence


def test_percentages_are_rounded_half_up():
    (row,) = count_rows(columns({5: 9}))
    assert [row.percent(count) for count in (0, 1, 20)] == [0, 5, 100]
    (eight,) = count_rows({name: column[:8] for name, column in columns({5: 1}).items()})
    assert eight.percent(1) == 13
