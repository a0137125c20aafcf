"""The rule `teacher`: always legal, and monotone in the evidence it claims to follow."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from engineer.evidence import Evidence
from engineer.reply import render_reply
from engineer.synthetic import _Learner, random_maps
from engineer.teacher import focused_shares, teacher
from jaxenv.config import EnvConfig
from jaxenv.schema import SIZES
from tests.engineer.stages import FALLING, stage


def most(maps):
    return max(SIZES, key=lambda size: maps[str(size)]["data_ratio"])


def test_its_config_is_legal_and_survives_the_decimals_of_the_reply():
    random = np.random.default_rng(0)
    for _ in range(50):
        maps = teacher(_Learner(random).evidence(random_maps(random)))
        again = EnvConfig.from_json(render_reply(maps))
        wanted = EnvConfig.from_json({"maps": maps})
        assert again.to_json() == wanted.to_json()


@pytest.mark.parametrize("focus", SIZES)
def test_shares_sum_to_one_fall_with_the_distance_and_none_is_zero(focus):
    shares = focused_shares(focus)
    assert sum(round(100 * share) for share in shares.values()) == 100
    assert min(shares.values()) > 0
    for near, far in pairwise(SIZES):
        if near >= focus:
            assert shares[near] >= shares[far]
        if far <= focus:
            assert shares[near] <= shares[far]


def test_most_boards_go_to_the_frontier_and_follow_it():
    assert most(teacher(stage(FALLING))) in (5, 6)
    shifted = {size: FALLING.get(size - 3, 20) for size in SIZES}
    assert most(teacher(stage(shifted))) in (8, 9)


def test_when_all_is_wrong_boards_go_to_the_smallest_size_and_when_all_is_right_to_the_largest():
    assert most(teacher(stage(dict.fromkeys(SIZES, 0)))) == 3
    assert most(teacher(stage(dict.fromkeys(SIZES, 20)))) == 10


def test_holes_never_fall_when_the_valid_rate_rises():
    holes = [teacher(stage(dict.fromkeys(SIZES, valid)))["6"]["hole_ratio"] for valid in range(21)]
    assert holes == sorted(holes) and (holes[0], holes[-1]) == (0.05, 0.40)


def test_waits_never_fall_when_more_of_the_failures_are_conflicts():
    few = teacher(stage(dict.fromkeys(SIZES, 8)))["6"]["wait_ratio"]
    many = teacher(stage(dict.fromkeys(SIZES, 8), conflict=True))["6"]["wait_ratio"]
    assert few < many == 0.60


def test_waits_wait_until_something_is_solved():
    waits = [teacher(stage(dict.fromkeys(SIZES, valid), conflict=True))["6"]["wait_ratio"] for valid in range(9)]
    assert waits == sorted(waits) and waits[0] == 0.10


def test_a_row_changes_holes_and_waits_of_its_own_size_only():
    before = teacher(stage(FALLING))
    after = teacher(stage({**FALLING, 7: 20}))
    for size in SIZES:
        same = all(before[str(size)][name] == after[str(size)][name] for name in ("hole_ratio", "wait_ratio"))
        assert same == (size != 7)


def test_it_is_a_function_of_the_percentages_that_the_prompt_shows():
    evidence = stage()
    tenfold = [
        dataclasses.replace(
            row,
            n=10 * row.n,
            valid=10 * row.valid,
            labels=tuple(10 * count for count in row.labels),
            groups=10 * row.groups,
            groups_wrong=10 * row.groups_wrong,
            groups_right=10 * row.groups_right,
        )
        for row in (*evidence.validation, *evidence.training)
    ]
    middle = len(evidence.validation)
    assert teacher(Evidence(tuple(tenfold[:middle]), tuple(tenfold[middle:]))) == teacher(evidence)


def test_sizes_without_any_evidence_are_no_error():
    assert set(teacher(Evidence((), ()))) == {str(size) for size in SIZES}
