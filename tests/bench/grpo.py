"""What reward, parsing, logging and guards cost: a step of ours against a bare TRL trainer with a constant reward.

python -m tests.bench.grpo [--steps 8] [--rounds 3] [--out FILE]

All train the starter on the same boards with the batch of the recipe `starter`, one thread. The learning rate is 0,
so that answers stay as long as they are, whoever trains. In turns, `rounds` times `steps` steps each: `bare` is
`trl.GRPOTrainer`; `ours` is the whole trainer of a stage; `ours_constant` is our trainer, which samples and packs
otherwise than TRL's, with a constant reward and without our callbacks. The rehearsal is off, for it is training. Prints
a row; the ratios are of medians over all steps but the first of each round, which has what is done once in a stage:
compiling the verifier, and the log-probabilities of the first batch.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import jax
import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOTrainer

import jaxenv
from experiments.recipe import load
from jaxenv.batches import to_numpy
from policy.board_reward import BoardReward, RewardSettings
from policy.checkpoints import StageState
from policy.grpo import _end_tokens, _Log, grpo_config
from policy.prompts import canonical_answer, render
from policy.reward import free_budget
from policy.samplers import load_model
from policy.startup import StartupChecks
from policy.trainer import BoardTrainer
from tests.slow.rows import setting, tell


class Clock(TrainerCallback):
    """Seconds of each step, from the end of the one before."""

    def __init__(self):
        self.seconds, self._last = [], 0.0

    def on_train_begin(self, *_, **__):
        self._last = time.perf_counter()

    def on_step_end(self, *_, **__):
        now = time.perf_counter()
        self.seconds.append(now - self._last)
        self._last = now


def constant(completions, **_):
    return [0.5] * len(completions)


def run(kind, boards, recipe, steps, seed, work):
    """The seconds of each step but the first."""
    model, tokenizer = load_model(recipe.model)
    options = {**recipe.trl(), "max_steps": steps, "learning_rate": 0.0}
    args = grpo_config(options, work=work, max_tokens=recipe.reward.max_tokens, seed=seed)
    prompts = [[{"role": "user", "content": text}] for text in render(boards.instances, recipe.style)]
    data = Dataset.from_dict({"prompt": prompts, "board": list(range(len(boards)))})
    clock, common = Clock(), {"model": model, "processing_class": tokenizer, "args": args, "train_dataset": data}
    if kind == "bare":
        trainer = GRPOTrainer(reward_funcs=constant, callbacks=[clock], **common)
    elif kind == "ours_constant":
        trainer = BoardTrainer(reward_funcs=constant, callbacks=[clock], **common)
    else:
        answers = canonical_answer(boards.solutions.plans, boards.instances, recipe.style)
        lengths = [len(ids) + 1 for ids in tokenizer(answers, add_special_tokens=False)["input_ids"]]
        reward = BoardReward(
            instances=to_numpy(boards.instances),
            solutions=to_numpy(boards.solutions),
            style=recipe.style,
            objective=recipe.objective,
            settings=RewardSettings(**recipe.reward.model_dump()),
            end_tokens=_end_tokens(model, tokenizer),
            budgets=free_budget(lengths, recipe.reward.max_tokens),
            ability=0.5,
        )
        checks = StartupChecks(reward, probe=True)
        lines = (work / "metrics.jsonl").open("a")
        log = _Log(lambda row: print(json.dumps(row), file=lines, flush=True), lambda *_: None)
        trainer = BoardTrainer(reward_funcs=reward, callbacks=[log, StageState(reward), checks, clock], **common)
        checks.trainer = trainer
    trainer.train()
    return clock.seconds[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parsed = parser.parse_args()
    torch.set_num_threads(1)
    recipe = load("starter")
    sizes = {str(size): {"data_ratio": 1 / 8, "hole_ratio": 0.2, "wait_ratio": 0.25} for size in range(3, 11)}
    config = jaxenv.EnvConfig.from_json({"maps": sizes}, num_agents=2)
    boards = jaxenv.generate(jax.random.key(0), config, recipe.boards_per_stage)
    seconds = {kind: [] for kind in ("bare", "ours", "ours_constant")}
    for number in range(parsed.rounds):
        for kind, taken in seconds.items():
            with tempfile.TemporaryDirectory() as work:
                taken += run(kind, boards, recipe, parsed.steps, number, Path(work))
    median = {kind: statistics.median(taken) for kind, taken in seconds.items()}
    row = {
        "bench": "grpo_step",
        "model": recipe.model,
        "boards": recipe.batch.prompts,
        "group": recipe.batch.group,
        "timed_steps": len(seconds["bare"]),
        "seconds_median": {kind: round(value, 4) for kind, value in median.items()},
        "seconds_worst": {kind: round(max(taken), 4) for kind, taken in seconds.items()},
        "ratio_to_bare": round(median["ours"] / median["bare"], 4),
        "ratio_to_constant_reward": round(median["ours"] / median["ours_constant"], 4),
        **setting("torch", "trl", "transformers"),
        "torch_threads": torch.get_num_threads(),
    }
    tell(row, parsed.out)


if __name__ == "__main__":
    main()
