"""TRL's GRPO trainer with our sampling, less padding, and the guard of the sampler."""

import copy
from typing import Any

import torch
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import unwrap_model_for_generation

from policy.agreement import check_agreement, mean_difference
from policy.batching import sort_and_trim
from policy.decoding import sample, sample_with_log_probs
from policy.vllm_training import fitted

_SAMPLED_TOGETHER = 128  # rows of one transformers batch


class BoardTrainer(GRPOTrainer):
    """TRL's GRPO with micro-batches of similar length, and answers of this project's decoding.

    Where a sampler reports log-probabilities they are held against the trainer's before the update: of vLLM always, of
    transformers, which samples with the weights that are trained, in the first batch of a process.
    """

    _buffered_inputs: Any
    _compared = False

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

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        """TRL's batch, once the sampler's log-probabilities agree with the trainer's."""
        batch = super()._generate_and_score_completions(inputs)
        if self.model.training and "sampling_per_token_logps" in batch:
            self._compare(batch)
            if not self.use_vllm:
                del batch["sampling_per_token_logps"]
        return batch

    def _compare(self, batch: Any) -> None:
        """As many rows as fit into one forward pass, of each process."""
        rows = self.args.per_device_train_batch_size
        ours = batch.get("old_per_token_logps")
        if ours is None:
            width = batch["completion_ids"].shape[1]
            ids, mask = (
                torch.cat([batch[f"prompt_{name}"], batch[f"completion_{name}"]], 1)[:rows] for name in ("ids", "mask")
            )
            with torch.no_grad():
                ours = self._get_per_token_logps_and_entropies(self.model, ids, mask, width, batch_size=rows)[0]
        said, mask = batch["sampling_per_token_logps"], batch["completion_mask"]
        difference = mean_difference(said[: len(ours)], ours, mask[: len(ours)])
        self._metrics["train"]["sampling/mean_difference"].append(difference)
        self._compared = True
        check_agreement(difference, f"vLLM, {self.vllm_mode}" if self.use_vllm else "transformers")

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: int, *rest: Any, **more: Any
    ) -> tuple[list[list[int]], Any]:
        """TRL's, or `policy.decoding` where transformers samples."""
        plain = not (self.use_vllm or self.use_transformers_continuous_batching or multimodal_fields)
        # Sharded weights have to be gathered, and TRL knows how.
        if not plain or images is not None or self.is_fsdp_enabled or self.is_deepspeed_enabled:
            answered: tuple[list[list[int]], Any] = super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, *rest, **more
            )
            return answered
        config = copy.deepcopy(self.generation_config)
        config.eos_token_id = self.eos_token_ids  # TRL's own call names only one and cuts at the others afterwards
        unwrapped = unwrap_model_for_generation(
            self.model_wrapped,
            self.accelerator,
            generation_kwargs=self.generation_kwargs,
            gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
        )
        limit = self.max_completion_length
        with unwrapped as model, torch.no_grad(), self.accelerator.autocast():
            if self._compared or not self.model.training:
                return sample(model, prompt_ids, config, limit, batch=_SAMPLED_TOGETHER), None
            return sample_with_log_probs(model, prompt_ids, config, limit, batch=_SAMPLED_TOGETHER)
