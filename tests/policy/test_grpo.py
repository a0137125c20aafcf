"""One training stage's parts: the reward function TRL calls, its config, and answers that stay with their prompts."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import TrainerControl, TrainerState

import jaxenv
from jaxenv.batches import to_numpy
from jaxenv.types import Label
from policy.board_reward import BoardReward, RewardSettings, size_metrics
from policy.checkpoints import StageState, last_whole
from policy.errors import PolicyError, RewardError
from policy.finetuning import precision_of
from policy.grpo import grpo_config
from policy.prompts import canonical_answer
from policy.reward import compute_reward
from policy.startup import check_truncation

END = 1


@pytest.fixture(scope="module")
def boards():
    return to_numpy(
        jaxenv.make_instances(
            [["...", "...", "..."], ["...", ".H.", "..."]],
            starts=[[(0, 0), (0, 2)], [(0, 0), (2, 2)]],
            goals=[[(0, 2), (2, 2)], [(2, 0), (0, 2)]],
        )
    )


def reward_of(boards, ability=0.4):
    return BoardReward(
        instances=boards,
        solutions=to_numpy(jaxenv.solve(boards)),
        style="compact",
        objective="sum_of_costs",
        settings=RewardSettings(max_tokens=64),
        end_tokens=frozenset({END}),
        budgets=np.array([6.0, 6.0]),
        ability=ability,
    )


def call(reward, texts, board, ids=None):
    logged = {}
    ids = ids or [[5] * len(text.split()) + [END] for text in texts]
    completions = [[{"role": "assistant", "content": text}] for text in texts]
    rewards = reward(completions=completions, completion_ids=ids, board=board, log_metric=logged.__setitem__)
    return rewards, logged


def test_each_answer_is_judged_on_its_own_board(boards):
    reward = reward_of(boards)
    answers = canonical_answer(reward.solutions.plans, boards, "compact")
    rewards, _ = call(reward, [answers[0], answers[1], answers[1], answers[0]], [0, 1, 0, 1])
    assert rewards[0] > 0.5 and rewards[1] > 0.5
    assert rewards[2] <= 0 and rewards[3] <= 0
    assert reward.rows[0]["label"][:2].tolist() == [Label.OPTIMAL, Label.OPTIMAL]
    assert reward.rows[0]["group"].tolist() == [0, 1, 0, 1]


def test_a_batch_is_scored_with_the_ability_before_it_and_moves_it_afterwards(boards):
    reward = reward_of(boards, ability=0.4)
    answer = canonical_answer(reward.solutions.plans, boards, "compact")[0]
    rewards, logged = call(reward, [answer], [0])
    assert rewards == compute_reward([True], [0.0], [len(answer.split()) + 1], [False], [6.0], 64, 0.4).tolist()
    assert logged["ability"] == 0.4
    assert reward.ability == pytest.approx(0.4 + 0.05 * 0.6)


def test_an_answer_without_its_end_token_is_truncated_and_gets_the_full_penalty(boards):
    reward = reward_of(boards)
    answer = canonical_answer(reward.solutions.plans, boards, "compact")[0]
    rewards, _ = call(reward, [answer, ""], [0, 0], ids=[[5] * 64, []])
    assert reward.rows[0]["label"].tolist() == [Label.TRUNCATED, Label.TRUNCATED]
    assert max(rewards) < 0


def test_every_part_of_the_reward_is_logged(boards):
    _, logged = call(reward_of(boards), [" R>r0c1 W>r0c2"], [0])
    assert {"reward/accuracy", "reward/length", "weights/length", "ability", "valid", "optimal"} <= set(logged)


def test_the_reward_can_be_pickled_and_has_the_name_that_trl_asks_for(boards):
    reward = reward_of(boards)
    assert pickle.loads(pickle.dumps(reward)).ability == reward.ability
    assert reward.__name__ == "board_reward"


def test_settings_that_break_a_promise_of_the_reward_are_refused_before_any_training(boards):
    reward = reward_of(boards)
    reward.settings = RewardSettings(max_tokens=64, rho=0.9)
    with pytest.raises(RewardError, match="rho"):
        call(reward, [""], [0])


def test_the_config_samples_without_bias_on_the_cpu_and_takes_the_recipes_options(tmp_path):
    options = {"learning_rate": 1e-4, "num_generations": 4, "per_device_train_batch_size": 8}
    args = grpo_config(options, work=tmp_path, max_tokens=48, seed=3)
    assert (args.temperature, args.top_p, args.top_k) == (1.0, 1.0, 0)
    assert args.use_cpu and not args.bf16 and not args.gradient_checkpointing
    assert (args.max_completion_length, args.seed, args.learning_rate) == (48, 3, 1e-4)
    assert args.scale_rewards == "batch" and args.report_to == []


@pytest.mark.parametrize(
    ("cuda", "bf16", "lora", "weights", "arithmetic"),
    [
        (False, False, False, torch.float32, None),
        (False, False, True, torch.float32, None),
        (True, True, False, torch.float32, "bf16"),
        (True, True, True, torch.bfloat16, "bf16"),
        (True, False, True, torch.float32, "fp16"),
    ],
)
def test_precision_follows_the_device_and_trained_weights_stay_whole(cuda, bf16, lora, weights, arithmetic):
    found = precision_of(cuda=cuda, bf16=bf16, lora=lora)
    assert found.weights == weights
    assert [name for name in ("bf16", "fp16") if getattr(found, name)] == ([arithmetic] if arithmetic else [])


def test_a_bfloat16_weight_would_not_feel_an_update_of_this_size():
    weight, update = torch.full((1,), 0.02), torch.full((1,), 1e-6)
    assert (weight + update != weight).all()
    assert (weight.bfloat16() + update.bfloat16() == weight.bfloat16()).all()


def test_columns_that_came_back_incomplete_are_refused(boards):
    # huggingface/trl/issues/2644 and huggingface/datasets/issues/7617
    for column in ([None], [0, 0], [2], [-1], [0.5]):
        with pytest.raises(RewardError, match="the column 'board'"):
            call(reward_of(boards), [""], column)


def test_each_size_says_how_many_groups_teach_nothing_and_why(boards):
    rows = {
        "board": np.array([4, 4, 7, 7, 5, 5, 9, 9]),
        "size": np.array([3, 3, 3, 3, 3, 3, 8, 8]),
        "valid": np.array([0, 0, 1, 1, 0, 1, 0, 0], dtype=bool),
        "tokens": np.array([1, 2, 3, 4, 5, 6, 7, 10]),
        "truncated": np.array([1, 0, 0, 0, 0, 0, 1, 1], dtype=bool),
    }
    assert size_metrics(rows) == pytest.approx(
        {
            "size/3/valid": 0.5,
            "size/3/tokens": 3.5,
            "size/3/truncated": 1 / 6,
            "size/3/all_wrong": 1 / 3,
            "size/3/all_right": 1 / 3,
            "size/8/valid": 0.0,
            "size/8/tokens": 8.5,
            "size/8/truncated": 1.0,
            "size/8/all_wrong": 1.0,
            "size/8/all_right": 0.0,
        }
    )


@pytest.mark.parametrize(("cut", "stops"), [(0.8, False), (0.9, True), (0.0, False)])
def test_a_training_whose_answers_are_mostly_cut_off_is_stopped_with_advice(boards, cut, stops):
    answers = [[5, 6] if row < cut * 10 else [5, END] for row in range(10)]
    if not stops:
        check_truncation(answers, reward_of(boards))
        return
    with pytest.raises(PolicyError, match=r"9 of 10 answers were cut off at 64 tokens .* raise reward\.max_tokens"):
        check_truncation(answers, reward_of(boards))


def test_an_interrupted_checkpoint_is_not_gone_on_from(boards, tmp_path):
    reward = reward_of(boards)
    call(reward, ["", ""], [0, 1])
    control = TrainerControl()
    for step in (9, 10, 11):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        if step < 11:  # of the last one a kill came before the state was written
            StageState(reward).on_save(
                SimpleNamespace(output_dir=str(tmp_path)), TrainerState(global_step=step), control
            )
    assert last_whole(tmp_path) == tmp_path / "checkpoint-10"
    assert last_whole(tmp_path / "nothing") is None
    other = reward_of(boards, ability=0.9)
    StageState(other).restore(tmp_path / "checkpoint-10")
    assert other.ability == reward.ability
    for name, column in reward.columns().items():
        np.testing.assert_array_equal(other.columns()[name], column)
    call(other, [""], [1])
    assert other.columns()["group"].tolist() == [0, 1, 2]
