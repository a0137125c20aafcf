"""The vocabularies others rely on, and the package's names."""

import subprocess
import sys

import jax
import pytest

import jaxenv
from jaxenv import Action, Label, Status


def test_the_numbers_of_the_vocabularies_are_fixed():
    # They are stored in Parquet files and read by other programs.
    assert [(a.name, a.value) for a in Action] == [("WAIT", 0), ("UP", 1), ("DOWN", 2), ("LEFT", 3), ("RIGHT", 4)]
    assert [s.name for s in Status] == ["UNDETERMINED", "OPTIMAL", "UNSOLVABLE"]
    assert [label.value for label in Label] == list(range(13))
    assert [label.name for label in Label][Label.OFF_MAP : Label.SUBOPTIMAL] == [
        "OFF_MAP",
        "HOLE",
        "VERTEX_CONFLICT",
        "SWAP_CONFLICT",
        "GOAL_NOT_REACHED",
    ]


@pytest.mark.parametrize("first", ["verify", "generate", "solve"])
def test_a_function_is_not_hidden_by_its_module_of_the_same_name(first):
    code = f"""
import importlib, jaxenv
importlib.import_module("jaxenv.{first}")
assert all(callable(getattr(jaxenv, name)) for name in ("verify", "generate", "solve"))
assert callable(jaxenv.{first})
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = jaxenv.no_such_name


def test_the_errors_are_values_errors_of_one_family():
    for error in (jaxenv.ConfigError, jaxenv.InstanceError, jaxenv.GenerationError):
        assert issubclass(error, jaxenv.JaxenvError) and issubclass(error, ValueError)


def test_x64_is_off():
    assert not jax.config.jax_enable_x64
