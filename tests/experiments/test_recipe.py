"""Recipes: inheritance, overrides, and faults told in one clear line."""

import contextlib
import dataclasses
import itertools
from typing import get_args

import pytest
import yaml
from pydantic import ValidationError

from engineer.context import VARIANTS, modules
from engineer.errors import ContextError
from experiments import recipe
from experiments.budget import counts
from experiments.errors import RecipeError
from experiments.grpo_keys import GRPO_KEYS
from experiments.plan import steps_of
from experiments.recipe import BOARDS, EngineerBlock, SamplerBlock, SetName, load
from jaxenv.benchmarks import _SETS
from policy.sampling import SamplerSettings


def write(folder, name, **values):
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)


@pytest.mark.parametrize("name", recipe.names())
def test_every_shipped_recipe_is_valid_and_warns_of_nothing(name):
    loaded = load(name)
    assert loaded.name == name
    assert loaded.warnings() == []


def test_the_resolved_recipe_reads_back_as_the_same_recipe(tmp_path):
    first = load("starter", ["seed=7", "grpo.learning_rate=3e-5"])
    path = tmp_path / "recipe.yaml"
    path.write_text(first.to_yaml())
    again = load(str(path))
    assert again == first
    assert again.content_hash() == first.content_hash()


def test_the_hash_changes_with_any_value():
    assert load("smoke").content_hash() != load("smoke", ["reward.rho=0.4"]).content_hash()


def test_a_recipe_inherits_blocks_key_by_key(tmp_path):
    write(tmp_path, "base", stages=2, grpo={"learning_rate": 1.0, "beta": 0.5})
    child = write(tmp_path, "child", inherits="base.yaml", seed=5, grpo={"beta": 0.0})
    loaded = load(child)
    assert (loaded.name, loaded.stages, loaded.seed) == ("child", 2, 5)
    assert loaded.grpo == {"learning_rate": 1.0, "beta": 0.0}


def test_a_recipe_that_inherits_itself_is_refused(tmp_path):
    write(tmp_path, "a", inherits="b.yaml")
    b = write(tmp_path, "b", inherits="a.yaml")
    with pytest.raises(RecipeError, match="inherits itself: b -> a -> b"):
        load(b)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("sed=3", "unknown key 'sed' in the recipe; did you mean 'seed'?"),
        ("engineer.varient=V1", "unknown key 'varient' in the block engineer; did you mean 'variant'?"),
        ("grpo.learning_rat=1", "'learning_rat' is not a field of TRL's GRPOConfig; did you mean 'learning_rate'?"),
        ("grpo.seed=1", "the key 'seed' is not the recipe's to set: set `seed`"),
        ("stages=0", "recipe: stages: input should be greater than or equal to 1 (it is 0)"),
        ("reward.rho=0.9", "lets a short invalid answer beat a long valid one"),
        ("evaluation.sets=[learn3]", "`learn` among them"),
        ("grpo.use_vllm=true", "the key 'use_vllm' is not the recipe's to set: set `sampler.name`"),
        ("sampler.name=openai", "needs sampler.base_url"),
        ("sampler.base_url=http://x", "no server is asked"),
        ("sampler.budget=1", "needs sampler.input_price"),
        ("stages.x=1", "stages is a value, not a block"),
        ("seed", "write it as key=value"),
        ("seed=[1", "the value cannot be read"),
        ("batch.promts=3", "unknown key 'promts' in the block batch; did you mean 'prompts'?"),
        ("batch.prompts=6", "6 boards of 4 answers are 24, which 1 x 16 answers at a time"),
        ("batch.prompts=32", "batch.prompts is 32, more than the 16 boards of a stage"),
        ("grpo.num_generations=4", "grpo.num_generations follows from `batch`"),
        ("lora.rnk=3", "unknown key 'rnk' in the block lora; did you mean 'rank'?"),
        ("launch.config=dpp", "there is no config 'dpp'; did you mean 'ddp'?"),
        ("launch.processes=3", "3 x 16 answers at a time"),
        ("zzzzzz=1", "unknown key 'zzzzzz' in the recipe"),
    ],
)
def test_each_fault_is_one_clear_line(override, said):
    with pytest.raises(RecipeError) as caught:
        load("smoke", [override])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_recipe_offers_the_nearest_one():
    with pytest.raises(RecipeError, match=r"there is no recipe 'start-er'; did you mean 'starter'\?"):
        load("start-er")


@pytest.mark.parametrize(
    ("text", "said"), [("a: [", "cannot be read"), ("- 1", "must be a mapping"), ("inherits: 3", "name or the path")]
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path, text, said):
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError, match=said):
        load(str(path))


def test_a_number_such_as_1e_5_is_a_number_in_files_and_overrides(tmp_path):
    path = tmp_path / "rate.yaml"
    path.write_text("grpo: {learning_rate: 5e-5}\n")
    assert load(str(path)).grpo["learning_rate"] == 5e-5
    assert load("smoke", ["grpo.learning_rate=5e-5"]).grpo["learning_rate"] == 5e-5


def test_sampling_that_biases_the_importance_ratio_is_warned_of():
    # huggingface/trl/issues/6789
    warnings = load("smoke", ["grpo.top_p=0.9", "grpo.top_k=0"]).warnings()
    assert len(warnings) == 1 and "grpo.top_p is 0.9" in warnings[0]


def test_the_checked_in_keys_are_the_fields_of_trl():
    from trl import GRPOConfig

    assert set(GRPO_KEYS) == {field.name for field in dataclasses.fields(GRPOConfig)}


def test_the_sets_a_recipe_may_name_and_their_sizes_are_those_that_can_be_made():
    fixed = {name: one.boards for name, one in _SETS.items() if name != "validation"}
    assert fixed == BOARDS
    assert set(get_args(SetName)) == set(BOARDS)


def test_the_variants_of_a_recipe_are_those_that_the_engineer_knows():
    letters = ("", "F", "G", "H", "H0", "S", "T", "Tf")
    asked = {"".join(parts) for count in range(6) for parts in itertools.product(letters, repeat=count)}
    for variant in [*VARIANTS, "V7", "V10", "f", "FG ", "FG\n", *sorted(asked)]:
        with contextlib.ExitStack() as wrong:
            try:
                modules(variant)
            except ContextError:
                wrong.enter_context(pytest.raises(ValidationError))
            EngineerBlock(variant=variant)


def test_best_of_several_needs_a_preview():
    with pytest.raises(RecipeError, match=r"engineer\.preview"):
        load("smoke", ["engineer.best_of=2"])
    assert load("smoke", ["engineer.best_of=2", "engineer.preview=4"]).engineer.best_of == 2
    assert load("starter").engineer.best_of == 1 and not load("starter").engineer.preview


def trl_options(overrides):
    job = next(step.job for step in steps_of(load("smoke", overrides)) if step.kind == "train_stage")
    return job["grpo"]


def test_trls_sampling_follows_from_the_sampler():
    # Fields that TRL knows: a wrong name would be refused by GRPOConfig.
    assert {key: value for key, value in trl_options([]).items() if "vllm" in key or "chat" in key} == {
        "chat_template_kwargs": {"enable_thinking": False}
    }
    colocated = trl_options(["sampler.name=vllm", "sampler.thinking=true", "sampler.memory=0.4"])
    assert set(colocated) <= set(GRPO_KEYS) and colocated["use_vllm"] and colocated["vllm_mode"] == "colocate"
    assert colocated["vllm_gpu_memory_utilization"] == 0.4
    assert colocated["chat_template_kwargs"] == {"enable_thinking": True}
    served = trl_options(["sampler.name=vllm", "sampler.mode=server", "sampler.base_url=http://127.0.0.1:8000/v1"])
    assert (served["vllm_mode"], served["vllm_server_base_url"]) == ("server", "http://127.0.0.1:8000")


def test_every_step_that_samples_is_told_the_same_sampler():
    wanted = {**load("smoke").sampler.model_dump(mode="json"), "name": "vllm"}
    steps = [step for step in steps_of(load("smoke", ["sampler.name=vllm"])) if step.kind in ("evaluate", "engineer")]
    assert len(steps) > 3 and all(step.job["sampler"] == wanted for step in steps)


def test_the_samplers_settings_are_those_of_the_recipe():
    block, settings = SamplerBlock(), SamplerSettings()
    assert dataclasses.asdict(settings) == block.model_dump(mode="json")


def test_an_endpoint_can_be_evaluated_and_not_trained():
    recipe = load("smoke", ["sampler.name=openai", "sampler.base_url=http://x/v1"])
    assert any(step.kind == "evaluate" for step in steps_of(recipe))
    with pytest.raises(RecipeError, match=r"cannot be trained: set sampler\.name"):
        recipe.check_trainable()
    load("smoke").check_trainable()


def test_trls_numbers_follow_from_prompts_and_group_and_the_processes_share_them():
    from trl import GRPOConfig

    values = ["boards_per_stage=64", "batch={prompts: 12, group: 4, micro: 2}"]
    for extra, processes in (([], 1), (["launch.processes=3"], 3)):
        loaded = load("smoke", [*values, *extra])
        options = loaded.trl()
        assert options["num_generations"] == 4 and options["max_steps"] == loaded.grpo["max_steps"]
        assert options["per_device_train_batch_size"] * options["gradient_accumulation_steps"] * processes == 12 * 4
        if processes == 1:
            config = GRPOConfig(use_cpu=True, bf16=False, **options)
            assert config.generation_batch_size == 12 * 4
    alone = load("smoke", ["batch=null", "grpo.num_generations=2", "grpo.per_device_train_batch_size=4"])
    assert alone.trl() == alone.grpo


def test_the_budget_counts_whole_batches_of_each_epoch():
    count = counts(load("smoke", ["boards_per_stage=18", "grpo.max_steps=-1", "grpo.num_train_epochs=2"]))
    assert (count.steps, count.rollouts) == (2 * (18 // 4), 16)
    count = counts(load("paper"))
    assert (count.steps, count.trained) == (200, 3 * 4000 * 2 * 8)
