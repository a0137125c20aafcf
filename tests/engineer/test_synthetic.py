"""Invented examples: reproducible, legal, and told apart in nothing but their targets."""

import json

import pytest

from engineer.context import WORDS
from engineer.proposal import EXACT, propose
from engineer.synthetic import examples, taught
from tests.engineer.stages import flat_config


def test_an_example_is_a_function_of_seed_and_place():
    assert examples(5, 4) == examples(5, 8)[:4]
    assert examples(5, 4) != examples(6, 4)


def test_both_kinds_of_targets_answer_the_same_prompts():
    taught, formal = examples(1, 60, "teacher"), examples(1, 60, "format")
    assert [p for p, _ in taught] == [p for p, _ in formal]
    assert sum(a == b for (_, a), (_, b) in zip(taught, formal, strict=True)) < 5


def test_every_target_is_an_exact_reply():
    previous = flat_config()
    for _, reply in examples(2, 25, "teacher") + examples(2, 25, "format"):
        assert propose(reply, previous).level == EXACT


def test_prompts_keep_their_budget_and_reach_all_stages_and_refusals():
    prompts = [prompt for prompt, _ in examples(3, 300)]
    assert max(len(prompt.split()) for prompt in prompts) <= max(WORDS["compact"].values())
    for part in (
        "history none",
        "older stages left out",
        "you said",
        "your last reply was refused",
        "stage 3 of 5",
        "| 0" + 14 * " -",
    ):
        assert any(part in prompt for prompt in prompts), part


def test_format_targets_do_not_depend_on_the_evidence():
    # The same random numbers behind every example: the chance of each focus is the same whatever the evidence says.
    focus = [json.loads(reply)["rationale"] for _, reply in examples(4, 400, "format")]
    assert len(set(focus)) == 8 and max(focus.count(text) for text in set(focus)) < 90


def test_reasons_of_the_examples_are_known_as_taught_and_no_others():
    ends = {prompt.partition("your last reply was refused: ")[2] for prompt, _ in examples(3, 300)} - {""}
    assert len(ends) > 5 and all(map(taught, ends))
    for reason in ("", "the JSON object cannot be read", "the server answered with status 503", "maps lacks size x"):
        assert not taught(reason)


def test_unknown_targets_are_refused():
    with pytest.raises(ValueError, match="teacher, format"):
        examples(0, 1, "best")
