"""A config in which any single value is wrong is refused with the field, the size and the range named."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxenv.config import EnvConfig
from jaxenv.errors import ConfigError
from jaxenv.schema import FIELDS, NUM_AGENTS, SIZES


def right():
    return {"maps": {str(n): {"data_ratio": 0.125, "hole_ratio": 0.2, "wait_ratio": 0.25} for n in SIZES}}


def wrong_values(field):
    """Numbers outside the bounds, no numbers at all, and what JSON readers let through."""
    return st.one_of(
        st.floats(max_value=field.minimum, exclude_max=True),
        st.floats(min_value=field.maximum, exclude_min=True),
        st.sampled_from([math.nan, math.inf, -math.inf, None, True, "0.2", [], {}, 10**400]),
    )


@given(st.data(), st.sampled_from(FIELDS), st.sampled_from(SIZES))
def test_one_wrong_ratio_is_refused_with_its_field_and_size(data, field, size):
    # Known report pydantic#10436: NaN and Infinity are accepted as numbers.
    asked = right()
    asked["maps"][str(size)][field.name] = data.draw(wrong_values(field))
    with pytest.raises(ConfigError, match=rf"{field.name} of size {size} .*{re.escape(field.range)}"):
        EnvConfig.from_json(asked)


@given(wrong_values(NUM_AGENTS) | st.just(2.5))
def test_a_wrong_number_of_agents_is_refused_with_its_field(value):
    with pytest.raises(ConfigError, match=rf"num_agents .*{re.escape(NUM_AGENTS.range)}"):
        EnvConfig.from_json(right(), num_agents=value)


@given(st.sampled_from(FIELDS), st.sampled_from(SIZES), st.booleans())
def test_one_missing_or_misspelt_key_is_refused_with_its_name(field, size, misspelt):
    asked = right()
    value = asked["maps"][str(size)].pop(field.name)
    if misspelt:
        asked["maps"][str(size)][field.name + "s"] = value
    with pytest.raises(ConfigError, match=rf"size {size} lacks '{field.name}'"):
        EnvConfig.from_json(asked)


@given(st.sampled_from(SIZES), st.floats(0.002, 0.8))
def test_shares_that_do_not_sum_to_one_are_refused_with_their_sum(size, more):
    asked = right()
    asked["maps"][str(size)]["data_ratio"] += more
    with pytest.raises(ConfigError, match="data_ratio over sizes 3 to 10 sums to"):
        EnvConfig.from_json(asked)
