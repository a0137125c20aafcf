"""The answer style `full`: one line per agent, `Agent 0: RIGHT, DOWN, WAIT`, and the variations models make of it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from jaxenv.types import Action
from policy.actionwords import DECORATION, actions_of, actions_of_tokens, actions_of_words, tokens_of
from policy.errors import AgentMismatchError, AnswerError

_LABEL = re.compile(
    r"(?<![a-z])(?:agent|robot)[\s_#-]{0,3}([0-9]{1,3})(?:'s)?(?:\s{1,3}(?:plan|actions|moves|path))?[\s\"'`*_)\]]{0,4}[:=]",
    re.IGNORECASE,
)
_AGENT_KEY = re.compile(r"(?:(?:agent|robot)?[\s_#-]{0,3}|a)([0-9]{1,3})", re.IGNORECASE)
_OPENING = re.compile(r"[\[{]")
_SEVERAL = re.compile(r"agents\s+[0-9]+\s*(?:,|and|&|-|to)\s*[0-9]+", re.IGNORECASE)
_STEP = re.compile(r"(?:step|time|turn|\bt)\s*=?\s*[0-9]+", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^(?:[^\w\n]|_)*(?:(?:the )?final (?:answer|plan|solution)|answer)(?: is)?[*_ ]*:|^#+ *(?:final )?answer[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s+")
_MAX_JSON_TRIES = 256  # keeps the reading of a page of brackets short

Lists = dict[int, list[Action]]


def parse(text: str, num_agents: int) -> list[list[Action]]:
    """The actions of agents 0 to num_agents - 1, or an `AnswerError` with the reason."""
    plans = _as_asked(text, num_agents)
    if plans is None:
        part = _answer_part(text.replace("\ufe0f", ""))
        plans = _as_asked(part, num_agents)
        return _freely(part, num_agents) if plans is None else plans
    return plans


def _as_asked(text: str, num_agents: int) -> list[list[Action]] | None:
    """What `_freely` gives, for an answer in the very form that was asked for, in a fifth of the time; else None."""
    lines = text.strip(" \n").split("\n")
    if len(lines) != num_agents:
        return None
    plans = []
    for agent, line in enumerate(lines):
        label = f"agent {agent}:"
        named = line[: len(label)].lower() == label
        actions = actions_of_words(line[len(label) :].strip(" ")) if named else None
        if actions is None:
            return None
        plans.append(actions)
    return plans


def _freely(text: str, num_agents: int) -> list[list[Action]]:
    """The actions of the part of a text that is the answer, in any form that can be read in one way only."""
    found = _json_plans(text)
    plans = found if found is not None else _labelled_plans(text)
    if not plans:
        raise AnswerError("no line names an agent, as 'Agent 0: ...' does")
    extra = sorted(set(plans) - set(range(num_agents)))
    if extra:
        raise AgentMismatchError(f"agent {extra[0]} does not exist: the board has agents 0 to {num_agents - 1}")
    missing = [agent for agent in range(num_agents) if agent not in plans]
    if missing:
        raise AgentMismatchError(f"agent {missing[0]} has no plan")
    return [plans[agent] for agent in range(num_agents)]


def _answer_part(text: str) -> str:
    """The part that the answer itself marks as the answer, or all of it."""
    start = text.rfind("<answer>")
    if start >= 0:
        return text[start + len("<answer>") :].partition("</answer>")[0]
    headings = list(_HEADING.finditer(text))
    if headings and _holds_plan(text[headings[-1].end() :]):
        text = text[headings[-1].end() :]
    fenced = [block for block in _FENCE.findall(text) if _holds_plan(block)]
    return "\n".join(fenced) if fenced else text


def _holds_plan(text: str) -> bool:
    return bool(_LABEL.search(text)) or text.lstrip().startswith(("{", "["))


def _labelled_plans(text: str) -> Lists:
    plans: Lists = {}
    unread: dict[int, AnswerError] = {}
    for agent, listed in _segments(text):
        try:
            actions = actions_of(listed)
        except AnswerError as error:
            if _begins_with_action(listed):
                raise AnswerError(f"agent {agent}: {error}") from None
            unread[agent] = error  # prose about an agent; its list may stand elsewhere
            continue
        if agent in plans and (plans[agent] != actions or len(actions) == 1):
            raise AnswerError(f"agent {agent} is given more than one plan")
        plans[agent] = actions
    for agent, reason in unread.items():
        if agent not in plans:
            raise AnswerError(f"agent {agent}: {reason}")
    return plans


def _segments(text: str) -> Iterator[tuple[int, str]]:
    """Each agent's label with the text that follows it, up to the next label or the end of its list."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        labels = list(_LABEL.finditer(line))
        if not labels:
            _refuse_stray(line)
            continue
        if _STEP.search(line[: labels[0].start()]):
            raise AnswerError("the answer goes step by step, and must give one line for each agent")
        for label, following in zip(labels, [*labels[1:], None], strict=True):
            listed = line[label.end() : following.start() if following else len(line)]
            if following is None:
                # A list may begin below its label, or go on below a comma.
                below = not listed.strip(DECORATION)
                while at < len(lines) and (below or listed.rstrip().endswith(",")) and _is_list(lines[at]):
                    listed += " , " + _BULLET.sub("", lines[at])
                    at += 1
                if below and not listed.strip(DECORATION + ",") and at < len(lines) and not _LABEL.search(lines[at]):
                    listed = lines[at]  # a heading with prose below it is no empty plan
            yield int(label[1]), listed


def _refuse_stray(line: str) -> None:
    """A list without an agent may belong to the one above or to none: refuse to choose."""
    if _SEVERAL.search(line) and ":" in line:
        raise AnswerError("a line speaks for several agents, and must give one line for each")
    if line.strip(DECORATION) and _is_list(line):
        raise AnswerError(f"the actions {line.strip()[:40]!r} belong to no agent")


def _is_list(line: str) -> bool:
    """Whether a line holds actions and nothing else; blank lines and lone brackets do not."""
    if not line.strip(DECORATION + ",") or _LABEL.search(line):
        return False
    try:
        return bool(actions_of(_BULLET.sub("", line)))
    except AnswerError:
        return False


def _begins_with_action(listed: str) -> bool:
    tokens = tokens_of(listed.strip(DECORATION))
    try:
        return bool(tokens and actions_of(tokens[0]))
    except AnswerError:
        return False


def _json_plans(text: str) -> Lists | None:
    """The plans of the one JSON value in the text that holds some; None when there is none."""
    if not _OPENING.search(text):
        return None
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    found: list[Lists] = []
    at = 0
    for _ in range(_MAX_JSON_TRIES):
        opening = _OPENING.search(text, at)
        if not opening:
            break
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except AnswerError:
            raise
        except (ValueError, RecursionError):
            at = opening.end()
            continue
        plans = _plans_of(value)
        if plans is None:
            at = opening.end()
            continue
        found.append(plans)
        text = text[: opening.start()] + "\n" + text[end:]
        at = opening.start()
    if not found:
        return None
    if any(plans != found[0] for plans in found) or _LABEL.search(text):
        raise AnswerError("the answer holds more than one set of plans")
    return found[0]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise AnswerError("a JSON object has the same key twice")
    return dict(pairs)


def _plans_of(value: object) -> Lists | None:
    """Plans from decoded JSON: an object by agent, a list of lists, or a list of objects with agent and actions."""
    if isinstance(value, dict):
        if len(value) == 1 and not _agent_of(next(iter(value))):
            return _plans_of(next(iter(value.values())))
        agents = [_agent_of(key) for key in value]
        if not value or any(agent is None for agent in agents):
            return None
        plans = {
            int(agent[1]): _json_actions(listed) for agent, listed in zip(agents, value.values(), strict=True) if agent
        }
        if len(plans) < len(value):
            raise AnswerError("two keys of a JSON object name the same agent")
        return plans
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(entry, list) and all(isinstance(action, str) for action in entry) for entry in value):
        return {agent: _json_actions(listed) for agent, listed in enumerate(value)}
    if all(isinstance(entry, dict) for entry in value):
        return _plans_of_entries(value)
    return None


def _plans_of_entries(entries: list[dict[str, Any]]) -> Lists | None:
    plans: Lists = {}
    for entry in entries:
        agent = next((entry[key] for key in ("agent", "id", "agent_id") if key in entry), None)
        listed = next((entry[key] for key in ("actions", "moves", "plan") if key in entry), None)
        named = _agent_of(str(agent)) if isinstance(agent, int | str) and not isinstance(agent, bool) else None
        if named is None or listed is None:
            return None
        if int(named[1]) in plans:
            raise AnswerError(f"agent {named[1]} is given more than one plan")
        plans[int(named[1])] = _json_actions(listed)
    return plans


def _agent_of(key: str) -> re.Match[str] | None:
    return _AGENT_KEY.fullmatch(key.strip())


def _json_actions(listed: object) -> list[Action]:
    if isinstance(listed, str):
        return actions_of(listed)
    if isinstance(listed, list) and all(isinstance(action, str) for action in listed):
        return actions_of_tokens([action.strip() for action in listed])
    raise AnswerError("an agent's actions must be a list of words or one text; numbers have no agreed meaning")
