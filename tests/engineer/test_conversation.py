"""The conversation: what is asked, how often, and what is done when nothing can be used."""

import json

from engineer.conversation import ASKED_AGAIN, KEPT, run
from engineer.errors import AskError
from engineer.proposal import maps_of
from engineer.reply import render_reply
from jaxenv.config import EnvConfig
from tests.engineer.stages import flat, flat_config, slope, slope_reply

PREVIOUS = flat_config()
BAD = "no idea"
DENSE = render_reply(flat(hole=0.5, wait=1.0))


def hard_to_fill(config):
    return "too few boards of size 3" if float(config.wait_ratio[0]) > 0.9 else None


def talk(replies, *, feasible=hard_to_fill, nearest=lambda config: None, **options):
    """Run on a list of replies (an exception is raised instead of given); also returns the messages of each asking."""
    asked = []
    left = iter(replies)

    def ask(messages):
        asked.append(messages)
        reply = next(left)
        if isinstance(reply, Exception):
            raise reply
        return reply

    outcome = run(ask, feasible, nearest, PREVIOUS, lambda reason: f"PROMPT {reason}".strip(), **options)
    json.dumps(outcome.steps)
    return outcome, asked


def test_a_first_reply_that_can_be_used_ends_the_conversation_at_its_own_level():
    outcome, asked = talk([slope_reply()])
    assert outcome.level == 0 and maps_of(outcome.config) == json.loads(slope_reply())["maps"]
    assert outcome.rationale == "focus on size 10" and len(asked) == 1
    assert outcome.steps[-1]["done"] == "reply used"


def test_a_refused_reply_is_asked_for_again_with_the_reason():
    outcome, asked = talk([BAD, slope_reply()])
    assert outcome.level == ASKED_AGAIN and outcome.config.to_json() != PREVIOUS.to_json()
    assert [messages[-1]["content"] for messages in asked] == ["PROMPT", "PROMPT no JSON object found"]
    assert outcome.steps[0]["refused"] == "no JSON object found" and outcome.steps[0]["reply"] == BAD


def test_a_config_that_the_generator_cannot_fill_is_told_to_the_engineer():
    outcome, asked = talk([DENSE, slope_reply()])
    assert outcome.level == ASKED_AGAIN
    assert asked[1][-1]["content"] == "PROMPT too few boards of size 3"
    assert outcome.steps[0]["feasible"] is False and outcome.steps[1]["feasible"] is True


def test_after_three_more_refusals_the_previous_config_is_kept():
    outcome, asked = talk([BAD] * 9)
    assert (outcome.level, len(asked)) == (KEPT, 4)
    assert outcome.config is PREVIOUS and outcome.rationale == ""
    assert outcome.steps[-1]["done"] == "previous config kept" and len(outcome.steps) == 5


def test_the_nearest_mix_is_taken_if_a_reply_had_no_other_fault():
    mix = EnvConfig.from_json({"maps": slope()})
    seen = []

    def nearest(config):
        seen.append(maps_of(config)["3"]["wait_ratio"])
        return mix

    outcome, _ = talk([BAD, DENSE, DENSE, BAD], nearest=nearest)
    assert outcome.level == ASKED_AGAIN and outcome.config is mix and seen == [1.0]
    assert outcome.steps[-1]["done"] == "nearest mix that can be had"


def test_when_there_is_no_nearest_mix_the_previous_config_is_kept():
    outcome, _ = talk([DENSE] * 4)
    assert outcome.level == KEPT and outcome.config is PREVIOUS


def test_the_nearest_mix_is_not_asked_for_when_the_fault_was_another():
    def nearest(config):
        raise AssertionError

    assert talk([BAD] * 4, nearest=nearest)[0].level == KEPT


def test_a_model_that_cannot_be_asked_counts_as_refused():
    outcome, asked = talk([AskError("the server answered with status 503"), slope_reply()])
    assert outcome.level == ASKED_AGAIN
    assert asked[1][-1]["content"].endswith("status 503")
    assert outcome.steps[0]["refused"] == "the server answered with status 503"


def test_in_a_dialogue_the_model_sees_its_own_replies_and_the_reasons():
    _, asked = talk([BAD, DENSE, slope_reply()], dialogue=True)
    assert [message["role"] for message in asked[2]] == ["user", "assistant", "user", "assistant", "user"]
    assert asked[2][1]["content"] == BAD
    assert "no JSON object found" in asked[2][2]["content"]
    assert "too few boards of size 3" in asked[2][4]["content"]
    assert len(asked[0]) == 1, "earlier messages must not change afterwards"


def test_a_long_reason_and_a_long_reply_are_cut_before_they_are_said_back():
    _, asked = talk(["x" * 50_000, DENSE, DENSE, DENSE], feasible=lambda c: "many\nwords " * 900, dialogue=True)
    assert len(asked[1][1]["content"]) == 4000
    assert len(asked[2][4]["content"]) < 400 and "\n" not in asked[2][4]["content"]
