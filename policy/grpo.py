"""One training stage: TRL's GRPO on boards of one data set, judged by the verifier, rewarded by `policy.reward`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset as TextDataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, TrainerControl, TrainerState
from trl import GRPOConfig

import jaxenv
from jaxenv.batches import to_numpy
from policy.board_reward import BoardReward, Columns, RewardSettings
from policy.checkpoints import StageState, last_whole
from policy.errors import PolicyError
from policy.finetuning import Precision, adapter_config, precision_of, save_model
from policy.prompts import canonical_answer, render
from policy.reward import free_budget
from policy.samplers import load_model
from policy.startup import StartupChecks
from policy.trainer import BoardTrainer

LogMetrics = Callable[[dict[str, Any]], None]
Progress = Callable[[int, int, dict[str, float]], None]


class _Log(TrainerCallback):
    """Hands the trainer's log and progress on; one process speaks for all."""

    def __init__(self, log: LogMetrics, progress: Progress) -> None:
        self._log, self._progress = log, progress

    def on_log(
        self, args: Any, state: TrainerState, control: TrainerControl, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        if logs and "reward" in logs and state.is_world_process_zero:
            numbers = {key: value for key, value in logs.items() if isinstance(value, int | float)}
            self._log({"step": state.global_step, **numbers})
            self._progress(state.global_step, state.max_steps, {"reward": numbers["reward"], "valid": numbers["valid"]})


def train_stage(
    model_spec: str,
    boards: jaxenv.Dataset,
    *,
    out: Path,
    style: str,
    objective: str,
    settings: RewardSettings,
    grpo: dict[str, Any],
    prior_valid: float,
    seed: int,
    log: LogMetrics,
    progress: Progress,
    probe: bool,
    lora: dict[str, Any] | None = None,
) -> Columns:
    """Train one stage and save the model into `out`; every process of the training calls it with the same arguments.

    Goes on from the last whole checkpoint under `out`, if the recipe lets the trainer save any (`grpo.save_strategy`).

    Args: `prior_valid` the incoming checkpoint's valid rate on the validation set, where the ability starts; `grpo`
    any options of TRL's GRPOConfig; `probe` whether to sample a few answers first, to see that they come to an end;
    `lora` the adapter's shape, None to train all weights.
    Returns: one row per training completion as columns (`BoardReward`).
    Raises:
        PolicyError: the settings cannot work, or a check of the start-up or a guard stops the training.
    """
    cuda = torch.cuda.is_available()
    precision = precision_of(cuda=cuda, bf16=cuda and torch.cuda.is_bf16_supported(), lora=lora is not None)
    model, tokenizer = load_model(model_spec, dtype=precision.weights)
    answers = canonical_answer(boards.solutions.plans, boards.instances, style)
    optimal_tokens = [len(ids) + 1 for ids in tokenizer(answers, add_special_tokens=False)["input_ids"]]
    reward = BoardReward(
        instances=to_numpy(boards.instances),
        solutions=to_numpy(boards.solutions),
        style=style,
        objective=objective,
        settings=settings,
        end_tokens=_end_tokens(model, tokenizer),
        budgets=free_budget(optimal_tokens, settings.max_tokens, settings.think_budget),
        ability=prior_valid,
    )
    work = out / "checkpoints"
    state, checks = StageState(reward), StartupChecks(reward, probe=probe)
    trainer = BoardTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=grpo_config(grpo, work=work, max_tokens=settings.max_tokens, seed=seed, precision=precision),
        peft_config=None if lora is None else adapter_config(lora),
        train_dataset=TextDataset.from_dict(
            {
                "prompt": [
                    [{"role": "user", "content": text}] for text in render(boards.instances, style, objective=objective)
                ],
                "board": list(range(len(boards))),
            }
        ),
        callbacks=[_Log(log, progress), state, checks],
    )
    checks.trainer = trainer
    checkpoint = last_whole(work)
    if checkpoint is not None:
        state.restore(checkpoint)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    save_model(trainer, model_spec, precision.weights, out)
    return reward.columns()


def grpo_config(
    options: dict[str, Any], *, work: Path, max_tokens: int, seed: int, precision: Precision | None = None
) -> GRPOConfig:
    """TRL's config: what the device and the design settle, then the recipe's own options.

    Raises:
        PolicyError: a checkpoint would fall between the updates of one generation batch, whose answers are not saved.
    """
    cuda = torch.cuda.is_available()
    precision = precision or precision_of(cuda=cuda, bf16=cuda and torch.cuda.is_bf16_supported(), lora=False)
    defaults: dict[str, Any] = {
        "output_dir": str(work),
        "use_cpu": not cuda,
        "bf16": precision.bf16,
        "fp16": precision.fp16,
        "gradient_checkpointing": cuda,
        "seed": seed,
        "max_completion_length": max_tokens,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "scale_rewards": "batch",
        "beta": 0.0,
        "save_strategy": "no",
        "save_total_limit": 2,  # a kill while the newest is written leaves the one before
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "num_train_epochs": 1,
    }
    args = GRPOConfig(**{**defaults, **options})
    updates = max(1, args.steps_per_generation * args.num_iterations // args.gradient_accumulation_steps)
    if args.save_strategy == "steps" and args.save_steps % updates:
        raise PolicyError(
            f"grpo.save_steps is {args.save_steps:g}, and answers are sampled for {updates} steps at a time: a resumed "
            f"stage would sample others; set it to a multiple of {updates}"
        )
    return args


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every token that ends an answer: the tokenizer's, and those the model's generation config names."""
    named = model.generation_config.eos_token_id if model.generation_config is not None else None
    ends = {int(tokenizer.eos_token_id)}
    if named is not None:
        ends.update(named if isinstance(named, list) else [named])
    return frozenset(ends)
