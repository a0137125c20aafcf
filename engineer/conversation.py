"""The conversation around a proposal: a reply that cannot be used is answered with the reason and asked for again.

Levels 0 to 3 are the first reply's own (`engineer.proposal`). 4: a later reply was used, or the nearest mix to one that
the generator could not fill. 5: nothing could be used, and the previous config is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engineer.errors import AskError
from engineer.proposal import Proposal, propose
from jaxenv.config import EnvConfig

ASKED_AGAIN, KEPT = 4, 5
AGAIN = 3  # times a reply is asked for again
_QUOTED = 4000  # characters of a refused reply, and
_REASON = 300  # of the reason, that are said back

Message = dict[str, str]  # "role" and "content"
Ask = Callable[[list[Message]], str]


@dataclass(frozen=True)
class Outcome:
    """What the conversation ended in; `steps` is plain data, one entry for each reply, then one for what was done."""

    config: EnvConfig
    level: int
    rationale: str
    steps: tuple[dict[str, Any], ...]


def run(
    ask: Ask,
    feasible: Callable[[EnvConfig], str | None],
    nearest: Callable[[EnvConfig], EnvConfig | None],
    previous: EnvConfig,
    prompt: Callable[[str], str],
    *,
    dialogue: bool = False,
    again: int = AGAIN,
) -> Outcome:
    """Ask until a reply can be used.

    `feasible` says why the generator cannot fill a config, or None; `nearest` gives the nearest one it can, or None.
    `prompt("")` is the first message and `prompt(reason)` the same after a refusal. With `dialogue` the model is shown
    the whole exchange instead, its own replies and the reasons as messages: for models that can hold a conversation.
    """
    steps: list[dict[str, Any]] = []
    messages = [_user(prompt(""))]
    infeasible: Proposal | None = None  # the last reply whose only fault was that the generator cannot fill it
    for attempt in range(again + 1):
        proposal, reason, step = _try(ask, feasible, previous, messages)
        steps.append({"attempt": attempt, **step})
        if not reason and proposal.config is not None and proposal.level is not None:
            level = proposal.level if attempt == 0 else ASKED_AGAIN
            return _finish(steps, proposal.config, level, proposal.rationale, "reply used")
        if proposal.config is not None:
            infeasible = proposal
        reason = " ".join(reason.split())[:_REASON]
        if dialogue:
            said = {"role": "assistant", "content": step["reply"][:_QUOTED]}
            messages = [*messages, said, _user(f"That cannot be used: {reason}. Reply again with the whole JSON.")]
        else:
            messages = [_user(prompt(reason))]
    if infeasible is not None and infeasible.config is not None:
        mix = nearest(infeasible.config)
        if mix is not None:
            return _finish(steps, mix, ASKED_AGAIN, infeasible.rationale, "nearest mix that can be had")
    return _finish(steps, previous, KEPT, "", "previous config kept")


def _try(
    ask: Ask, feasible: Callable[[EnvConfig], str | None], previous: EnvConfig, messages: Sequence[Message]
) -> tuple[Proposal, str, dict[str, Any]]:
    """One reply: what was proposed, why it cannot be used (or ""), and the record of it."""
    failed = ""
    try:
        reply = ask(list(messages))
    except AskError as error:
        reply, failed = "", str(error)
    proposal = propose(reply, previous)
    unfilled = feasible(proposal.config) if proposal.config is not None else None
    reason = failed or proposal.reason or unfilled or ""
    record = {
        "messages": list(messages),
        "reply": reply.encode("utf-8", "replace").decode(),
        "proposal": proposal.to_json(),
        "refused": reason or None,
        "feasible": None if proposal.config is None else unfilled is None,
    }
    return proposal, reason, record


def _finish(steps: list[dict[str, Any]], config: EnvConfig, level: int, rationale: str, done: str) -> Outcome:
    record = {"done": done, "level": level, "config": Proposal(config, level).to_json()["config"]}
    return Outcome(config, level, rationale, (*steps, record))


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
