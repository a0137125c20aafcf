"""Rehearsal: after a stage's RL a few steps on pairs of text, for what RL on boards makes a model forget."""

from collections.abc import Callable, Sequence
from itertools import repeat

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from policy.starter import Pair, Schedule, encode, train

_PEAK_RATE = 1.5e-4
_WARMUP_STEPS = 4
_BATCH_TOKENS = 4096  # some eight redesigns


def rehearse(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    pairs: Sequence[Pair],
    *,
    steps: int,
    seed: int,
    report: Callable[[int, float, float], None],
) -> None:
    """Cross entropy on the answers of these pairs, in place; `report` gets (step, mean loss, seconds).

    It follows the RL with an optimiser of its own, and is no part of its loss: there the pairs compete with the answers
    for the clipped norm of the gradient and the moments of Adam, and one weight would have to serve both.
    """
    schedule = Schedule(steps, _PEAK_RATE, warmup_steps=_WARMUP_STEPS, batch_tokens=_BATCH_TOKENS)
    pad = int(tokenizer.pad_token_id)
    train(model, repeat(encode(tokenizer, pairs)), schedule, pad=pad, seed=seed, report=report)
