"""One training stage: TRL's GRPO on boards of one data set, judged by the verifier, rewarded by `policy.reward`."""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset as TextDataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, TrainerControl, TrainerState
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import unwrap_model_for_generation

import jaxenv
from jaxenv.batches import take, to_numpy
from policy.batching import sort_and_trim
from policy.decoding import sample
from policy.prompts import canonical_answer, render
from policy.reward import free_budget, reward_parts, update_ability
from policy.samplers import load_model
from policy.texts import verify_texts
from policy.vllm_training import fitted

LogMetrics = Callable[[dict[str, Any]], None]
Progress = Callable[[int, int, dict[str, float]], None]
_ABILITY_FILE = "ability.json"
_SAMPLED_TOGETHER = 128  # rows of one transformers batch


@dataclass(frozen=True)
class RewardSettings:
    """The recipe's choices for the reward; `policy.reward` says what they mean."""

    max_tokens: int
    schedule: str = "adaptive"
    think_budget: int = 0
    rho: float = 0.5
    gap_max: float = 1.0
    thinking: bool = False  # the model was asked to think first


@dataclass
class BoardReward:
    """The reward function TRL calls once per generation batch: texts to verdicts to rewards.

    Boards are looked up by the column `board`, since nested columns come back incomplete. Every completion's row is
    kept in `rows`, for the evidence of the engineer.
    """

    instances: jaxenv.Instances  # NumPy arrays, as are those of the solutions
    solutions: jaxenv.Solutions
    style: str
    objective: str
    settings: RewardSettings
    end_tokens: frozenset[int]
    budgets: np.ndarray  # f64[B] free tokens of each board
    ability: float
    rows: list[dict[str, np.ndarray]] = field(default_factory=list)
    __name__ = "board_reward"

    def __call__(
        self,
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        board: Sequence[int],
        log_metric: Callable[[str, float], None],
        **_: object,
    ) -> list[float]:
        """One reward per completion, in order."""
        index = np.asarray(board)
        tokens = np.array([len(ids) for ids in completion_ids])
        truncated = np.array([not ids or ids[-1] not in self.end_tokens for ids in completion_ids])
        instances, solutions = take(self.instances, index), take(self.solutions, index)
        verdicts = verify_texts(
            instances,
            solutions,
            [c if isinstance(c, str) else c[-1]["content"] for c in completions],
            style=self.style,
            truncated=truncated,
            thinking=self.settings.thinking,
            objective=self.objective,
        )
        valid, gap = np.asarray(verdicts.valid), np.asarray(verdicts.gap)
        parts = reward_parts(
            valid,
            gap,
            tokens,
            truncated,
            self.budgets[index],
            self.settings.max_tokens,
            self.ability,
            schedule=self.settings.schedule,
            rho=self.settings.rho,
            gap_max=self.settings.gap_max,
        )
        log_metric("reward/accuracy", float(parts.accuracy.mean()))
        log_metric("reward/length", float(parts.excess.mean()))
        log_metric("weights/length", parts.length_weight)
        log_metric("ability", self.ability)
        log_metric("valid", float(valid.mean()))
        log_metric("optimal", float(np.asarray(verdicts.optimal).mean()))
        self.rows.append(
            {
                "group": index,
                "size": instances.size,
                "num_agents": instances.num_agents,
                "label": np.asarray(verdicts.label),
                "valid": valid,
                "optimal": np.asarray(verdicts.optimal),
                "gap": gap,
                "tokens": tokens,
                "truncated": truncated,
                "needs_wait": solutions.needs_wait,
                "reward": parts.reward,
            }
        )
        self.ability = update_ability(self.ability, valid)
        return [float(value) for value in parts.reward]


class BoardTrainer(GRPOTrainer):
    """TRL's GRPO with micro-batches of similar length, and answers of this project's decoding on one process."""

    _buffered_inputs: Any

    def __init__(self, *, args: GRPOConfig, **options: Any) -> None:
        with fitted(args):
            super().__init__(args=args, **options)

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """TRL's micro-batches; where all of them make one optimiser step, those of similar length are put together."""
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        one_step = self.args.steps_per_generation == self.args.gradient_accumulation_steps
        if self.model.training and one_step and self.args.loss_type == "dapo" and self._buffered_inputs is not before:
            self._buffered_inputs = sort_and_trim(self._buffered_inputs)
            inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]
        return inputs

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: int, *rest: Any, **more: Any
    ) -> tuple[list[list[int]], Any]:
        """TRL's, or `policy.decoding` where transformers samples."""
        plain = not (self.use_vllm or self.use_transformers_continuous_batching or multimodal_fields)
        # Over several processes weights may be sharded; TRL knows how to gather them.
        if not plain or images is not None or self.accelerator.num_processes > 1:
            answered: tuple[list[list[int]], Any] = super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, *rest, **more
            )
            return answered
        config = copy.deepcopy(self.generation_config)
        config.eos_token_id = self.eos_token_ids  # TRL's own call names only one and cuts at the others afterwards
        unwrapped = unwrap_model_for_generation(
            self.model_wrapped, self.accelerator, generation_kwargs=self.generation_kwargs
        )
        with unwrapped as model, torch.no_grad():
            return sample(model, prompt_ids, config, self.max_completion_length, batch=_SAMPLED_TOGETHER), None


class _Log(TrainerCallback):
    """Hands the trainer's log and progress on, and keeps the ability with each checkpoint."""

    def __init__(self, reward: BoardReward, log: LogMetrics, progress: Progress) -> None:
        self._reward, self._log, self._progress = reward, log, progress

    def on_log(
        self, args: Any, state: TrainerState, control: TrainerControl, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        if logs and "reward" in logs:
            numbers = {key: value for key, value in logs.items() if isinstance(value, int | float)}
            self._log({"step": state.global_step, **numbers})
            self._progress(state.global_step, state.max_steps, {"reward": numbers["reward"], "valid": numbers["valid"]})

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        (folder / _ABILITY_FILE).write_text(json.dumps(self._reward.ability))


def train_stage(
    model_spec: str,
    boards: jaxenv.Dataset,
    *,
    work: Path,
    style: str,
    objective: str,
    settings: RewardSettings,
    grpo: dict[str, Any],
    prior_valid: float,
    seed: int,
    log: LogMetrics,
    progress: Progress,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, dict[str, np.ndarray]]:
    """Train one stage; goes on from the last checkpoint in `work` if the recipe lets the trainer save any.

    Args: `prior_valid` the incoming checkpoint's valid rate on the validation set, where the ability starts; `grpo`
    any options of TRL's GRPOConfig.
    Returns: the trained model, its tokenizer, and one row per training completion as columns.
    """
    model, tokenizer = load_model(model_spec)
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
    args = grpo_config(grpo, work=work, max_tokens=settings.max_tokens, seed=seed)
    trainer = BoardTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=args,
        train_dataset=TextDataset.from_dict(
            {
                "prompt": [[{"role": "user", "content": text}] for text in render(boards.instances, style)],
                "board": list(range(len(boards))),
            }
        ),
        callbacks=[_Log(reward, log, progress)],
    )
    checkpoint = get_last_checkpoint(str(work)) if work.exists() else None
    if checkpoint is not None:
        reward.ability = json.loads((Path(checkpoint) / _ABILITY_FILE).read_text())
    trainer.train(resume_from_checkpoint=checkpoint)
    columns = {name: np.concatenate([row[name] for row in reward.rows]) for name in reward.rows[0]}
    return model, tokenizer, columns


def grpo_config(options: dict[str, Any], *, work: Path, max_tokens: int, seed: int) -> GRPOConfig:
    """TRL's config: what the device and the design settle, then the recipe's own options."""
    cuda = torch.cuda.is_available()
    defaults: dict[str, Any] = {
        "output_dir": str(work),
        "use_cpu": not cuda,
        "bf16": cuda,
        "gradient_checkpointing": cuda,
        "seed": seed,
        "max_completion_length": max_tokens,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "scale_rewards": "batch",
        "beta": 0.0,
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "num_train_epochs": 1,
    }
    return GRPOConfig(**{**defaults, **options})


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every token that ends an answer: the tokenizer's, and those the model's generation config names."""
    named = model.generation_config.eos_token_id if model.generation_config is not None else None
    ends = {int(tokenizer.eos_token_id)}
    if named is not None:
        ends.update(named if isinstance(named, list) else [named])
    return frozenset(ends)
