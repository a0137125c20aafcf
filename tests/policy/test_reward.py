"""The reward keeps its promises for any lengths, gaps and abilities, and has the values of the design."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import RewardError
from policy.reward import (
    SCHEDULES,
    check_reward,
    compute_reward,
    free_budget,
    length_weight,
    reward_parts,
    smoothstep,
    update_ability,
)

L_MAX = 200
abilities = st.floats(0, 1)
schedules = st.sampled_from(SCHEDULES)
gaps = st.floats(0, 5)
tokens = st.integers(0, L_MAX)
budgets = st.floats(0, 0.6 * L_MAX)


def one(valid, gap, used, truncated=False, budget=40.0, ability=0.3, **options):
    return float(compute_reward([valid], [gap], [used], [truncated], budget, L_MAX, ability, **options)[0])


@given(gaps, tokens, tokens, st.booleans(), st.booleans(), budgets, budgets, abilities, schedules)
def test_with_equal_weights_every_valid_answer_beats_every_invalid_one(
    gap, right_length, wrong_length, right_cut, wrong_cut, right_budget, wrong_budget, ability, schedule
):
    right = one(True, gap, right_length, right_cut, right_budget, ability, schedule=schedule)
    wrong = one(False, math.nan, wrong_length, wrong_cut, wrong_budget, ability, schedule=schedule)
    assert right > wrong


@pytest.mark.parametrize(("rho", "holds"), [(0.5, True), (0.57, True), (0.572, False), (0.9, False)])
def test_the_bound_on_the_length_weight_is_sharp(rho, holds):
    # At ability 0 the adaptive length weight is at its largest, 0.30, and 0.30 = (1 - rho) / (2 - rho) at rho = 4 / 7.
    worst_valid = (1 - 0.30) * (1 - rho) - 0.30
    assert (worst_valid > 0) == holds
    if holds:
        check_reward("adaptive", rho)
        assert one(True, 9.0, L_MAX, True, ability=0.0, rho=rho) == pytest.approx(worst_valid)
        return
    with pytest.raises(RewardError, match=r"lower reward\.rho"):
        check_reward("adaptive", rho)
    check_reward("off", rho)


@given(st.floats(0.001, 5), tokens, budgets, abilities, schedules)
def test_at_equal_length_an_optimal_answer_beats_a_suboptimal_one(gap, used, budget, ability, schedule):
    options = {"budget": budget, "ability": ability, "schedule": schedule}
    assert one(True, 0.0, used, **options) > one(True, gap, used, **options)


@given(st.booleans(), gaps, budgets, st.data(), abilities, schedules)
def test_there_is_no_credit_below_the_free_budget(valid, gap, budget, data, ability, schedule):
    options = {"budget": budget, "ability": ability, "schedule": schedule}
    shorter = data.draw(st.integers(0, math.floor(budget)))
    assert one(valid, gap, shorter, **options) == one(valid, gap, math.floor(budget), **options)


@given(st.booleans(), gaps, gaps, tokens, tokens, budgets, abilities, schedules)
def test_the_reward_never_rises_with_cost_or_length(valid, gap_a, gap_b, used_a, used_b, budget, ability, schedule):
    options = {"budget": budget, "ability": ability, "schedule": schedule}
    better = one(valid, min(gap_a, gap_b), min(used_a, used_b), **options)
    assert better >= one(valid, max(gap_a, gap_b), min(used_a, used_b), **options)
    assert better >= one(valid, min(gap_a, gap_b), max(used_a, used_b), **options)
    assert better >= one(valid, min(gap_a, gap_b), min(used_a, used_b), True, **options)


def test_the_values_are_those_of_the_formula():
    # Ability 0.4 is half way: s = 0.5, w_len = 0.175. Half of the excess is used up at 120 of 40..200 tokens.
    parts = reward_parts(
        [1, 1, 0, 0, 1], [0, 0.5, np.nan, np.nan, 3], [40, 120, 120, 9, 9], [0, 0, 0, 1, 0], 40, L_MAX, 0.4
    )
    assert parts.length_weight == pytest.approx(0.175)
    np.testing.assert_allclose(parts.accuracy, [1, 0.75, 0, 0, 0.5])
    np.testing.assert_allclose(parts.excess, [0, 0.5, 0.5, 1, 0])
    np.testing.assert_allclose(parts.reward, [0.825, 0.825 * 0.75 - 0.0875, -0.175 * 0.25, -0.175 * 0.5, 0.825 * 0.5])


def test_a_valid_answer_without_a_certified_gap_counts_as_invalid():
    assert one(True, math.nan, 120) == one(False, math.nan, 120) < 0


def test_adaptive_asks_for_brevity_first_and_reverse_for_correctness_first():
    ends = {schedule: (length_weight(0.0, schedule), length_weight(1.0, schedule)) for schedule in SCHEDULES}
    assert ends == {
        "adaptive": pytest.approx((0.30, 0.05)),
        "reverse": pytest.approx((0.05, 0.30)),
        "constant": pytest.approx((0.175, 0.175)),
        "off": (0.0, 0.0),
    }
    assert length_weight(0.10) == pytest.approx(0.30)
    assert length_weight(0.70) == pytest.approx(0.05)
    assert [smoothstep(x) for x in (-1, 0, 0.25, 0.5, 1, 2)] == [0, 0, 0.15625, 0.5, 1, 1]


def test_the_free_budget_is_capped_by_the_limit_and_raised_by_thinking():
    np.testing.assert_allclose(free_budget([8, 400], 200), [10, 120])
    np.testing.assert_allclose(free_budget([8, 400], 200, think_budget=50), [60, 120])


def test_the_ability_moves_a_twentieth_of_the_way_to_the_batch():
    assert update_ability(0.4, [1, 1, 0, 1]) == pytest.approx(0.4 + 0.05 * 0.35)
    ability = 0.0
    for _ in range(500):
        ability = update_ability(ability, [True])
    assert ability == pytest.approx(1.0) and ability <= 1.0


def test_the_order_of_a_batch_does_not_change_a_reward():
    columns = [[1, 0, 1], [0.0, np.nan, 0.5], [10, 20, 150], [0, 0, 1]]
    forward = compute_reward(*columns, 30, L_MAX, 0.2)
    backward = compute_reward(*[column[::-1] for column in columns], 30, L_MAX, 0.2)
    np.testing.assert_array_equal(forward, backward[::-1])


def test_the_reward_can_be_pickled_for_another_process():
    assert pickle.loads(pickle.dumps(compute_reward)) is compute_reward


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1], [-0.1], [5], [0], 10, L_MAX, 0.2), "fault of the solver"),
        (([1, 0], [0.0], [5], [0], 10, L_MAX, 0.2), "differ in length"),
        (([[1]], [0.0], [5], [0], 10, L_MAX, 0.2), "'valid' has shape"),
        (([1], [0.0], [-5], [0], 10, L_MAX, 0.2), "negative"),
        (([1], [0.0], [5], [0], L_MAX, L_MAX, 0.2), "below max_tokens 200"),
        (([1], [0.0], [5], [0], 10, L_MAX, 1.2), "within 0 and 1"),
    ],
)
def test_a_malformed_batch_is_refused_with_the_reason(columns, message):
    with pytest.raises(RewardError, match=message):
        compute_reward(*columns)


@pytest.mark.parametrize("options", [{"schedule": "adaptiv"}, {"rho": 1.0}, {"rho": -0.1}, {"gap_max": 0.0}])
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(RewardError):
        check_reward(**options)
