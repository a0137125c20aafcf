"""Answers as text, and the plans they hold.

The reader accepts the usual variations of the asked format and never guesses: what can be read in two ways is refused
with a reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxenv.types import Action, Label
from policy import compact, fulltext
from policy.errors import AgentMismatchError, AnswerError, StyleError, TruncatedAnswerError

STYLES = ("full", "compact")
OPEN_THINK, CLOSE_THINK = "<think>", "</think>"

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What was read: the actions of every agent, or None with the reason in `error` and its label in `outcome`."""

    actions: list[list[Action]] | None
    error: str | None
    outcome: Label


def parse_answer(
    text: str | Message | Sequence[Message], num_agents: int, *, style: str = "full", thinking: bool = False
) -> Answer:
    """Read an answer given as a string, as a chat message or as a list of them (the assistant's last one counts).

    `thinking` says that the model was asked to think, so that its answer begins after a closing think tag: a template
    may have put the opening one into the prompt. Reasoning that comes in a field of its own needs no tags.
    """
    check_style(style)
    try:
        plain = final_text(text, thinking=thinking)
        plans = fulltext.parse(plain, num_agents) if style == "full" else compact.parse_compact(plain, num_agents)
    except TruncatedAnswerError as error:
        return Answer(None, str(error), Label.TRUNCATED)
    except AgentMismatchError as error:
        return Answer(None, str(error), Label.AGENT_MISMATCH)
    except AnswerError as error:
        return Answer(None, str(error), Label.PARSE_ERROR)
    return Answer(plans, None, Label.READ)


def check_style(style: str) -> None:
    """Refuse a style that does not exist."""
    if style not in STYLES:
        raise StyleError(f"prompt style {style!r} is unknown; choose one of {', '.join(STYLES)}")


def final_text(text: str | Message | Sequence[Message], *, thinking: bool = False) -> str:
    """What the model says after its thinking."""
    if isinstance(text, str):
        return _after_thinking(text, thinking)
    messages = [text] if isinstance(text, Mapping) else list(text)
    spoken = [message for message in messages if message.get("role", "assistant") == "assistant"]
    if not spoken:
        raise AnswerError("the conversation holds no message of the assistant")
    content = _content(spoken[-1].get("content"))
    reasoning = spoken[-1].get("reasoning_content") or spoken[-1].get("reasoning")
    if not reasoning:
        return _after_thinking(content, thinking)
    if not content.strip():
        raise TruncatedAnswerError("the message holds reasoning and no answer")
    return _after_thinking(content, False)


def _content(content: object) -> str:
    """The text of a message's content: a string, nothing, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    raise AnswerError(f"the message's content is of type {type(content).__name__}, and must be text or a list of parts")


def _after_thinking(text: str, thinking: bool) -> str:
    _, closed, rest = text.rpartition(CLOSE_THINK)
    if OPEN_THINK in rest or (thinking and not closed):
        raise TruncatedAnswerError("the thinking is never closed")
    return rest
