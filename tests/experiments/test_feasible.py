"""A config that is taken can be filled, or the engineer is told why not: with the real generator."""

import json
import random

import pytest

import engineer
import jaxenv
from experiments.steps.engineer import feasible, nearest
from tests.engineer.fuzz import invented
from tests.engineer.stages import flat, flat_config

JOB = {"num_agents": 2, "count": 48, "objective": "sum_of_costs", "boards_seed": 5, "stage": 0}
# Five agents do not fit on 3x3 boards of which half is holes.
CROWDED = {**JOB, "num_agents": 5, "count": 16}
PREVIOUS = jaxenv.EnvConfig.from_json({"maps": flat(hole=0.1)}, num_agents=5)
DENSE = flat(data=0.1, hole=0.1)
DENSE["3"] |= {"data_ratio": 0.3, "hole_ratio": 0.5}


def ends_in_boards_or_a_reason(config):
    """The boards of an accepted config, or None with the reason checked."""
    jaxenv.EnvConfig.from_json(config.to_json())
    reason = feasible(JOB)(config)
    if reason is None:
        return True
    assert "boards" in reason and len(reason) < 2000
    mix = nearest(JOB)(config)
    assert mix is None or feasible(JOB)(mix) is None, "the nearest mix has to be one that can be had"
    return False


def accepted(seed, count):
    """Configs of invented replies that were taken, whatever had to be put right."""
    draw = random.Random(seed)
    while count:
        config = engineer.propose(invented(draw)[1], flat_config()).config
        if config is not None:
            count -= 1
            yield config


def test_accepted_replies_can_be_filled_or_have_a_reason():
    filled = [ends_in_boards_or_a_reason(config) for config in accepted(1, 6)]
    assert any(filled)


def test_the_engineer_is_told_what_cannot_be_filled_and_asked_again():
    told = []
    replies = iter([json.dumps({"maps": DENSE}), json.dumps({"maps": flat(hole=0.1)})])

    def prompt(reason):
        told.append(reason)
        return "prompt"

    outcome = engineer.run(lambda messages: next(replies), feasible(CROWDED), nearest(CROWDED), PREVIOUS, prompt)
    assert outcome.level == 4 and [step.get("feasible") for step in outcome.steps] == [False, True, None]
    assert told[0] == "" and "3x3 boards" in told[1] and "lower hole_ratio" in told[1]


def test_a_config_that_stays_infeasible_becomes_the_nearest_mix_that_can_be_had():
    reply = json.dumps({"maps": DENSE})
    outcome = engineer.run(lambda messages: reply, feasible(CROWDED), nearest(CROWDED), PREVIOUS, str, again=0)
    assert outcome.steps[-1]["done"] == "nearest mix that can be had"
    assert feasible(CROWDED)(outcome.config) is None
    assert engineer.maps_of(outcome.config)["3"]["data_ratio"] == 0


@pytest.mark.parametrize("size", ["3", "10"])
def test_boards_of_one_size_alone_can_be_had(size):
    maps = flat(data=0.0)
    maps[size]["data_ratio"] = 1.0
    proposal = engineer.propose(json.dumps({"maps": maps}), flat_config())
    assert proposal.level == 0 and ends_in_boards_or_a_reason(proposal.config)
