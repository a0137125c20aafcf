"""The starter's tokenizer and its training on pairs, on a corpus made here."""

import itertools
import re

import numpy as np
import pytest
import torch

from engineer.synthetic import examples
from policy.compact import render_answer, render_board, vocabulary
from policy.starter import IGNORED, Schedule, encode, learning_rate, new_model, pad_batch, train
from policy.tokenizer import VOCABULARY_SIZE, build_tokenizer

PROMPT = render_board(4, np.eye(10, dtype=bool), [(0, 1), (3, 0)], [(2, 1), (0, 3)])
ANSWER = render_answer([[2, 2], [1, 4, 0]], [(0, 1), (3, 0)])


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(['{"maps": {"3": {"data_ratio": 0.125}}}', "evidence in percent"])


def test_every_word_of_the_compact_style_is_one_token(tokenizer):
    ids = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in vocabulary()]
    assert all(len(word) == 1 for word in ids)
    assert len({word[0] for word in ids}) == len(vocabulary())


def test_a_board_has_as_many_tokens_as_words(tokenizer):
    assert len(tokenizer(PROMPT, add_special_tokens=False)["input_ids"]) == len(PROMPT.split())
    assert len(tokenizer(ANSWER, add_special_tokens=False)["input_ids"]) == len(ANSWER.split())


@pytest.mark.parametrize("text", [ANSWER, PROMPT, 'naïve {"a": [0.5]}\n\t→ 12 R>r1c1 r9c9'])
def test_text_comes_back_from_its_tokens_unchanged(tokenizer, text):
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"], skip_special_tokens=True) == text


def test_the_board_words_keep_their_numbers_whatever_the_corpus(tokenizer):
    other = build_tokenizer(["something else entirely"] * 3)
    assert all(other.convert_tokens_to_ids(w) == tokenizer.convert_tokens_to_ids(w) for w in vocabulary())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" 0 7 62 100", [" 0", " 7", " 62", " 100"]),
        (" 0.00 0.34 1.00", [" 0.00", " 0.34", " 1.00"]),
        ('"10": 1352', ['"', "10", '":', " 13", "5", "2"]),
        (" 0.345", [" 0.34", "5"]),
        ("3 | 60 8\n10 | 5\n", ["3", " |", " 60", " 8", "\n", "10", " |", " 5", "\n"]),
    ],
)
def test_a_number_is_one_token_and_so_is_what_a_corpus_repeats_between_two(text, words):
    tokenizer = build_tokenizer(['3 | 60 8\n10 | 5\n"7": 2'] * 3)
    assert [tokenizer.decode(i) for i in tokenizer(text, add_special_tokens=False)["input_ids"]] == words


def test_the_engineers_table_and_reply_have_about_a_token_a_number():
    pairs = examples(9, 60)
    tokenizer = build_tokenizer([text for pair in pairs for text in pair])
    for prompt, reply in pairs:
        assert len(tokenizer(reply, add_special_tokens=False)["input_ids"]) < 70  # of them 24 ratios and 8 sizes
        numbers = len(re.findall("[0-9]+", prompt))
        assert len(tokenizer(prompt, add_special_tokens=False)["input_ids"]) < 1.8 * numbers + 60


def test_the_answer_and_its_end_are_learnt_and_the_prompt_is_not(tokenizer):
    (ids, prompt) = encode(tokenizer, [(PROMPT, ANSWER)])[0]
    _, labels = pad_batch([(ids, prompt), (ids[: prompt + 1], prompt)], 0)
    assert (labels[0, :prompt] == IGNORED).all()
    assert labels[0, prompt:].tolist() == ids[prompt:].tolist()
    assert labels[0, -1] == tokenizer.eos_token_id
    assert (labels[1, prompt + 1 :] == IGNORED).all()
    assert tokenizer.decode(ids[:prompt]).startswith("<|user|>board size4")


def test_the_learning_rate_warms_up_and_then_only_falls():
    schedule = Schedule(steps=100, peak_rate=1e-3, final_share=0.1, warmup_steps=10)
    rates = [learning_rate(schedule, step) for step in range(100)]
    assert rates[0] < rates[5] < rates[9] <= 1e-3
    assert rates[12:] == sorted(rates[12:], reverse=True)
    assert rates[-1] == pytest.approx(1e-4, rel=0.02)


def test_a_few_steps_on_one_pair_lower_its_loss(tokenizer):
    model = new_model(0)
    assert model.config.vocab_size == VOCABULARY_SIZE
    losses = []
    chunk = encode(tokenizer, [(PROMPT, ANSWER)] * 4)
    schedule = Schedule(steps=30, peak_rate=3e-3, warmup_steps=3, batch_tokens=150)
    torch.manual_seed(0)
    train(model, itertools.repeat(chunk), schedule, pad=0, seed=0, report=lambda *row: losses.append(row[1]))
    with torch.no_grad():
        ids, labels = pad_batch(chunk[:1], 0)
        after = torch.nn.functional.cross_entropy(
            model(input_ids=ids).logits[0, :-1], labels[0, 1:], ignore_index=IGNORED
        )
    assert after < 1.0 < losses[0]
