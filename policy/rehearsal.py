"""Rehearsal: pairs of text whose cross entropy is added to a stage's loss, so that RL does not unlearn them."""

import re
from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from policy.starter import IGNORED, encode, pad_batch

_LIGHT = 0.1  # what a chosen token counts, beside 1 for a settled one


class Rehearsal:
    """Draws a few pairs for every optimiser step.

    `choices` matches the parts of an answer that its author might as well have chosen otherwise. Nearly all of the
    surprise is in them, and their gradient is noise: counting in full it drowns that of the few tokens on which the
    answer's form depends, and disturbs the stage's own.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        pairs: Sequence[tuple[str, str]],
        weight: float,
        batch: int,
        seed: int,
        choices: re.Pattern[str] | None = None,
    ) -> None:
        self.weight = weight
        self._encoded = encode(tokenizer, pairs)
        self._counts = [_counts(tokenizer, answer, choices) for _, answer in pairs]
        self._pad = int(tokenizer.pad_token_id)
        self._batch = batch
        self._random = np.random.default_rng(seed)

    def loss(self, model: PreTrainedModel) -> torch.Tensor:
        """Cross entropy of the answers of the next few pairs, the mean over their tokens by what each counts."""
        rows = self._random.choice(len(self._encoded), size=min(self._batch, len(self._encoded)), replace=False)
        drawn = [self._encoded[row] for row in rows]
        ids, labels = pad_batch(drawn, self._pad)
        counts = torch.zeros(labels.shape)
        for index, row in enumerate(rows):
            counts[index, labels[index] != IGNORED] = torch.from_numpy(self._counts[row])
        # The head is the widest layer, and no prompt has a label.
        answers = ids.shape[1] - min(prompt for _, prompt in drawn)
        logits = model(input_ids=ids.to(model.device), logits_to_keep=answers + 1).logits[:, :-1]
        wanted = labels[:, -answers:].to(model.device).flatten()
        surprise = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), wanted, ignore_index=IGNORED, reduction="none"
        )
        counted = counts[:, -answers:].to(model.device).flatten()
        return (surprise * counted).sum() / counted.sum()


def _counts(tokenizer: PreTrainedTokenizerBase, answer: str, choices: re.Pattern[str] | None) -> np.ndarray:
    """What each token of the answer and its end counts, f32[tokens]."""
    ends = tokenizer(answer + str(tokenizer.eos_token), add_special_tokens=False, return_offsets_mapping=True)
    chosen = [match.span() for match in choices.finditer(answer)] if choices is not None else []
    light = [any(begin < last and first < end for first, last in chosen) for begin, end in ends["offset_mapping"]]
    return np.where(light, _LIGHT, 1.0).astype(np.float32)
