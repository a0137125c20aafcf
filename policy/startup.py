"""What is looked at before the first update: the reward's columns, the sharding, that answers come to an end."""

import os
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback, TrainerControl, TrainerState

from policy import ranks
from policy.board_reward import BoardReward, board_column
from policy.errors import PolicyError
from policy.trainer import BoardTrainer

PROBED = 32  # answers, over all processes
CUT_SHARE = 0.8


class StartupChecks(TrainerCallback):
    """Stops a training that cannot learn before it costs anything.

    `probe`: also sample `PROBED` answers to boards spread over the stage, before its first step.
    """

    def __init__(self, reward: BoardReward, *, probe: bool) -> None:
        self.trainer: BoardTrainer | None = None  # which takes its callbacks before it exists
        self._reward, self._probe = reward, probe

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """
        Raises:
            RewardError: a column that the reward needs is incomplete.
            PolicyError: too many answers are cut off, or the model would not be sharded as was asked for.
        """
        assert self.trainer is not None
        check_sharding(self.trainer.accelerator.distributed_type.value)
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices):  # looking changes nothing in what is trained
            batch = next(iter(self.trainer.get_train_dataloader()))
            check_batch(batch, self._reward, args.num_generations)
            if self._probe and state.global_step == 0:
                check_truncation(probe_answers(self.trainer), self._reward)


def check_sharding(kind: str) -> None:
    """`kind` is how accelerate spreads the model (a value of its `DistributedType`).

    Raises:
        PolicyError: the launcher was told to shard the model, and each process holds all of it, as on a CPU.
    """
    if os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true" and kind != "FSDP":  # how `accelerate launch` tells
        raise PolicyError(
            "the launch config shards the model with FSDP, which accelerate does on GPUs only: here every process "
            "would hold all of it; say launch.config=ddp"
        )


def check_batch(batch: list[dict[str, Any]], reward: BoardReward, group: int) -> None:
    """That every row of a batch names its board, and that the rows of all processes are whole groups of one board."""
    column = board_column([row.get("board") for row in batch], len(batch), len(reward.budgets))
    boards = ranks.gather({"board": column})["board"]
    if len(boards) % group or np.any(boards.reshape(-1, group) != boards[::group, None]):
        raise PolicyError("a batch is not made of whole groups of answers to one board; this is a fault of the program")


def probe_answers(trainer: BoardTrainer) -> list[list[int]]:
    """The tokens of one answer to each of a few boards, this process's share of them."""
    count = min(PROBED, len(trainer.train_dataset))
    chosen = np.linspace(0, len(trainer.train_dataset) - 1, count).astype(int)[ranks.index() :: ranks.count()]
    prompts = trainer.train_dataset.select(chosen.tolist())["prompt"]
    tokens, images, fields = trainer._tokenize_prompts(list(prompts))
    answers, _ = trainer._generate_single_turn(tokens, images, fields, 1)
    return answers


def check_truncation(answers: list[list[int]], reward: BoardReward) -> None:
    """
    Raises:
        PolicyError: more than `CUT_SHARE` of the answers of all processes have no end token.
    """
    limit = reward.settings.max_tokens
    cut = np.array([not answer or answer[-1] not in reward.end_tokens for answer in answers])
    every = ranks.gather({"cut": cut})["cut"]
    if every.mean() <= CUT_SHARE:
        return
    raise PolicyError(
        f"{int(every.sum())} of {len(every)} answers were cut off at {limit} tokens before the first step, so there is "
        "next to nothing to learn from: raise reward.max_tokens, let the model not think (sampler.thinking), or begin "
        "with a model that answers in the asked form"
    )
