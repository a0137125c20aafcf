"""Samplers: chosen by name, one interface, and batches whose padding changes nothing."""

import sys

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from policy import samplers, smollm2, vllm_server
from policy.endpoint import EndpointSampler
from policy.errors import PolicyError
from policy.samplers import TransformersSampler, load_model, load_sampler, resolve_model
from policy.sampling import SamplerSettings
from policy.starter import new_model

PROMPTS = [
    "board size3 agents2 a0 r0c0 to r2c2 a1 r2c2 to r0c0 holes r0c2 moves",
    "board size3 agents2 a0 r0c0 to r0c1 a1 r1c1 to r2c2 holes moves",
    "board size5 agents4 a0 r0c1 to r4c3 a1 r1c0 to r3c4 a2 r4c3 to r0c1 a3 r3c4 to r1c0 holes r0c0 r2c2 r4c4 moves",
]


@pytest.fixture(scope="module")
def starter():
    return load_model("starter")


def ask(sampler, prompts=PROMPTS, **choices):
    return sampler.generate(prompts, **{"max_tokens": 24, "temperature": 0.0, "seed": 1, **choices})


def test_the_starter_pads_on_the_left_with_a_token_that_ends_nothing(starter):
    model, tokenizer = starter
    assert tokenizer.padding_side == "left"
    assert tokenizer.pad_token_id not in (None, tokenizer.eos_token_id, model.generation_config.eos_token_id)


def test_a_tokenizer_whose_padding_is_its_end_or_nothing_is_given_another(tmp_path):
    # As SmolLM2 and Llama have it: what follows an answer could otherwise be taken for its end, or its end for padding.
    words = {"<unk>": 0, "<end>": 1, "a": 2}
    bare = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    bare.pre_tokenizer = pre_tokenizers.Whitespace()
    model = new_model(0)
    for pad in ({}, {"pad_token": "<end>"}):
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, unk_token="<unk>", eos_token="<end>", **pad)
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        loaded = load_model(str(tmp_path))[1]
        assert (loaded.pad_token, loaded.eos_token, loaded.padding_side) == ("<unk>", "<end>", "left")


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_answers_do_not_depend_on_what_else_is_in_their_batch(starter, batch):
    sampler = TransformersSampler(*starter, batch=batch)
    alone = [ask(sampler, [prompt])[0] for prompt in PROMPTS]
    together = ask(sampler)
    assert together == alone and len({answer.tokens for answer in alone}) > 1


def test_a_message_and_the_exchange_that_holds_it_alone_are_the_same_prompt(starter):
    sampler = TransformersSampler(*starter, batch=3)
    assert ask(sampler, [[{"role": "user", "content": prompt}] for prompt in PROMPTS]) == ask(sampler)


def test_whether_to_think_reaches_the_template(starter):
    model, _ = starter
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("starter"), padding_side="left")
    # A template that shows another board when it is told to think.
    tokenizer.chat_template = (
        "<|user|>{{ '" + PROMPTS[0] + "' if enable_thinking else messages[0]['content'] }}<|assistant|>"
    )
    plain, thought = (
        ask(TransformersSampler(model, tokenizer, batch=1, thinking=thinking), [PROMPTS[2]])
        for thinking in (False, True)
    )
    assert thought == ask(TransformersSampler(*starter, batch=1), [PROMPTS[0]]) != plain


def test_seeds_draw_otherwise_and_one_seed_draws_the_same_again(starter):
    sampler = TransformersSampler(*starter, batch=8)
    draws = [ask(sampler, [PROMPTS[2]] * 8, temperature=1.0, seed=seed) for seed in (1, 2, 1)]
    assert draws[0] == draws[2] != draws[1]
    assert len({answer.text for answer in draws[0]}) > 1  # rows of one batch are not one draw


def test_an_endpoint_is_chosen_by_its_settings_and_takes_its_key_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    made = load_sampler("m", settings=SamplerSettings("openai", base_url="http://127.0.0.1:9/v1"), log=tmp_path / "log")
    assert isinstance(made, EndpointSampler) and made._endpoint._key == "sk-from-the-environment"


def test_without_vllm_or_its_server_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(PolicyError, match=r"sampler\.name=hf"):
        load_sampler("starter", settings=SamplerSettings("vllm"))
    with pytest.raises(PolicyError, match=r"python -m policy\.vllm_server"):
        load_sampler("starter", settings=SamplerSettings("vllm", "server", "http://127.0.0.1:9"))


def test_a_model_that_is_not_made_yet_is_named_with_the_command_that_makes_it(monkeypatch, tmp_path):
    monkeypatch.setattr(smollm2, "folder", lambda: tmp_path / "nowhere")
    with pytest.raises(PolicyError, match="make smollm2"):
        resolve_model(smollm2.NAME)
    monkeypatch.setattr(smollm2, "_PACKAGE", "a_package_that_is_not_here")
    with pytest.raises(PolicyError, match="make smollm2"):
        smollm2.convert()
    monkeypatch.setattr(samplers, "MODELS", tmp_path)
    with pytest.raises(PolicyError, match="warmstart"):
        resolve_model("starter")


def test_the_server_has_what_training_and_evaluation_need_on_a_cpu_and_on_a_gpu():
    cpu, gpu = (
        " ".join(vllm_server.command("m", cpu=cpu, host="127.0.0.1", port=8000, seed=4, options=["-tp", "2"]))
        for cpu in (True, False)
    )
    for line in (cpu, gpu):
        assert "--seed 4" in line and "--host 127.0.0.1" in line and line.endswith("-tp 2")
        assert "--worker-extension-cls policy.vllm_worker.FolderWeights" in line
        assert "--logprobs-mode processed_logprobs" in line
    assert "--dtype float32" in cpu and "weight-transfer" not in cpu
    assert '--weight-transfer-config {"backend": "nccl"}' in gpu and "float32" not in gpu
