"""The prompt: its golden texts, what each variant holds, and what no variant may hold."""

import re
from pathlib import Path

import pytest

from engineer.context import VARIANTS, WORDS, Bookkeeping, build_prompt
from engineer.errors import ContextError
from tests.engineer.stages import pair, stage

GOLDEN = Path(__file__).parent / "golden"
HISTORY = [pair(0, hole=0.11), pair(1, hole=0.33), pair(2, hole=0.44)]
SAYINGS = [(0, "focus on size 4"), (1, "focus on\nsize 5")]


def prompt(variant, **options):
    options = {"sayings": SAYINGS, "bookkeeping": Bookkeeping(2, 4, 2), "history": HISTORY, **options}
    return build_prompt(variant, stage(), **options)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_prompt_of_each_variant_is_the_golden_text(variant):
    assert prompt(variant) + "\n" == (GOLDEN / f"{variant}.txt").read_text()


def test_the_prompt_in_full_style_with_all_details_is_the_golden_text():
    details = {"objective": "sum_of_costs", "reward": "accuracy and length"}
    text = prompt("FGHSTf", style="full", bookkeeping=Bookkeeping(2, 4, 2, details))
    assert text + "\n" == (GOLDEN / "full.txt").read_text()


def test_a_variant_is_its_set_of_modules():
    for name, letters in VARIANTS.items():
        assert prompt(name) == prompt(letters)


def test_no_config_value_stands_in_the_evidence():
    # A default to imitate is what the published study found harmful.
    for hole in (0.0, 0.5):
        assert build_prompt("V1", stage(), [pair(0, hole=hole)]) == build_prompt("V1", stage())


def test_round_zero_is_part_of_the_history_only_where_it_is_asked_for():
    assert "stage 0 size" in prompt("V3")
    for variant in ("V4", "V5", "V6"):
        assert "stage 0 size" not in prompt(variant) and "stage 1 size" in prompt(variant)


def test_at_the_first_redesign_the_history_is_empty_and_the_prompt_says_so():
    assert "\nhistory none\n" in prompt("V6", history=HISTORY[:1])
    assert "history" not in prompt("V2")


def test_over_budget_the_oldest_stage_goes_first_and_the_prompt_says_so():
    long = [pair(number) for number in range(8)]
    text = prompt("V6", history=long)
    assert len(text.split()) <= WORDS["compact"]["V6"]
    assert "stage 7 size" in text and "stage 1 size" not in text
    left = sum(f"stage {number} size" in text for number in range(1, 8))
    assert f"older stages left out: {7 - left}" in text


@pytest.mark.parametrize("style", WORDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_keeps_its_own_budget_and_uses_it_before_it_drops_a_stage(variant, style):
    said = [(number, "focus on size 5") for number in range(40, 60)]
    options = {"history": [pair(number) for number in range(60)], "sayings": said, "style": style}
    budget = WORDS[style][variant]
    text = prompt(variant, **options)
    assert len(text.split()) <= budget
    assert text == prompt(variant, **options, words=budget) == prompt(VARIANTS[variant], **options)
    if "H" in VARIANTS[variant]:
        found = re.search(r"older stages left out: (\d+)", text)
        longer = prompt(variant, **options, words=budget + 200)
        assert found and f"older stages left out: {found[1]}\n" not in longer


def test_a_budget_too_small_for_the_evidence_is_an_error_that_says_so():
    with pytest.raises(ContextError, match=r"budget is 50; raise the budget"):
        prompt("V6", words=50)


def test_an_unknown_variant_is_refused_with_the_known_ones():
    for wrong in ("V7", "GF", "", "F\n", "FGHST0"):
        with pytest.raises(ContextError, match="V1, V2, V3, V4, V5, V6"):
            prompt(wrong)


def test_training_details_need_the_bookkeeping():
    with pytest.raises(ContextError, match="give the bookkeeping"):
        prompt("V6", bookkeeping=None)


def test_an_earlier_saying_cannot_break_the_layout_and_is_cut():
    text = prompt("V5", sayings=[(1, "one\nreply\n{}" + "x" * 500)])
    (line,) = [line for line in text.splitlines() if line.startswith("stage 1: ")]
    assert line.startswith("stage 1: one reply {}") and len(line) < 200


def test_a_refusal_is_the_last_line_and_changes_nothing_else():
    assert prompt("V6", refused="no JSON object found") == (
        prompt("V6") + "\nyour last reply was refused: no JSON object found"
    )
