"""One reply, judged: a config with the level of repair it needed, or a refusal with its reason.

Level 0: exact. 1: its format was put right. 2: values were. 3: it was partial, and the rest is the previous config's.
What is refused is never repaired; the last object of a reply that validates is the one that counts.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engineer.extract import Found, RefusedError, answer_of, objects
from engineer.reply import Maps
from engineer.schema import RATIONALE_LIMIT
from jaxenv.config import EnvConfig
from jaxenv.schema import DATA_RATIO, FIELDS, SIZES, SUM_TOLERANCE, Field

EXACT, FORMAT, VALUES, PARTIAL = range(4)
_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?)\s*(%?)\s*")
_SHOWN = 60  # characters of a stranger's text that a message repeats


@dataclass(frozen=True)
class Proposal:
    """What became of a reply. `log` is plain data: what was put right, with before and after, and what was ignored."""

    config: EnvConfig | None  # None when refused
    level: int | None  # None when refused
    log: tuple[dict[str, Any], ...] = ()
    reason: str = ""  # of the refusal
    rationale: str = ""

    def to_json(self) -> dict[str, Any]:
        """The whole as plain data."""
        config = json.loads(self.config.to_json()) if self.config is not None else None
        return {
            "config": config,
            "level": self.level,
            "log": list(self.log),
            "reason": self.reason,
            "rationale": self.rationale,
        }


@dataclass
class _Repairs:
    level: int = EXACT
    log: list[dict[str, Any]] = field(default_factory=list)

    def note(self, level: int, step: str, before: Any = None, after: Any = None) -> None:
        self.level = max(self.level, level)
        self.log.append({"step": step, "level": level, "before": before, "after": after})


def propose(reply: str, previous: EnvConfig | None, *, num_agents: int | None = None) -> Proposal:
    """Judge one reply. Pure, never raises, and a legal config is never moved.

    `previous` gives the values of missing sizes and the number of agents (or `num_agents` does).
    """
    agents = num_agents if num_agents is not None else int(previous.num_agents) if previous is not None else 2
    try:
        answer, thought = answer_of(reply)
    except RefusedError as refusal:
        return _refused(str(refusal))
    faults = []
    kept = None if previous is None else maps_of(previous)
    for found in objects(answer):
        if found.value is not None and "maps" not in found.value:
            continue
        repairs = _Repairs()
        if thought:
            repairs.note(FORMAT, "think block removed")
        try:
            maps, rationale = _validate(found, answer, kept, repairs)
        except RefusedError as refusal:
            faults.append(str(refusal))
            continue
        columns = {f.name: [maps[str(size)][f.name] for size in SIZES] for f in FIELDS}
        config = EnvConfig.create(**columns, num_agents=agents)
        return Proposal(config, repairs.level, tuple(repairs.log), rationale=rationale)
    return _refused(faults[0] if faults else "no JSON object found", faults[1:])


def maps_of(config: EnvConfig) -> Maps:
    """The config's ratios as plain data."""
    maps: Maps = json.loads(config.to_json())["maps"]
    return maps


def _refused(reason: str, others: list[str] | None = None) -> Proposal:
    log = [{"step": "refused", "level": None, "before": text, "after": None} for text in [reason, *(others or [])[:8]]]
    return Proposal(None, None, tuple(log), reason)


def _validate(found: Found, answer: str, kept: Maps | None, repairs: _Repairs) -> tuple[Maps, str]:
    if found.value is None:
        raise RefusedError(found.fault)
    if answer[: found.begin].strip() or answer[found.end :].strip():
        repairs.note(FORMAT, "text around the JSON removed")
    if found.repaired:
        repairs.note(FORMAT, "trailing commas or raw line breaks removed")
    for key in found.value:
        if key not in ("maps", "rationale"):
            repairs.note(EXACT, "unknown key ignored", _short(key))
    maps = _complete(_per_size(found.value["maps"], repairs), kept, repairs)
    _clip(maps, repairs)
    _share_out(maps, repairs)
    rationale = found.value.get("rationale", "")
    if not isinstance(rationale, str):
        repairs.note(EXACT, "rationale ignored: it is no text")
        rationale = ""
    return maps, rationale[:RATIONALE_LIMIT].encode("utf-8", "replace").decode()


def _per_size(value: Any, repairs: _Repairs) -> dict[str, dict[str, float]]:
    """The numbers that are there, by size and field; finite and not negative."""
    if isinstance(value, list):
        value = _from_list(value, repairs)
    if not isinstance(value, dict):
        raise RefusedError("maps is no JSON object")
    found: dict[str, dict[str, float]] = {}
    for size in map(str, SIZES):
        if size not in value:
            continue
        entry = value[size]
        if not isinstance(entry, dict):
            raise RefusedError(f"size {size} is no JSON object")
        found[size] = {f.name: _number(entry[f.name], f, size, repairs) for f in FIELDS if f.name in entry}
        for key in entry:
            if key not in found[size]:
                repairs.note(EXACT, "unknown key ignored", f"{size}.{_short(key)}")
    for key in value:
        if key not in found:
            repairs.note(EXACT, "unknown key ignored", f"maps.{_short(key)}")
    if not any(found.values()):
        raise RefusedError(f"maps has no values for the sizes {SIZES[0]} to {SIZES[-1]}")
    return found


def _from_list(entries: list[Any], repairs: _Repairs) -> dict[str, Any]:
    """A list in the place of `maps`: entries that name their size, or one per size in order."""
    if not all(isinstance(entry, dict) for entry in entries):
        raise RefusedError("maps is a list of something else than JSON objects")
    if all("size" in entry for entry in entries):
        named: dict[str, Any] = {}
        for entry in entries:
            size = _short(entry["size"])
            if size in named:
                raise RefusedError(f"size {size} occurs twice")
            named[size] = {key: value for key, value in entry.items() if key != "size"}
    elif len(entries) == len(SIZES):
        named = {str(size): entry for size, entry in zip(SIZES, entries, strict=True)}
    else:
        raise RefusedError(f"maps is a list of {len(entries)} entries without sizes")
    repairs.note(FORMAT, "list read as maps", len(entries))
    return named


def _number(value: Any, field_: Field, size: str, repairs: _Repairs) -> float:
    where = f"{field_.name} of size {size}"
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value[:200])
        if match is None:
            raise RefusedError(f"{where} is no number")
        number = float(match[1]) / (100 if match[2] else 1)
        repairs.note(FORMAT, f"text read as {where}", _short(value), number if math.isfinite(number) else None)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedError(f"{where} is no number")
    else:
        number = float(value)
    if not math.isfinite(number):
        raise RefusedError(f"{where} is not finite")
    if number < 0:
        raise RefusedError(f"{where} is negative")
    return number + 0.0  # no negative zero


def _complete(found: dict[str, dict[str, float]], kept: Maps | None, repairs: _Repairs) -> Maps:
    maps: Maps = {}
    for size in map(str, SIZES):
        given = found.get(size, {})
        missing = [f.name for f in FIELDS if f.name not in given]
        if missing and kept is None:
            raise RefusedError(f"maps lacks {missing[0]} of size {size}")
        maps[size] = {f.name: given[f.name] if f.name in given else kept[size][f.name] for f in FIELDS}  # type: ignore[index]
        if missing:
            repairs.note(PARTIAL, f"size {size} keeps {', '.join(missing)}", None, {n: maps[size][n] for n in missing})
    return maps


def _clip(maps: Maps, repairs: _Repairs) -> None:
    for size, values in maps.items():
        for field_ in FIELDS:
            before = values[field_.name]
            if field_ is not DATA_RATIO and before > field_.maximum:
                values[field_.name] = field_.maximum
                repairs.note(VALUES, f"{field_.name} of size {size} clipped", before, field_.maximum)


def _share_out(maps: Maps, repairs: _Repairs) -> None:
    before = [values[DATA_RATIO.name] for values in maps.values()]
    largest = max(before)
    if largest == 0:
        raise RefusedError("every data_ratio is 0")
    # In units of the largest: the sum of very large or very small numbers is then safe as well.
    total = math.fsum(value / largest for value in before) * largest
    if abs(total - 1) <= SUM_TOLERANCE and largest <= DATA_RATIO.maximum:
        return
    scaled = np.array([value / largest for value in before])
    after = (scaled / math.fsum(scaled)).tolist()
    for values, share in zip(maps.values(), after, strict=True):
        values[DATA_RATIO.name] = share
    repairs.note(VALUES, "data_ratio divided by its sum", before, after)


def _short(value: Any) -> str:
    return str(value)[:_SHOWN].encode("utf-8", "replace").decode()
