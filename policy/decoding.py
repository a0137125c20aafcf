"""Sampling with Hugging Face transformers that does not wait for the longest answer.

`generate` runs a batch until its last row has ended, and copies the whole cache for every token. Here it is called for
a few tokens at a time on the rows that still run, with a cache that has room for them.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import DynamicCache, GenerationConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

from policy.constrained import Grammar

STRIDE = 12  # tokens between two looks at which rows have ended


class _RoomyLayer(DynamicLayer):
    """A layer's keys and values at the front of tensors with room for the next `STRIDE` tokens."""

    keys: torch.Tensor
    values: torch.Tensor
    _room: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the new states, both [B, heads, new, width]; returns all of them."""
        past = self.get_seq_length()
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        held: tuple[torch.Tensor, torch.Tensor] = (self.keys, self.values)
        end = past + key_states.shape[2]
        if self._room is None or end > self._room[0].shape[2]:
            batch, heads, _, width = key_states.shape
            self._room = (
                key_states.new_empty(batch, heads, end + STRIDE, width),
                value_states.new_empty(batch, heads, end + STRIDE, value_states.shape[3]),
            )
            if past:
                for room, states in zip(self._room, held, strict=True):
                    room[:, :, :past] = states
        self._room[0][:, :, past:end] = key_states
        self._room[1][:, :, past:end] = value_states
        self.keys, self.values = (states[:, :, :end] for states in self._room)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep these rows."""
        super().batch_select_indices(indices)
        self._room = None


def sample(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    config: GenerationConfig,
    max_tokens: int,
    *,
    batch: int,
    grammar: Grammar | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[int]]:
    """The answers' tokens, each up to its end token (included) or to `max_tokens`; `config` says how tokens are chosen.

    `grammar` says which answers there can be, all of them where it is None.

    Prompts of similar length share a batch. A batch's draws are those of one call of `generate` until a row has ended;
    greedy answers are the same throughout.
    """
    order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
    answers: dict[int, list[int]] = {}
    for begin in range(0, len(order), batch):
        rows = order[begin : begin + batch]
        together, _ = _sample_batch(model, [prompts[row] for row in rows], config, max_tokens, grammar)
        answers.update(zip(rows, together, strict=True))
        if progress is not None:
            progress(len(answers), len(order))
    return [answers[row] for row in range(len(prompts))]


def sample_with_log_probs(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], config: GenerationConfig, max_tokens: int, *, batch: int
) -> tuple[list[list[int]], list[list[float]]]:
    """The answers that `sample` gives, and the log-probability of each token under the model at the temperature.

    What top-p or top-k cut away is not taken into account: these are the probabilities that a trainer works with.
    """
    order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
    answers: dict[int, tuple[list[int], list[float]]] = {}
    for begin in range(0, len(order), batch):
        rows = order[begin : begin + batch]
        said, scores = _sample_batch(
            model, [prompts[row] for row in rows], config, max_tokens, None, with_log_probs=True
        )
        answers.update(zip(rows, zip(said, scores, strict=True), strict=True))
    return [answers[row][0] for row in range(len(prompts))], [answers[row][1] for row in range(len(prompts))]


def _sample_batch(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    config: GenerationConfig,
    max_tokens: int,
    grammar: Grammar | None,
    *,
    with_log_probs: bool = False,
) -> tuple[list[list[int]], list[list[float]]]:
    ends = torch.tensor(config.eos_token_id, device=model.device).reshape(-1)
    longest = max(len(prompt) for prompt in prompts)
    ids = torch.full((len(prompts), longest), int(config.pad_token_id))
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt) :] = torch.as_tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    ids, mask = ids.to(model.device), mask.to(model.device)
    cache, rows = _new_cache(model), torch.arange(len(prompts))
    answers: list[list[int]] = [[] for _ in prompts]
    scores: list[list[float]] = [[] for _ in prompts]
    config = copy.deepcopy(config)
    config.return_dict_in_generate, config.output_logits = True, with_log_probs
    mask_logits = grammar.mask(len(prompts), longest) if grammar is not None else None
    made = 0
    while len(rows) and made < max_tokens:
        config.max_new_tokens = min(STRIDE, max_tokens - made)
        output = model.generate(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            generation_config=config,
            logits_processor=[mask_logits] if mask_logits is not None else None,
        )
        new = output.sequences[:, ids.shape[1] :]
        ended = torch.isin(new, ends)
        made += new.shape[1]
        for row, said, end in zip(rows.tolist(), new.tolist(), ended.tolist(), strict=True):
            answers[row] += said[: end.index(True) + 1] if True in end else said
        if with_log_probs:
            for row, found in zip(rows.tolist(), _log_probs(output.logits, new, config).tolist(), strict=True):
                scores[row] = (scores[row] + found)[: len(answers[row])]
        running = (~ended.any(1)).nonzero().flatten()
        cache.batch_select_indices(running)
        ids = output.sequences[running]
        mask = torch.cat([mask, torch.ones_like(new)], 1)[running]
        rows = rows[running.cpu()]
        if mask_logits is not None:
            mask_logits.keep(running.tolist())
    return answers, scores


def _log_probs(logits: Sequence[torch.Tensor], new: torch.Tensor, config: GenerationConfig) -> torch.Tensor:
    """Of the tokens i64[rows, n] under n logits f32[rows, words]: f32[rows, n]."""
    temperature = config.temperature or 1.0
    columns = [
        (each.float() / temperature).log_softmax(-1).gather(1, new[:, index : index + 1])
        for index, each in enumerate(logits)
    ]
    return torch.cat(columns, 1)


def _new_cache(model: PreTrainedModel) -> Cache:
    kinds = getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"]
    if set(kinds) == {"full_attention"}:
        return Cache(layer_class_to_replicate=_RoomyLayer)
    return DynamicCache(config=model.config)
