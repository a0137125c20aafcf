"""The reply's schema: made from `jaxenv.schema`, in a short form for small models and as JSON schema for the others."""

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from jaxenv.schema import FIELDS, SIZES

RATIONALE_LIMIT = 400  # characters asked for; a longer one is cut when it is logged


@cache
def reply_model() -> type[BaseModel]:
    """The pydantic model of a whole reply; its sum over the sizes is checked elsewhere."""
    strict = ConfigDict(extra="forbid", allow_inf_nan=False)
    values: dict[str, Any] = {
        field.name: Annotated[
            float, Field(ge=field.minimum, le=field.maximum, description=f"{field.unit}: {field.reason}")
        ]
        for field in FIELDS
    }
    per_size = create_model("Size", __config__=strict, **values)
    sizes: dict[str, Any] = {f"size_{size}": Annotated[per_size, Field(alias=str(size))] for size in SIZES}
    maps = create_model("Maps", __config__=strict, **sizes)
    return create_model(
        "Reply",
        __config__=strict,
        rationale=Annotated[str, Field(max_length=RATIONALE_LIMIT, description="why, in one sentence")],
        maps=Annotated[maps, Field(description="one entry per map size")],
    )


def json_schema() -> dict[str, Any]:
    """The JSON schema, for prompts in full style and for constrained decoding."""
    return reply_model().model_json_schema(by_alias=True)


@cache
def compact_schema() -> str:
    """The same in one line."""
    per_size = ", ".join(
        f'"{field.name}": {field.minimum:g} to {field.maximum:g}{" sum 1" * field.sums_to_one}' for field in FIELDS
    )
    return f'{{"rationale": text, "maps": {{"{SIZES[0]}" to "{SIZES[-1]}": {{{per_size}}}}}}}'
