"""Micro-batches by length: nothing but padding may change."""

import torch

from policy.batching import sort_and_trim


def micro_batches(rows=12, parts=3):
    torch.manual_seed(0)
    prompt_mask, completion_mask = torch.zeros(rows, 9, dtype=torch.long), torch.zeros(rows, 7, dtype=torch.long)
    for row in range(rows):
        prompt_mask[row, 9 - int(torch.randint(1, 9, ())) :] = 1
        completion_mask[row, : int(torch.randint(1, 7, ()))] = 1
    whole = {
        "prompt_ids": torch.randint(2, 50, (rows, 9)) * prompt_mask,
        "prompt_mask": prompt_mask,
        "completion_ids": torch.randint(2, 50, (rows, 7)) * completion_mask,
        "completion_mask": completion_mask,
        "advantages": torch.randn(rows),
    }
    size = rows // parts
    return [
        {**{name: tensor[k * size : (k + 1) * size] for name, tensor in whole.items()}, "num_items_in_batch": 5}
        for k in range(parts)
    ]


def contents(batches):
    """Every row as what it says, without padding."""
    rows = []
    for batch in batches:
        for row in range(len(batch["prompt_ids"])):
            prompt = batch["prompt_ids"][row][batch["prompt_mask"][row] == 1].tolist()
            completion = batch["completion_ids"][row][batch["completion_mask"][row] == 1].tolist()
            rows.append((prompt, completion, batch["advantages"][row].item()))
    return sorted(rows)


def test_sorting_keeps_every_row_with_its_advantage():
    batches = micro_batches()
    assert contents(sort_and_trim(batches)) == contents(batches)


def test_micro_batches_get_longer_and_hold_no_column_of_padding_only():
    trimmed = sort_and_trim(micro_batches())
    totals = torch.cat([b["prompt_mask"].sum(1) + b["completion_mask"].sum(1) for b in trimmed]).tolist()
    assert totals == sorted(totals)
    for batch in trimmed:
        assert batch["prompt_mask"][:, 0].any()
        assert batch["completion_mask"][:, -1].any()


def test_sizes_and_values_without_rows_stay():
    batches = micro_batches()
    trimmed = sort_and_trim(batches)
    assert [len(b["prompt_ids"]) for b in trimmed] == [len(b["prompt_ids"]) for b in batches]
    assert all(b["num_items_in_batch"] == 5 for b in trimmed)
