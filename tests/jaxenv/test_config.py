"""Configs: what is accepted, what each error names, and that a config is a value JAX can trace."""

import json

import chex
import jax
import numpy as np
import pytest

from jaxenv import ConfigError, EnvConfig
from jaxenv.schema import FIELDS, NUM_AGENTS, SIZES
from jaxenv.types import MIN_SIZE, Limits

EIGHTHS = [0.125] * 8


def document(**changes):
    """A config as the engineer writes it; `changes` are size_field=value, as in s3_hole_ratio=0.7."""
    maps = {str(n): {"data_ratio": 0.125, "hole_ratio": 0.1, "wait_ratio": 0.25} for n in SIZES}
    for name, value in changes.items():
        size, field = name[1:].split("_", 1)
        maps[size][field] = value
    return {"maps": maps}


def test_the_schema_and_the_arrays_speak_of_the_same_sizes_and_agents():
    assert SIZES[0] == MIN_SIZE and SIZES[-1] == Limits().max_size
    assert NUM_AGENTS.maximum == Limits().max_agents
    assert {field.name for field in FIELDS} | {NUM_AGENTS.name} == set(EnvConfig.__dataclass_fields__)


def test_a_config_holds_one_value_per_size_in_order():
    config = EnvConfig.create([0.5, 0.5, 0, 0, 0, 0, 0, 0], np.linspace(0, 0.35, 8), 0.25, num_agents=np.int64(3))
    chex.assert_shape([config.data_ratio, config.hole_ratio, config.wait_ratio], (8,))
    assert config.hole_ratio.tolist() == pytest.approx(np.linspace(0, 0.35, 8))
    assert config.wait_ratio.tolist() == [0.25] * 8
    assert int(config.num_agents) == 3


@pytest.mark.parametrize(
    ("field", "values", "told"),
    [
        ("hole_ratio", [0.1] * 7 + [0.6], "hole_ratio of size 10 is 0.6; it must be a finite number from 0 to 0.5"),
        ("hole_ratio", [-0.1] + [0.1] * 7, "hole_ratio of size 3 is -0.1; .* from 0 to 0.5"),
        ("wait_ratio", [0, 1.5, 0, 0, 0, 0, 0, 0], "wait_ratio of size 4 is 1.5; .* from 0 to 1"),
        # pydantic/pydantic/issues/10436: NaN and Infinity pass as numbers.
        ("wait_ratio", [0, 0, float("nan"), 0, 0, 0, 0, 0], "wait_ratio of size 5 is nan; .* finite"),
        ("data_ratio", [float("inf")] + [0] * 7, "data_ratio of size 3 is inf; .* finite"),
        ("data_ratio", [1.5, -0.5] + [0] * 6, "data_ratio of size 3 is 1.5; .* from 0 to 1"),
        ("data_ratio", [0.1] * 8, "data_ratio over sizes 3 to 10 sums to 0.8; it must sum to 1"),
        ("data_ratio", [0] * 8, "sums to 0; it must sum to 1"),
        ("data_ratio", [0.5] * 2, "data_ratio needs 8 values, one per size 3 to 10"),
        ("hole_ratio", [0.1] * 9, "hole_ratio needs 8 values"),
        ("hole_ratio", [[0.1]] * 8, r"hole_ratio of size 3 is \[0.1\]; it must be a number"),
        ("hole_ratio", ["0.1"] * 8, "hole_ratio of size 3 is '0.1'; it must be a number"),
        ("wait_ratio", [True] * 8, "wait_ratio of size 3 is True; it must be a number"),
        ("wait_ratio", None, "wait_ratio needs 8 values"),
        ("num_agents", 0, "num_agents is 0; it must be a whole number from 1 to 5"),
        ("num_agents", 6, "num_agents is 6"),
        ("num_agents", 2.0, "num_agents is 2.0"),
        ("num_agents", True, "num_agents is True"),
        ("num_agents", [2, 3], r"num_agents is \[2, 3\]"),
    ],
)
def test_a_wrong_value_is_told_with_its_field_size_and_range(field, values, told):
    good = {"data_ratio": EIGHTHS, "hole_ratio": 0.1, "wait_ratio": 0.1, "num_agents": 2}
    EnvConfig.create(**good)
    with pytest.raises(ConfigError, match=told):
        EnvConfig.create(**{**good, field: values})


@pytest.mark.parametrize("total", [0.9991, 1.0009])
def test_a_sum_within_the_tolerance_is_taken_as_exact(total):
    config = EnvConfig.create([total / 8] * 8, 0, 0)
    assert config.data_ratio.tolist() == EIGHTHS


@pytest.mark.parametrize("total", [0.998, 1.002])
def test_a_sum_beyond_the_tolerance_is_refused(total):
    with pytest.raises(ConfigError, match="sums to"):
        EnvConfig.create([total / 8] * 8, 0, 0)


def test_a_config_survives_its_own_json():
    random = np.random.default_rng(0)
    for agents in (1, 2, 5):
        for _ in range(50):
            config = EnvConfig.create(random.dirichlet([1] * 8), random.random(8) / 2, random.random(8), agents)
            text = config.to_json()
            for source in (text, json.loads(text)):
                chex.assert_trees_all_equal(EnvConfig.from_json(source, num_agents=agents), config)


def test_json_says_what_a_person_wrote():
    maps = json.loads(EnvConfig.from_json(document(s4_hole_ratio=0.3)).to_json())["maps"]
    assert maps == document(s4_hole_ratio=0.3)["maps"]


def test_a_rationale_beside_the_maps_is_ignored():
    chex.assert_trees_all_equal(
        EnvConfig.from_json({**document(), "rationale": "more holes"}), EnvConfig.from_json(json.dumps(document()))
    )


def without(size, field=None):
    source = document()
    del (source["maps"][size] if field else source["maps"])[field or size]
    return source


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (document(s7_hole_ratio=0.51), "hole_ratio of size 7 is 0.51; .* from 0 to 0.5"),
        (document(s7_wait_ratio="a"), "wait_ratio of size 7 is 'a'"),
        (document(s7_wait_ratio=None), "wait_ratio of size 7 is None"),
        (document(s7_hole_ration=0.1), "size 7 has the unknown key 'hole_ration'; did you mean 'hole_ratio'"),
        (without("6"), "maps lacks '6'"),
        (without("6", "wait_ratio"), "size 6 lacks 'wait_ratio'"),
        ({"maps": {**document()["maps"], "11": {}}}, "maps has the unknown key '11'"),
        ({**document(), "note": 1}, "the config has the unknown key 'note'; it takes maps, rationale"),
        ({}, "the config lacks 'maps'"),
        ({"maps": []}, "maps must be an object"),
        ({"maps": {**document()["maps"], "5": 0.1}}, "maps, size 5 must be an object"),
        ("[]", "the config must be an object"),
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        (json.dumps(document(s5_hole_ratio=float("nan"))), "hole_ratio of size 5 is nan; .* finite"),
        (json.dumps(document(s5_hole_ratio=float("-inf"))), "hole_ratio of size 5 is -inf; .* finite"),
        (json.dumps(document()).replace("0.25", "1e999", 1), "wait_ratio of size 3 is inf; .* finite"),
        (
            json.dumps(document()).replace("0.25", "1" + "0" * 400, 1),
            "wait_ratio of size 3 is a whole number too large",
        ),
        (json.dumps(document()).replace("0.25", "1" + "0" * 5000, 1), "the config cannot be read: .* digits"),
        # freedomofpress/securedrop-client/issues/1693: the later of two keys won in silence.
        ('{"maps": {}, "maps": {}}', "the key 'maps' occurs twice"),
        (json.dumps(document()).replace('"hole_ratio"', '"data_ratio"', 1), "the key 'data_ratio' occurs twice"),
    ],
)
def test_json_that_is_not_a_config_is_refused_with_the_reason(source, told):
    with pytest.raises(ConfigError, match=told):
        EnvConfig.from_json(source)


def test_a_new_config_costs_no_trace():
    chex.clear_trace_counter()

    @jax.jit
    @chex.assert_max_traces(n=1)
    def boards_of(config):
        return (config.data_ratio * 100).sum() + config.num_agents

    for agents, holes in ((2, 0.1), (3, 0.2), (5, 0.5)):
        assert float(boards_of(EnvConfig.create(EIGHTHS, holes, 0.5, agents))) == 100 + agents


def test_jax_may_rebuild_a_config_with_anything_in_it():
    # Checking on construction would make every transformation fail, for JAX puts tracers and None there.
    config = EnvConfig.create(EIGHTHS, 0.1, 0.5)
    stacked = jax.tree.map(lambda x: np.stack([np.asarray(x)] * 3), config)
    assert jax.vmap(lambda c: c.hole_ratio.sum())(stacked).shape == (3,)
    assert jax.tree.map(lambda _: None, config) is not None
