"""One training stage's parts: the reward function TRL calls, its config, and answers that stay with their prompts."""

import pickle

import numpy as np
import pytest

import jaxenv
from jaxenv.batches import to_numpy
from jaxenv.types import Label
from policy.errors import RewardError
from policy.grpo import BoardReward, RewardSettings, grpo_config
from policy.prompts import canonical_answer
from policy.reward import compute_reward

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
