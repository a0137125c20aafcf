"""The preview of a proposal: the checkpoint answers a few boards drawn from it, as it would in training."""

import json
from typing import Any

import numpy as np

import engineer
import jaxenv
from experiments.steps.generate import boards_of
from jaxenv.batches import take, to_numpy
from policy.prompts import render
from policy.sampling import Sampler
from policy.texts import verify_texts


def preview_of(sampler: Sampler, config: jaxenv.EnvConfig, job: dict[str, Any]) -> engineer.Preview:
    """Groups of answers at temperature 1 to `engineer.preview` boards of the config, of the training split.

    The job is the engineer's step's. The boards are others than those that the next stage will train on, and the
    nearest mix where so few cannot be had as asked.
    """
    source = {
        "num_agents": job["num_agents"],
        "count": job["engineer"]["preview"],
        "objective": job["objective"],
        "split": "train",
        "seed": job["preview_seed"],
        "stage": job["stage"] + 1,
    }
    boards = boards_of(source, json.loads(config.to_json()))
    group = int(job["group"])
    board = np.repeat(np.arange(len(boards)), group)
    instances, solutions = take(to_numpy(boards.instances), board), take(to_numpy(boards.solutions), board)
    completions = sampler.generate(
        render(instances, job["style"], objective=job["objective"]),
        max_tokens=int(job["answer_tokens"]),
        temperature=1.0,
        seed=int(job["preview_seed"]),
    )
    truncated = np.array([completion.truncated for completion in completions])
    verdicts = to_numpy(
        verify_texts(
            instances,
            solutions,
            [completion.text for completion in completions],
            style=job["style"],
            truncated=truncated,
            thinking=job["sampler"]["thinking"],
            objective=job["objective"],
        )
    )
    return engineer.build_preview(
        {
            "size": instances.size,
            "num_agents": instances.num_agents,
            "label": verdicts.label,
            "valid": verdicts.valid,
            "optimal": verdicts.optimal,
            "gap": verdicts.gap,
            "tokens": np.array([completion.tokens for completion in completions]),
            "truncated": truncated,
            "needs_wait": solutions.needs_wait,
            "group": board,
        }
    )
