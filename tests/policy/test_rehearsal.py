"""A rehearsal brings back what was forgotten, of pairs it has not seen, and is a function of its seed."""

import torch

from engineer.synthetic import examples
from policy.rehearsal import rehearse
from policy.samplers import load_model
from policy.starter import IGNORED, encode, pad_batch


def forgetful_starter():
    """The starter after noise that costs it much of what it knows."""
    model, tokenizer = load_model("starter")
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.5 * weight.std() * torch.randn_like(weight) if weight.dim() > 1 else 0
    return model, tokenizer


def surprise(model, tokenizer, pairs):
    """Mean cross entropy of the answers' tokens, through the model's own loss."""
    ids, labels = pad_batch(encode(tokenizer, pairs), tokenizer.pad_token_id)
    assert (labels == IGNORED).any()
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=(ids != tokenizer.pad_token_id).long(), labels=labels).loss.item()


def test_a_few_steps_bring_back_the_form_of_replies_that_were_not_among_the_pairs():
    model, tokenizer = forgetful_starter()
    unseen = examples(9, 4)
    known = surprise(load_model("starter")[0], tokenizer, unseen)
    before, told = surprise(model, tokenizer, unseen), []
    rehearse(model, tokenizer, examples(8, 48), steps=8, seed=0, report=lambda *row: told.append(row))
    assert surprise(model, tokenizer, unseen) - known < 0.75 * (before - known)
    assert [row[0] for row in told] == [8]
    assert not model.training


def test_the_seed_decides_every_weight_after_a_rehearsal():
    def rehearsed(seed):
        model, tokenizer = forgetful_starter()
        rehearse(model, tokenizer, examples(8, 24), steps=2, seed=seed, report=lambda *row: None)
        return torch.cat([weight.flatten() for weight in model.parameters()])

    first, again, other = rehearsed(3), rehearsed(3), rehearsed(4)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_only_the_tokens_of_the_answer_and_its_end_are_learnt():
    _, tokenizer = load_model("starter")
    (pair,) = examples(8, 1)
    ids, labels = pad_batch(encode(tokenizer, [pair]), tokenizer.pad_token_id)
    answer = tokenizer(pair[1] + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
    assert ids[0, labels[0] != IGNORED].tolist() == answer
