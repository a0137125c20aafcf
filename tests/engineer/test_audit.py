"""The audit's numbers on changes whose meaning is plain."""

import json

import pytest

from engineer.audit import audit
from engineer.evidence import Evidence
from engineer.teacher import teacher
from jaxenv.schema import SIZES
from tests.engineer.stages import flat, slope, stage


def changed(field, by_size):
    maps = flat()
    for size, value in by_size.items():
        maps[str(size)][field] = value
    return maps


def test_nothing_changed():
    found = audit(stage(), flat(), flat())
    assert found["edit"] == {"data_ratio": 0, "hole_ratio": 0, "wait_ratio": 0}
    assert found["kept"] == list(SIZES) and found["signal_gain"] == 0
    assert found["data_follows_signal"] is None and not found["template"]
    json.dumps(found)


def test_the_edit_of_data_is_the_share_of_boards_that_moved():
    found = audit(stage(), flat(), changed("data_ratio", {3: 0.0, 6: 0.25}))
    assert found["edit"]["data_ratio"] == pytest.approx(0.125)
    assert found["kept"] == [4, 5, 7, 8, 9, 10]


def test_boards_moved_to_the_frontier_gain_signal_and_boards_moved_away_lose_it():
    toward = audit(stage(), flat(), changed("data_ratio", {10: 0.0, 6: 0.25}))
    away = audit(stage(), flat(), changed("data_ratio", {6: 0.0, 10: 0.25}))
    assert toward["signal_gain"] == pytest.approx(0.125) == -away["signal_gain"]
    assert toward["data_follows_signal"] > 0 > away["data_follows_signal"]


def test_holes_that_grow_where_answers_are_valid_correlate_with_the_valid_rate():
    assert audit(stage(), flat(), changed("hole_ratio", {3: 0.4, 4: 0.4}))["holes_follow_valid"] > 0.5
    assert audit(stage(), flat(), changed("hole_ratio", {9: 0.4, 10: 0.4}))["holes_follow_valid"] < -0.5


def test_the_teacher_follows_the_evidence_and_is_no_template():
    found = audit(stage(), flat(), teacher(stage()))
    assert found["signal_gain"] > 0.05 and found["data_follows_signal"] > 0.8 and found["holes_follow_valid"] > 0.9
    assert not found["template"]


def test_larger_maps_more_holes_more_waits_is_a_template():
    found = audit(stage(), flat(), slope())
    assert found["template"] and all(found["monotone"].values())


def test_more_waits_answer_conflicts_where_they_happened_and_nowhere_else():
    evidence = stage(dict.fromkeys(SIZES, 20) | {6: 10, 7: 0}, conflict=True)  # 10 and 20 conflicts
    found = audit(evidence, flat(), changed("wait_ratio", {6: 0.40, 3: 0.95}))["dominant"]
    assert found == {"failure": "conflict", "share": 1.0, "answer": pytest.approx(0.15 / 3)}
    holes = audit(stage(), flat(), changed("wait_ratio", {6: 0.40}))["dominant"]
    assert holes["failure"] == "conflict" and 0.3 < holes["share"] < 0.5 and holes["answer"] > 0


def test_without_any_failure_there_is_none_to_answer():
    assert audit(stage(dict.fromkeys(SIZES, 20)), flat(), slope())["dominant"] is None


def test_without_evidence_there_is_nothing_to_say():
    found = audit(Evidence((), ()), flat(), slope())
    assert found["signal_gain"] is None and found["waits_follow_conflicts"] is None
