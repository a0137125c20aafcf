"""The canonical reply and its schema."""

import json
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engineer.proposal import EXACT, propose
from engineer.reply import describe, render_reply, round_shares
from engineer.schema import compact_schema, json_schema, reply_model
from jaxenv.schema import FIELDS, SIZES
from tests.engineer.stages import flat, slope


def test_the_canonical_reply_of_a_flat_config():
    text = render_reply(flat())
    assert text.startswith(
        '{"rationale": "all sizes alike", "maps": {"3": {"data_ratio": 0.13, "hole_ratio": 0.20, "wait_ratio": 0.25}, '
    )
    maps = json.loads(text)["maps"]
    # An eighth has three decimals: the odd hundredths go to the first sizes.
    assert [values.pop("data_ratio") for values in maps.values()] == [0.13] * 4 + [0.12] * 4
    assert all(values == {"hole_ratio": 0.2, "wait_ratio": 0.25} for values in maps.values())


@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=8).filter(any))
def test_whatever_the_shares_the_written_ones_sum_to_exactly_one(weights):
    maps = flat()
    for size, weight in zip(maps, weights, strict=True):
        maps[size]["data_ratio"] = weight
    written = re.findall(r'"data_ratio": ([0-9.]+)', render_reply(maps))
    assert sum(map(Decimal, written)) == 1 and propose(render_reply(maps), None).level == EXACT


def test_data_ratios_are_written_so_that_they_sum_to_one():
    maps = flat()
    for index, size in enumerate(SIZES):
        maps[str(size)]["data_ratio"] = (index + 1) / 36
    written = json.loads(render_reply(maps))["maps"]
    assert sum(round(100 * values["data_ratio"]) for values in written.values()) == 100
    assert all(abs(written[s]["data_ratio"] - maps[s]["data_ratio"]) < 0.01 for s in maps)


def test_units_left_over_go_to_the_largest_remainders_and_ties_to_the_first():
    assert round_shares([1, 1, 1], 10) == [4, 3, 3]
    assert round_shares([0.5, 0.25, 0.25], 2) == [1, 1, 0]
    assert round_shares([0.0, 3.0], 5) == [0, 5]


def test_the_rationale_of_a_config_names_the_size_with_most_boards():
    assert describe(slope()) == "focus on size 10"


def test_the_schema_accepts_a_canonical_reply_and_refuses_what_is_out_of_bounds():
    reply = json.loads(render_reply(slope()))
    reply_model().model_validate(reply)
    reply["maps"]["4"]["hole_ratio"] = 0.51
    with pytest.raises(ValidationError, match=r"maps\.4\.hole_ratio"):
        reply_model().model_validate(reply)


def test_bounds_in_both_forms_of_the_schema_are_those_of_the_world():
    size = json_schema()["$defs"]["Size"]["properties"]
    assert list(size) == [field.name for field in FIELDS]
    for field in FIELDS:
        assert (size[field.name]["minimum"], size[field.name]["maximum"]) == (field.minimum, field.maximum)
        assert f'"{field.name}": {field.minimum:g} to {field.maximum:g}' in compact_schema()
    assert list(json_schema()["$defs"]["Maps"]["properties"]) == [str(size) for size in SIZES]
