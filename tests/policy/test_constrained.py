"""Constrained decoding: whatever the model would say, what it says is JSON of the schema."""

import json
import sys

import pytest

from policy.errors import PolicyError
from policy.samplers import load_sampler

SCHEMA = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 3, "maximum": 10},
        "word": {"enum": ["hole", "wait"]},
        "ratios": {"type": "array", "items": {"type": "number", "enum": [0.25, 0.5]}, "minItems": 1, "maxItems": 9},
    },
    "required": ["size", "word", "ratios"],
    "additionalProperties": False,
}
PROMPTS = ["Design the boards.", "board size3 agents2", "", "size | valid\n3 | 60", "Say anything at all but JSON."]


@pytest.fixture(scope="module")
def sampler():
    return load_sampler("starter", batch=3)


def said(sampler, schema, temperature, seed=1):
    return sampler.generate(PROMPTS, max_tokens=160, temperature=temperature, seed=seed, schema=schema)


@pytest.mark.parametrize("temperature", [0.0, 2.0])
def test_every_answer_is_json_of_the_schema_though_rows_end_at_different_times(sampler, temperature):
    answers = said(sampler, SCHEMA, temperature)
    for answer in answers:
        value = json.loads(answer.text)
        assert not answer.truncated and set(value) == {"size", "word", "ratios"}
        assert value["size"] in range(3, 11) and value["word"] in ("hole", "wait")
        assert 1 <= len(value["ratios"]) <= 9 and set(value["ratios"]) <= {0.25, 0.5}
        assert answer.text == json.dumps(value), "written as json.dumps writes it"
    if temperature:
        assert len({answer.tokens for answer in answers}) > 1


def test_without_a_schema_the_same_model_says_other_things(sampler):
    with pytest.raises(json.JSONDecodeError):
        [json.loads(answer.text) for answer in said(sampler, None, 2.0)]


def test_a_seed_gives_the_same_answers_again(sampler):
    assert said(sampler, SCHEMA, 1.0) == said(sampler, SCHEMA, 1.0)


def test_without_the_library_the_error_says_what_to_install(sampler, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgrammar", None)
    with pytest.raises(PolicyError, match=r"lakeloop\[constrained\]"):
        said(sampler, {"type": "object"}, 0.0)
