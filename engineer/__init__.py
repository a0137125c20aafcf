"""The environment engineer: evidence in, the config of the next stage out.

Names are imported on first use, so that `import engineer` stays light and touches no device.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engineer.context import Bookkeeping, Pair, build_prompt
    from engineer.errors import ContextError, EngineerError, UnknownEngineerError
    from engineer.evidence import Evidence, Row, build_evidence
    from engineer.reply import render_reply
    from engineer.schema import json_schema
    from engineer.synthetic import examples
    from engineer.teacher import teacher

_HOMES = {
    "Bookkeeping": "context",
    "ContextError": "errors",
    "EngineerError": "errors",
    "Evidence": "evidence",
    "Pair": "context",
    "Row": "evidence",
    "UnknownEngineerError": "errors",
    "build_evidence": "evidence",
    "build_prompt": "context",
    "examples": "synthetic",
    "json_schema": "schema",
    "render_reply": "reply",
    "teacher": "teacher",
}

__all__ = [
    "Bookkeeping",
    "ContextError",
    "EngineerError",
    "Evidence",
    "Pair",
    "Row",
    "UnknownEngineerError",
    "build_evidence",
    "build_prompt",
    "examples",
    "json_schema",
    "render_reply",
    "teacher",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
