"""`EnvConfig`: which boards the generator makes, as a pytree, and the engineer's JSON it is written in."""

import json
import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from jaxenv.errors import ConfigError
from jaxenv.schema import DATA_RATIO, FIELDS, HOLE_RATIO, NUM_AGENTS, SIZES, SUM_TOLERANCE, WAIT_RATIO, Field

# A sum this close to 1 is float32 rounding, not a typo: left alone, so that a config survives its own JSON.
_EXACT = 1e-6

Ratios = float | Sequence[float] | np.ndarray | jax.Array


@struct.dataclass
class EnvConfig:
    """Which boards to make. Fields may be tracers, so only `create` and `from_json` check their values."""

    data_ratio: jax.Array  # f32[8] share of the boards by size 3..10, sums to 1
    hole_ratio: jax.Array  # f32[8] share of cells that are holes
    wait_ratio: jax.Array  # f32[8] share of boards that need a wait
    num_agents: jax.Array  # i32[]

    @classmethod
    def create(
        cls,
        data_ratio: Ratios,
        hole_ratio: Ratios,
        wait_ratio: Ratios,
        num_agents: int | np.integer[Any] | jax.Array = 2,
    ) -> "EnvConfig":
        """Check and build a config. Ratios are one value per size 3..10; one number alone holds for every size."""
        data = _ratios(DATA_RATIO, data_ratio)
        total = math.fsum(data)
        if abs(total - 1) > SUM_TOLERANCE:
            raise ConfigError(
                f"data_ratio over sizes {SIZES[0]} to {SIZES[-1]} sums to {total:g}; "
                f"it must sum to 1 (within {SUM_TOLERANCE:g})"
            )
        if abs(total - 1) > _EXACT:
            data = data / total
        return cls(
            data_ratio=jnp.asarray(data, jnp.float32),
            hole_ratio=jnp.asarray(_ratios(HOLE_RATIO, hole_ratio), jnp.float32),
            wait_ratio=jnp.asarray(_ratios(WAIT_RATIO, wait_ratio), jnp.float32),
            num_agents=jnp.asarray(_agents(num_agents), jnp.int32),
        )

    @classmethod
    def from_json(cls, source: str | Mapping[str, Any], num_agents: int = 2) -> "EnvConfig":
        """Read `{"maps": {"3": {"data_ratio": .., "hole_ratio": .., "wait_ratio": ..}, .. "10": {..}}}`.

        A `rationale` beside `maps` is ignored. Nothing is repaired: a missing size, an unknown or doubled key, or a
        value that is not a finite number in its range is a ConfigError.
        """
        document = _read(source) if isinstance(source, str) else source
        _keys("the config", document, ("maps",), ("rationale",))
        maps = document["maps"]
        _keys("maps", maps, tuple(str(size) for size in SIZES))
        for size in SIZES:
            _keys(f"maps, size {size}", maps[str(size)], tuple(field.name for field in FIELDS))
        columns = {field.name: [maps[str(size)][field.name] for size in SIZES] for field in FIELDS}
        return cls.create(**columns, num_agents=num_agents)

    def to_json(self) -> str:
        """The engineer's JSON text; the number of agents is not part of it."""
        columns = {field.name: np.asarray(getattr(self, field.name)) for field in FIELDS}
        # The shortest decimal that reads back as the same float32: 0.2, not 0.20000000298.
        maps = {
            str(size): {name: float(str(values[k])) for name, values in columns.items()} for k, size in enumerate(SIZES)
        }
        return json.dumps({"maps": maps})


def _ratios(field: Field, values: Any) -> np.ndarray:
    """f64[8], checked: one finite value per size within the field's bounds."""
    if isinstance(values, np.ndarray | jax.Array):
        values = np.asarray(values).tolist()
    if _is_number(values):
        values = [values] * len(SIZES)
    try:
        chex.assert_equal(len(values), len(SIZES))
    except (AssertionError, TypeError):
        raise ConfigError(
            f"{field.name} needs {len(SIZES)} values, one per size {SIZES[0]} to {SIZES[-1]}; got {values!r}"
        ) from None
    for size, value in zip(SIZES, values, strict=True):
        where = f"{field.name} of size {size}"
        if not _is_number(value):
            raise ConfigError(f"{where} is {value!r}; it must be a number from {field.range}")
        try:
            chex.assert_tree_all_finite(float(value))
            chex.assert_scalar_in(float(value), field.minimum, field.maximum)
        except AssertionError:
            raise ConfigError(f"{where} is {float(value)}; it must be a finite number from {field.range}") from None
        except OverflowError:
            raise ConfigError(f"{where} is a whole number too large to read; it must be from {field.range}") from None
    return np.array(values, np.float64)


def _agents(value: Any) -> int:
    if isinstance(value, np.ndarray | jax.Array | np.generic):
        value = np.asarray(value).tolist()
    try:
        chex.assert_type(value, int)
        chex.assert_scalar_in(value, NUM_AGENTS.minimum, NUM_AGENTS.maximum)
    except (AssertionError, TypeError):
        raise ConfigError(f"num_agents is {value!r}; it must be a whole number from {NUM_AGENTS.range}") from None
    return int(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _keys(where: str, value: Any, needed: tuple[str, ...], allowed: tuple[str, ...] = ()) -> None:
    """Refuse anything but a mapping with exactly these keys."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be an object with the keys {', '.join(needed)}; got {value!r}")
    for key in needed:
        if key not in value:
            raise ConfigError(f"{where} lacks {key!r}; it needs {', '.join(needed)}")
    for key in value:
        if key not in needed + allowed:
            near = get_close_matches(str(key), needed + allowed, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(needed + allowed)}"
            raise ConfigError(f"{where} has the unknown key {key!r}; {hint}")


def _read(text: str) -> Any:
    """JSON with no key twice. NaN and Infinity pass here, to be refused with the name of their field."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in items:
            if key in result:
                raise ConfigError(f"the key {key!r} occurs twice in one object; give it once")
            result[key] = value
        return result

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"the config is not valid JSON (line {error.lineno}, column {error.colno}): {error.msg}"
        ) from None
    except RecursionError:
        raise ConfigError("the config is not valid JSON: it is nested too deeply") from None
    except ValueError as error:  # a whole number of thousands of digits; our own errors are ValueErrors too
        raise error if isinstance(error, ConfigError) else ConfigError(f"the config cannot be read: {error}") from None
