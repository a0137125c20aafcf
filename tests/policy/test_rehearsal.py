"""The loss of a rehearsal: that of whole answers, whatever else is in the batch, and of the prompts nothing."""

import numpy as np
import pytest
import torch

from engineer.synthetic import CHOICES, examples
from jaxenv.schema import SIZES
from policy.rehearsal import Rehearsal
from policy.samplers import load_model

PAIRS = [
    ("name a size", "size 3"),
    ("a longer prompt that has\nmore lines\n3 | 50 38 30 3 0\nand words", "focus on size 5 and on none else"),
    ("say nothing", ""),
]


@pytest.fixture(scope="module")
def starter():
    model, tokenizer = load_model("starter")
    return model.eval(), tokenizer


def surprise(model, tokenizer, prompt, answer):
    """Minus the log probability of each of the answer's tokens, one pair at a time and without padding."""
    head = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    tail = tokenizer(answer + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([head + tail])).logits[0].double()
    chances = logits.log_softmax(-1)
    return [-float(chances[len(head) + place - 1, token]) for place, token in enumerate(tail)]


def test_the_loss_is_the_mean_surprise_of_every_answer_token_in_the_batch(starter):
    model, tokenizer = starter
    expected = np.mean([one for pair in PAIRS for one in surprise(model, tokenizer, *pair)])
    rehearsal = Rehearsal(tokenizer, PAIRS, weight=1.0, batch=len(PAIRS), seed=0)
    assert rehearsal.loss(model).item() == pytest.approx(expected, rel=1e-4)


def test_chosen_parts_of_an_answer_count_a_tenth_of_the_rest(starter):
    model, tokenizer = starter
    (pair,) = examples(2, 1)
    tokens = tokenizer.tokenize(pair[1])
    # In the starter's words a ratio is one token, and the name before it is the one before.
    names = [None, *(tokenizer.convert_tokens_to_string([token]) for token in tokens)]
    counts = [0.1 if name in (', "hole_ratio":', ', "wait_ratio":') else 1.0 for name in names]
    assert counts.count(0.1) == 2 * len(SIZES)
    expected = np.average(surprise(model, tokenizer, *pair), weights=counts)
    rehearsal = Rehearsal(tokenizer, [pair], weight=1.0, batch=1, seed=0, choices=CHOICES)
    assert rehearsal.loss(model).item() == pytest.approx(expected, rel=1e-4)


def test_each_step_draws_its_own_pairs_and_the_seed_decides_which(starter):
    model, tokenizer = starter
    drawn = [
        [one.loss(model).item() for _ in range(12)]
        for one in (Rehearsal(tokenizer, PAIRS, 1.0, 1, seed) for seed in (4, 4, 5))
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == len(PAIRS)
