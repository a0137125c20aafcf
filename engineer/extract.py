"""Finding the reply in what a model wrote: text in, JSON objects out, the last first. Nothing is judged here.

The work is bounded on purpose, for the text is a stranger's: sizes first, then at most so many starts of an object.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

TOTAL_BYTES = 1_000_000  # of a whole reply
ANSWER_BYTES = 16_384  # of what follows the last closing think tag
_STARTS = 256  # opening braces tried, from the end
_WORK = 8 * ANSWER_BYTES  # characters read in all these tries
_REPAIR_COST = 4  # a try without trailing commas reads its text so many times as slowly
_OPENING, _CLOSING = (b"<think>", b"<thinking>"), (b"</think>", b"</thinking>")
_MAPS = '"maps"'
# A whole string, or to the end of the text when it never closes (possessive: no way back, so linear); or such a comma.
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_DIGITS = 40


class RefusedError(Exception):
    """The reply cannot be used, and this is what its author is told."""


@dataclass(frozen=True)
class Found:
    """One JSON object of the reply, or the reason why the text from this brace on cannot be used."""

    value: dict[str, Any] | None
    fault: str
    begin: int
    end: int
    repaired: bool  # it had trailing commas or line breaks inside strings


def answer_of(reply: str) -> tuple[str, bool]:
    """The text after the last closing think tag, and whether anything stood before it.

    Raises:
        RefusedError: the reply is too long, or a think block was never closed.
    """
    if len(reply) > TOTAL_BYTES:
        raise RefusedError(f"the reply is longer than {TOTAL_BYTES} bytes")
    raw = reply.encode("utf-8", "surrogatepass")
    if len(raw) > TOTAL_BYTES:
        raise RefusedError(f"the reply is longer than {TOTAL_BYTES} bytes")
    lower = raw.lower()  # of bytes: ASCII alone, and every place stays what it was
    closed, tag = max((lower.rfind(tag), tag) for tag in _CLOSING)
    if max(lower.rfind(opening) for opening in _OPENING) > closed:
        raise RefusedError("a think block is not closed")
    answer = raw if closed < 0 else raw[closed + len(tag) :]
    if len(answer) > ANSWER_BYTES:
        raise RefusedError(f"the answer is longer than {ANSWER_BYTES} bytes")
    return answer.decode("utf-8", "surrogatepass"), closed >= 0


def objects(answer: str) -> Iterator[Found]:
    """Every object in the text that could be a reply, by its opening brace, the last first."""
    work, start = _WORK, len(answer)
    last_maps = answer.rfind(_MAPS)
    for _ in range(_STARTS):
        start = answer.rfind("{", 0, start)
        if start < 0 or work < 0:
            return
        if start > last_maps:
            continue  # neither a reply nor the beginning of one
        rest = len(answer) - start
        try:
            value, end = _STRICT.raw_decode(answer, start)
            work -= end - start
            yield Found(value, "", start, end, False)
        except RefusedError as refusal:
            work -= rest
            yield Found(None, str(refusal), start, len(answer), False)
        except RecursionError:
            work -= rest
            yield Found(None, "the JSON is nested too deeply", start, len(answer), False)
        except json.JSONDecodeError as error:
            work -= error.pos - start + _REPAIR_COST * rest
            yield from _without_commas(answer, start)


def _without_commas(answer: str, start: int) -> Iterator[Found]:
    rest = _COMMA.sub(lambda match: match[1] or "", answer[start:])
    try:
        value, end = _LENIENT.raw_decode(rest)
        yield Found(value, "", start, start + end, True)
    except RefusedError as refusal:
        yield Found(None, str(refusal), start, len(answer), True)
    except RecursionError:
        yield Found(None, "the JSON is nested too deeply", start, len(answer), True)
    except json.JSONDecodeError:
        yield Found(None, "the JSON object cannot be read", start, len(answer), True)


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in items:
        if key in result:
            raise RefusedError(f"the key {key[:40]!r} occurs twice")
        result[key] = value
    return result


def _constant(name: str) -> NoReturn:
    raise RefusedError(f"{name} is not a number")


def _integer(digits: str) -> int | float:
    # Python refuses to convert very long runs of digits: as a float they are infinite, and refused with their field.
    return int(digits) if len(digits) <= _DIGITS else float(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer)
_LENIENT = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer, strict=False)
