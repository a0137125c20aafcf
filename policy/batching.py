"""Less padding: the micro-batches of one optimiser step, sorted by length and cut to what they hold."""

from typing import Any

import torch

Batch = dict[str, Any]
_PROMPT = ("prompt_ids", "prompt_mask")  # padded on the left


def sort_and_trim(batches: list[Batch]) -> list[Batch]:
    """The same rows in micro-batches of similar length, without columns that hold padding only.

    For micro-batches whose losses are added up to one step and normalised over all of it, so that their make-up does
    not matter. Tensors with a batch axis i64 or f32[rows, ...] are reordered; everything else is passed on.
    """
    rows = [len(batch["prompt_ids"]) for batch in batches]
    whole = {name: torch.cat([batch[name] for batch in batches]) for name in batches[0] if _has_rows(batches[0], name)}
    lengths = whole["prompt_mask"].sum(1) + whole["completion_mask"].sum(1)
    order = torch.argsort(lengths, stable=True)
    parts = {name: torch.split(tensor[order], rows) for name, tensor in whole.items()}
    return [
        {**batch, **_trim({name: tensors[index] for name, tensors in parts.items()})}
        for index, batch in enumerate(batches)
    ]


def _has_rows(batch: Batch, name: str) -> bool:
    value = batch[name]
    return isinstance(value, torch.Tensor) and value.dim() > 0 and len(value) == len(batch["prompt_ids"])


def _trim(batch: Batch) -> Batch:
    prompt = int(batch["prompt_mask"].sum(1).max())
    completion = int(batch["completion_mask"].sum(1).max())
    width = batch["completion_ids"].shape[1]
    return {
        name: tensor[:, -prompt:]
        if name in _PROMPT
        else tensor[:, :completion]
        if tensor.dim() == 2 and tensor.shape[1] == width
        else tensor
        for name, tensor in batch.items()
    }
