"""Whole stages of a few steps on the starter: what is checked before and while it trains, and what comes out."""

import jax
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import jaxenv
import policy.trainer
from engineer.evidence import count_rows
from policy.board_reward import RewardSettings
from policy.errors import PolicyError, RewardError
from policy.grpo import train_stage
from policy.samplers import load_model, resolve_model

GROUP = 4
GRPO = {
    "num_generations": GROUP,
    "per_device_train_batch_size": 16,
    "gradient_accumulation_steps": 2,
    "max_steps": 2,
    "learning_rate": 1e-3,
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def boards():
    sizes = {str(size): {"data_ratio": 1 / 8, "hole_ratio": 0.2, "wait_ratio": 0.25} for size in range(3, 11)}
    return jaxenv.generate(jax.random.key(2), jaxenv.EnvConfig.from_json({"maps": sizes}, num_agents=2), 16)


def train(boards, out, *, max_tokens=48, probe=True, lora=None, seed=3, **grpo):
    logged = []
    columns = train_stage(
        "starter",
        boards,
        out=out,
        style="compact",
        objective="sum_of_costs",
        settings=RewardSettings(max_tokens=max_tokens),
        grpo={**GRPO, **grpo},
        prior_valid=0.5,
        seed=seed,
        log=logged.append,
        progress=lambda *_: None,
        probe=probe,
        lora=lora,
    )
    return columns, logged


@pytest.fixture(scope="module")
def stage(boards, tmp_path_factory):
    out = tmp_path_factory.mktemp("stage")
    return out, *train(boards, out)


def test_each_step_logs_every_size_as_the_engineers_evidence_counts_it(stage):
    _, columns, logged = stage
    assert [row["step"] for row in logged] == [1, 2]
    answers = len(columns["valid"]) // 2
    for step, row in enumerate(logged):
        here = {name: column[step * answers : (step + 1) * answers] for name, column in columns.items()}
        counted = count_rows(here)
        assert sum(each.groups for each in counted) == answers / GROUP
        assert {name.split("/")[1] for name in row if name.startswith("size/")} == {str(each.size) for each in counted}
        for each in counted:
            expected = {
                "valid": each.valid / each.n,
                "tokens": each.tokens,
                "truncated": each.truncated / each.n,
                "all_wrong": each.groups_wrong / each.groups,
                "all_right": each.groups_right / each.groups,
            }
            for name, value in expected.items():
                assert row[f"size/{each.size}/{name}"] == pytest.approx(value, abs=1e-4)


def test_a_group_has_one_board_and_a_board_met_again_is_another_group(stage):
    _, columns, _ = stage
    groups = {}
    for group, board in zip(columns["group"].tolist(), columns["board"].tolist(), strict=True):
        groups.setdefault(group, []).append(board)
    assert all(len(held) == GROUP and len(set(held)) == 1 for held in groups.values())
    assert sorted(groups) == list(range(len(groups)))
    assert len(groups) == len(columns["board"]) / GROUP


def test_the_sampler_agrees_with_the_trainer_and_the_log_says_so(stage):
    _, _, logged = stage
    assert abs(logged[0]["sampling/mean_difference"]) < 1e-4
    assert "sampling/mean_difference" not in logged[1]  # transformers samples with the very weights that are trained


def test_a_sampler_with_other_weights_stops_the_training_before_its_first_update(boards, tmp_path, monkeypatch):
    true = policy.trainer.sample_with_log_probs

    def stale(*args, **options):
        answers, scores = true(*args, **options)
        return answers, [[score + 0.06 for score in each] for each in scores]

    monkeypatch.setattr(policy.trainer, "sample_with_log_probs", stale)
    logged = []
    with pytest.raises(PolicyError, match=r"differ by -0\.06"):
        logged = train(boards, tmp_path)[1]
    assert not logged and not (tmp_path / "model.safetensors").exists()


def test_answers_that_never_end_stop_the_training_with_advice(boards, tmp_path):
    with pytest.raises(PolicyError, match=r"16 of 16 answers were cut off at 2 tokens .* raise reward\.max_tokens"):
        train(boards, tmp_path, max_tokens=2)
    columns, _ = train(boards, tmp_path, max_tokens=2, probe=False, max_steps=1)
    assert columns["truncated"].all()


def test_looking_at_answers_first_changes_nothing_in_what_is_trained(boards, stage, tmp_path):
    out, columns, _ = stage
    unseen, _ = train(boards, tmp_path, probe=False)
    assert (tmp_path / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
    for name, column in columns.items():
        np.testing.assert_array_equal(unseen[name], column)


def test_another_seed_gives_other_boards_and_other_answers(boards, stage, tmp_path):
    # huggingface/trl/pull/7040: an engine seeded by its process alone answers every run alike.
    _, columns, _ = stage
    other, _ = train(boards, tmp_path, probe=False, seed=4, max_steps=1)
    first = len(other["board"])
    assert other["board"].tolist() != columns["board"][:first].tolist()
    assert other["tokens"].tolist() != columns["tokens"][:first].tolist()


def test_a_missing_column_is_found_before_the_first_step(boards, tmp_path):
    with pytest.raises(RewardError, match=r"'board' .* holds None; .*remove_unused_columns"):
        train(boards, tmp_path, remove_unused_columns=True)


def test_a_checkpoint_between_the_updates_of_one_batch_of_answers_is_refused(boards, tmp_path):
    with pytest.raises(PolicyError, match="set it to a multiple of 2"):
        train(boards, tmp_path, save_strategy="steps", save_steps=3, num_iterations=2)


def test_an_adapter_trains_the_linear_layers_and_is_merged_into_a_whole_model(boards, tmp_path):
    train(boards, tmp_path, lora={"rank": 4, "alpha": 8.0}, probe=False)
    before, after = (load_file(f"{place}/model.safetensors") for place in (resolve_model("starter"), tmp_path))
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if name.endswith("_proj.weight")}
    moved = after["model.layers.0.mlp.up_proj.weight"] - before["model.layers.0.mlp.up_proj.weight"]
    assert np.linalg.matrix_rank(moved.numpy(), tol=1e-6) <= 4
    model, tokenizer = load_model(str(tmp_path))
    assert len(tokenizer) and sum(p.numel() for p in model.parameters())
