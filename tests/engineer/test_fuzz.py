"""Strangers' text: every reply ends in a legal config or a refusal with a reason, soon, and nothing is raised.

`make check-replies` does the same with 100,000 replies.
"""

import random

import pytest

from engineer.proposal import propose
from tests.engineer.fuzz import KINDS, LEGAL, LIMIT, NASTY, PREVIOUS, checked, conversed, invented, mutated

COUNT = 3000


def fastest(reply):
    """The best of a few tries: on a busy machine even a core's own time varies."""
    return min(checked(reply)[1] for _ in range(5))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    propose(LEGAL, PREVIOUS)


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_reply_ends_soon(name):
    assert fastest(NASTY[name]) < LIMIT


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


def test_invented_replies_of_every_kind_end_in_a_legal_config_or_a_refusal_alone_and_in_conversation():
    draw = random.Random(3)
    seen = dict.fromkeys(KINDS, 0)
    talk = []
    for _ in range(2000):
        kind, reply = invented(draw)
        seen[kind] += 1
        checked(reply)
        talk = [*talk, reply][-4:]
        if not sum(seen.values()) % 4:
            conversed(talk)
    assert min(seen.values()) > 5, seen
