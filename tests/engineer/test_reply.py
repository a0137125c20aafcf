"""The canonical reply and its schema."""

import json

import pytest
from pydantic import ValidationError

from engineer.reply import describe, render_reply, round_shares
from engineer.schema import compact_schema, json_schema, reply_model
from jaxenv.schema import FIELDS, SIZES
from tests.engineer.stages import flat, slope


def test_the_canonical_reply_of_a_flat_config():
    text = render_reply(flat())
    assert text.startswith(
        '{"rationale": "all sizes alike", "maps": {"3": {"data_ratio": 0.125, "hole_ratio": 0.20, "wait_ratio": 0.25}, '
    )
    assert json.loads(text)["maps"] == flat()


def test_data_ratios_are_written_so_that_they_sum_to_one():
    maps = flat()
    for index, size in enumerate(SIZES):
        maps[str(size)]["data_ratio"] = (index + 1) / 36
    written = json.loads(render_reply(maps))["maps"]
    assert sum(round(1000 * values["data_ratio"]) for values in written.values()) == 1000
    assert all(abs(written[s]["data_ratio"] - maps[s]["data_ratio"]) < 0.001 for s in maps)


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
