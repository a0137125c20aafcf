"""Sampling in strides gives what transformers' own loop gives, token for token."""

from collections.abc import Iterator

import pytest
import torch
from transformers import GenerationConfig, Qwen3ForCausalLM

from policy import decoding
from policy.starter import new_model

END = 1151  # a word that no answer below contains
PROMPTS = [[7, 8, 9], [10, 11, 12, 13, 14, 15], [16], [17, 18, 19, 20], [21, 22]]
LIMIT = 40


@pytest.fixture(scope="module")
def model() -> Iterator[Qwen3ForCausalLM]:
    made = new_model(3).eval()
    with torch.no_grad():
        for weight in made.model.layers.parameters():  # far from the small weights with which it only repeats itself
            weight.add_(torch.randn_like(weight) * 0.5)
    yield made


def config(ends: list[int], **choices: object) -> GenerationConfig:
    return GenerationConfig(pad_token_id=0, eos_token_id=ends, disable_compile=True, **choices)


def plain(model: Qwen3ForCausalLM, prompt: list[int], ends: list[int]) -> list[int]:
    """Greedy, one prompt at a time and without a cache."""
    ids = list(prompt)
    with torch.no_grad():
        while len(ids) - len(prompt) < LIMIT:
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] in ends:
                break
    return ids[len(prompt) :]


def test_greedy_answers_are_those_of_a_loop_without_cache_or_batch(model: Qwen3ForCausalLM) -> None:
    free = [plain(model, prompt, []) for prompt in PROMPTS]
    # An untrained model never stops by itself: let tokens it says at different times be the ends.
    ends = [free[0][5], free[1][9], free[2][decoding.STRIDE]]
    expected = [plain(model, prompt, ends) for prompt in PROMPTS]
    assert len({len(answer) for answer in expected}) > 2
    with torch.no_grad():
        assert decoding.sample(model, PROMPTS, config(ends, do_sample=False), LIMIT, batch=8) == expected


def test_without_an_end_every_answer_has_as_many_tokens_as_allowed(model: Qwen3ForCausalLM) -> None:
    for limit in (1, decoding.STRIDE, decoding.STRIDE + 1):
        with torch.no_grad():
            answers = decoding.sample(model, PROMPTS, config([END], do_sample=False), limit, batch=8)
        assert [len(answer) for answer in answers] == [limit] * len(PROMPTS)


def test_a_seed_gives_the_draws_of_one_call_of_generate(model: Qwen3ForCausalLM) -> None:
    chosen = config([END], do_sample=True, top_k=0, top_p=1.0)
    ids = torch.tensor([[5, 6, 7], [8, 9, 10]])
    with torch.no_grad():
        torch.manual_seed(1)
        at_once = model.generate(ids, generation_config=chosen, max_new_tokens=LIMIT)[:, 3:].tolist()
        torch.manual_seed(1)
        assert decoding.sample(model, ids.tolist(), chosen, LIMIT, batch=2) == at_once


def test_batches_of_similar_prompts_give_every_prompt_its_own_answer_and_report_each_batch(
    model: Qwen3ForCausalLM,
) -> None:
    chosen, reports = config([END], do_sample=False), []
    with torch.no_grad():
        together = decoding.sample(model, PROMPTS, chosen, 9, batch=8)
        apart = decoding.sample(model, PROMPTS, chosen, 9, batch=2, progress=lambda *done: reports.append(done))
    assert apart == together
    assert reports == [(2, 5), (4, 5), (5, 5)]


def test_log_probabilities_are_those_of_a_forward_pass_over_the_whole_exchange(model: Qwen3ForCausalLM) -> None:
    torch.manual_seed(0)
    free = [plain(model, prompt, []) for prompt in PROMPTS]
    ends, heat = [free[0][5], free[1][9]], 0.8
    options = config(ends, do_sample=True, temperature=heat, top_k=0, top_p=0.9)
    with torch.no_grad():
        answers, found = decoding.sample_with_log_probs(model, PROMPTS, options, LIMIT, batch=3)
        assert [len(each) for each in found] == [len(answer) for answer in answers]
        for prompt, answer, scores in zip(PROMPTS, answers, found, strict=True):
            logits = model(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
            expected = (logits / heat).log_softmax(-1)[range(len(answer)), answer]
            torch.testing.assert_close(torch.tensor(scores), expected, atol=1e-4, rtol=0)


def test_reporting_log_probabilities_changes_no_draw(model: Qwen3ForCausalLM) -> None:
    options = config([END], do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    with torch.no_grad():
        torch.manual_seed(4)
        answers = decoding.sample(model, PROMPTS, options, LIMIT, batch=8)
        torch.manual_seed(4)
        assert decoding.sample_with_log_probs(model, PROMPTS, options, LIMIT, batch=8)[0] == answers
