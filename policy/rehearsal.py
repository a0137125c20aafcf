"""Rehearsal: pairs of text whose cross entropy is added to a stage's loss, so that RL does not unlearn them."""

from collections.abc import Sequence

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

    def loss(self, model: PreTrainedModel) -> torch.Tensor:
        """Mean cross entropy per answer token of the next few pairs."""
        rows = self._random.choice(len(self._encoded), size=min(self._batch, len(self._encoded)), replace=False)
        drawn = [self._encoded[row] for row in rows]
        ids, labels = pad_batch(drawn, self._pad)
        # The head is the widest layer, and no prompt has a label.
        answers = ids.shape[1] - min(prompt for _, prompt in drawn)
        logits = model(input_ids=ids.to(model.device), logits_to_keep=answers + 1).logits[:, :-1]
        wanted = labels[:, -answers:].to(model.device)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORED)
