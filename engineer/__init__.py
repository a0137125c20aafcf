"""The environment engineer: evidence in, the config of the next stage out.

Names are imported on first use, so that `import engineer` stays light and touches no device.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engineer.context import Bookkeeping, Pair, build_prompt
    from engineer.conversation import Outcome, run
    from engineer.engineers import OpenAIEngineer, SampledEngineer, rule_engineer
    from engineer.errors import AskError, ContextError, EngineerError, UnknownEngineerError
    from engineer.evidence import Evidence, Row, build_evidence
    from engineer.preview import Preview, build_preview, most_signal
    from engineer.proposal import Proposal, maps_of, propose
    from engineer.reply import render_reply
    from engineer.rules import Situation
    from engineer.schema import json_schema
    from engineer.synthetic import examples

_HOMES = {
    "AskError": "errors",
    "Bookkeeping": "context",
    "ContextError": "errors",
    "EngineerError": "errors",
    "Evidence": "evidence",
    "OpenAIEngineer": "engineers",
    "Outcome": "conversation",
    "Pair": "context",
    "Preview": "preview",
    "Proposal": "proposal",
    "Row": "evidence",
    "SampledEngineer": "engineers",
    "Situation": "rules",
    "UnknownEngineerError": "errors",
    "build_evidence": "evidence",
    "build_preview": "preview",
    "build_prompt": "context",
    "examples": "synthetic",
    "json_schema": "schema",
    "maps_of": "proposal",
    "most_signal": "preview",
    "propose": "proposal",
    "render_reply": "reply",
    "rule_engineer": "engineers",
    "run": "conversation",
}

__all__ = [
    "AskError",
    "Bookkeeping",
    "ContextError",
    "EngineerError",
    "Evidence",
    "OpenAIEngineer",
    "Outcome",
    "Pair",
    "Preview",
    "Proposal",
    "Row",
    "SampledEngineer",
    "Situation",
    "UnknownEngineerError",
    "build_evidence",
    "build_preview",
    "build_prompt",
    "examples",
    "json_schema",
    "maps_of",
    "most_signal",
    "propose",
    "render_reply",
    "rule_engineer",
    "run",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
