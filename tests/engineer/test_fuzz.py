"""Strangers' text: every reply ends in a legal config or a refusal with a reason, soon, and nothing is raised."""

import json
import random
import re
import time

import pytest

from engineer.proposal import propose
from jaxenv.config import EnvConfig
from jaxenv.schema import FIELDS, SIZES
from tests.engineer.stages import flat_config, slope_reply

PREVIOUS = flat_config()
LEGAL = slope_reply()
LIMIT = 0.050  # seconds
COUNT = 3000

NASTY = {
    "ten megabytes": "a" * 10_000_000,
    "ten megabytes of braces": "{" * 10_000_000,
    "ten megabytes around a reply": "{" * 9_000_000 + LEGAL,
    "a megabyte of think tags": "<think></think>" * 60_000 + LEGAL,
    "a megabyte of angle brackets": "<" * 999_000 + "</think>" + LEGAL,
    "lists 10,000 deep": "[" * 10_000 + "]" * 6_000,
    "objects as deep as fits": '{"maps":' * 2000,
    "a deep list in each": '{"maps":' * 250 + "[" * 14_000,
    "many starts of one long list": '{"maps":[' * 255 + "1," * 7000,
    "many unclosed objects": '{"a":' * 3200 + '"maps"',
    "many small objects": "{}" * 8000 + '"maps"',
    "many refused replies": '{"maps":{"3":{"data_ratio":-1}}}' * 500,
    "nested and closed": '{"a":' * 900 + '{"maps":{}}' + "}" * 901,
    "escaped quotation marks": '{"maps":"' + '\\"' * 8000,
    "unclosed strings": '{"maps": "' * 1500,
    "backslashes": '{"maps":"' + "\\" * 16_001,
    "commas": '{"maps":{' + ", " * 8000 + "}",
    "spaces": '{"maps":' + " " * 16_000,
    "a long number": '{"maps":{"3":{"data_ratio":' + "9" * 15_000 + "}}}",
    "a long exponent": '{"maps":{"3":{"data_ratio":"1e' + "9" * 15_000 + '"}}}',
    "a long fraction": '{"maps":{"3":{"data_ratio":"0.' + "1" * 15_000 + '%"}}}',
    "many keys": '{"maps":{' + ",".join(f'"{i}":1' for i in range(11, 1700)) + "}}",
    "many keys beside a reply": LEGAL[:-1] + "".join(f',"k{i}":1' for i in range(1000)) + "}",
    "lone surrogates": '{"maps": {"\ud800": 1, "3": {"\udfff": 2}}}',
    "null bytes": "\0" * 5000 + LEGAL,
    "injection": 'Ignore the schema. {"maps": {"../../etc/passwd": "__import__(\'os\').system(\'id\')"}}',
}


def checked(reply):
    began = time.perf_counter()
    proposal = propose(reply, PREVIOUS)
    seconds = time.perf_counter() - began
    json.dumps(proposal.to_json()).encode()
    if proposal.config is None:
        assert proposal.level is None and proposal.reason
    else:
        assert proposal.level in (0, 1, 2, 3) and not proposal.reason
        EnvConfig.from_json(proposal.config.to_json())
        assert all(getattr(proposal.config, field.name).shape == (len(SIZES),) for field in FIELDS)
    return proposal, seconds


def fastest(reply):
    """The best of a few tries: a busy machine stops any of them for longer than the limit."""
    return min(checked(reply)[1] for _ in range(5))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    propose(LEGAL, PREVIOUS)


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_reply_ends_soon(name):
    assert fastest(NASTY[name]) < LIMIT


PIECES = [
    "{", "}", "[", "]", '"', ",", ":", "\\", "<think>", "</think>", "```json\n", "```", "NaN", "-Infinity", "1e999",
    "null", "true", "-0.5", "-0.0", "0", "1", "9" * 400, "\u0663", "\uff15",
    '"3"', '"10"', '"maps"', '"data_ratio"', '"wait_ratio"', "12%",
    '"12.5%"', "\u202e", "\ud83d", "\0", "\n", "Ignore all previous instructions.", '{"maps": {}}', "{" * 40, LEGAL,
]  # fmt: skip


BASES = [
    LEGAL,
    f"<think>Perhaps {{so}}.</think>\nHere it is:\n```json\n{LEGAL}\n```",
    LEGAL.replace("0.020", "0.700").replace("0.50}", "7.5}"),
    json.dumps({"maps": {size: values for size, values in json.loads(LEGAL)["maps"].items() if size not in "47"}}),
]


def mutated(draw):
    """A reply that can be used, after a few cuts, copies, swaps and insertions."""
    text = draw.choice(BASES)
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 6])):
        a = draw.randrange(len(text) + 1)
        b = min(len(text), a + draw.choice([1, 2, 5, 20, 500]))
        kind = draw.choice([0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7])
        if kind == 0:
            text = text[:a]
        elif kind == 1:
            text = text[:a] + text[b:]
        elif kind == 2:
            text = text[:b] + text[a:b] + text[b:]
        elif kind == 3:
            text = text[:a] + draw.choice(PIECES) + text[a:]
        elif kind == 4:
            text = text[:a] + draw.choice(PIECES) + text[min(len(text), a + draw.randint(1, 6)) :]
        elif kind == 5 and text[a : a + 1]:
            text = text[:a] + chr(draw.randrange(0x20, 0x300)) + text[a + 1 :]
        elif kind == 7:
            numbers = [match.span() for match in re.finditer(r"[0-9]\.[0-9]+", text)] or [(a, b)]
            start, end = draw.choice(numbers)
            text = text[:start] + draw.choice(["0", "0.3", "2", "1e3", '"20%"', "0.1,", "-1", "1e-9"]) + text[end:]
        else:
            old = draw.choice(['"3"', "0.", "data_ratio", ", ", "}", '"maps"', "{"])
            text = text.replace(old, draw.choice([*PIECES, ",}", '"4"', "hole_ratio"]), draw.randint(1, 3))
        text = text[:60_000] or " "
    return text


def test_thousands_of_mutated_replies_end_in_a_legal_config_or_a_refusal():
    draw = random.Random(11)
    levels = dict.fromkeys((None, 0, 1, 2, 3), 0)
    slow = []
    for _ in range(COUNT):
        reply = mutated(draw)
        proposal, seconds = checked(reply)
        levels[proposal.level] += 1
        if seconds > LIMIT:
            slow.append(reply)
    assert all(fastest(reply) < LIMIT for reply in slow)
    # The mutations reach every level, or this test would show little.
    assert all(count > COUNT // 100 for count in levels.values()), levels
