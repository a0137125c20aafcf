"""What a dry run says of memory, against the models themselves; the recipes for Qwen3-4B against what was published."""

import pytest
import torch
from peft import get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, Qwen3Config
from transformers.cache_utils import DynamicCache

import jaxenv
from experiments.memory import PROMPT_TOKENS, memory, shape_of
from experiments.recipe import load
from policy.finetuning import adapter_config
from policy.prompts import render
from policy.samplers import resolve_model

# From the config.json of Qwen/Qwen3-4B.
QWEN3_4B = {
    "hidden_size": 2560,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 9728,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
SMALL = {
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 80,
    "vocab_size": 96,
}


def build(config):
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def count(model, trained=False):
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained)


def test_qwen3_4b_has_as_many_parameters_as_transformers_builds():
    shape, model = shape_of("Qwen/Qwen3-4B"), build(Qwen3Config(**QWEN3_4B))
    assert shape.parameters == count(model)
    adapted = get_peft_model(model, adapter_config({"rank": 32, "alpha": 64}))
    assert shape.adapter(32) == count(adapted, trained=True)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", [LlamaConfig, Qwen3Config])
def test_a_model_in_a_folder_is_counted_as_it_is_built(kind, tied, tmp_path):
    config = kind(**SMALL, head_dim=16, tie_word_embeddings=tied)
    config.save_pretrained(tmp_path)
    assert shape_of(str(tmp_path)).parameters == count(build(config))


def test_the_cache_of_a_token_has_the_bytes_that_transformers_keeps(tmp_path):
    config = Qwen3Config(**SMALL, head_dim=16)
    model, cache = AutoModelForCausalLM.from_config(config), DynamicCache(config=config)
    model(torch.zeros((1, 7), dtype=torch.int64), past_key_values=cache)
    kept = sum(t.numel() * t.element_size() for layer in cache.layers for t in (layer.keys, layer.values))
    config.save_pretrained(tmp_path)
    assert shape_of(str(tmp_path)).cache(width=4) * 7 == kept


def test_the_longest_compact_prompt_has_as_many_tokens_as_are_counted_on():
    rows = ["." * 10 if row % 2 else "H" * 10 for row in range(10)]
    board = jaxenv.make_instances(
        [rows], starts=[[(1, column) for column in range(5)]], goals=[[(1, 9 - column) for column in range(5)]]
    )
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("starter"))
    message = [{"role": "user", "content": render(board, "compact")[0]}]
    text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    longest = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert longest <= PROMPT_TOKENS["compact"] < 1.2 * longest


def test_a_model_that_is_not_here_is_unknown_and_says_what_to_do():
    (line,) = memory(load("smoke", ["model=some/model"]), 16)
    assert "unknown" in line and "folder" in line


@pytest.mark.parametrize(
    ("name", "gib", "adapter"),
    [
        ("qwen3-4b-24g", 22, True),
        ("qwen3-4b-48g", 44, True),
        ("qwen3-4b-80g", 74, False),
        ("qwen3-4b-141g", 131, False),
    ],
)
def test_each_recipe_for_qwen3_4b_fits_its_card_by_the_sums_of_the_dry_run(name, gib, adapter):
    recipe = load(name)
    shape = shape_of(recipe.model)
    assert (recipe.lora is not None) == adapter
    trained = shape.adapter(recipe.lora.rank) if adapter else shape.parameters
    held = (2 * shape.parameters + 4 * trained if adapter else 4 * shape.parameters) + 8 * trained
    share = recipe.sampler.memory
    asleep = recipe.grpo.get("vllm_enable_sleep_mode", False)
    training = held + 4 * trained + (0 if asleep else share * gib * 2**30)
    # While sampling there are no gradients; while training vLLM may be asleep. A tenth is left for activations.
    assert held + share * gib * 2**30 < gib * 2**30
    assert training < 0.9 * gib * 2**30
    # vLLM has room for its own copy of the weights and a few answers of full length.
    answer = shape.cache() * (PROMPT_TOKENS[recipe.style] + recipe.reward.max_tokens)
    assert share * gib * 2**30 > 2 * shape.parameters + 3 * answer
    assert recipe.grpo["vllm_max_model_length"] >= PROMPT_TOKENS[recipe.style] + recipe.reward.max_tokens


def test_the_papers_recipe_is_the_published_setting():
    recipe = load("paper")
    assert (recipe.stages, recipe.boards_per_stage, recipe.num_agents) == (3, 4000, 2)
    assert recipe.grpo["num_train_epochs"] == 2 and "max_steps" not in recipe.grpo
    assert "paper" in recipe.evaluation.sets and recipe.model == "Qwen/Qwen3-4B"
    assert recipe.engineer.name == "self" and recipe.engineer.variant == "V6"
