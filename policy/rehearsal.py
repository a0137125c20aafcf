"""Rehearsal: pairs of text whose cross entropy is added to a stage's loss, so that RL does not unlearn them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from policy.starter import IGNORED, encode, pad_batch


class Rehearsal:
    """Draws a few pairs for every optimiser step."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        pairs: Sequence[tuple[str, str]],
        weight: float,
        batch: int,
        seed: int,
    ) -> None:
        self.weight = weight
        self._encoded = encode(tokenizer, pairs)
        self._pad = int(tokenizer.pad_token_id)
        self._batch = batch
        self._random = np.random.default_rng(seed)

    @property
    def random_state(self) -> dict[str, Any]:
        """Where the draws are, to be kept with a checkpoint."""
        return dict(self._random.bit_generator.state)

    @random_state.setter
    def random_state(self, state: dict[str, Any]) -> None:
        self._random.bit_generator.state = state

    def loss(self, model: PreTrainedModel) -> torch.Tensor:
        """Mean cross entropy per answer token of the next few pairs."""
        rows = self._random.choice(len(self._encoded), size=min(self._batch, len(self._encoded)), replace=False)
        ids, labels = pad_batch([self._encoded[row] for row in rows], self._pad)
        logits = model(input_ids=ids.to(model.device)).logits[:, :-1]
        wanted = labels[:, 1:].to(model.device)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORED)
