"""One GRPO training with vLLM as its sampler, in a process of its own: what sampler and trainer said of each batch.

python -m tests.vllm.grpo_run MODEL OUT.json --seed 1 [--server URL]
"""

import argparse
import copy
import json
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from policy.vllm_training import fitted

STEPS = 7  # so that six updates are followed by a batch
PROMPT = "board size3 agents2 a0 r0c0 to r2c2 a1 r2c2 to r0c0 holes r0c2 moves"


def reward(completion_ids, **_):
    """Answers with few words twice."""
    return [float(len(set(ids))) for ids in completion_ids]


class Recorder(GRPOTrainer):
    """Notes of every batch how far the sampler is from the trainer, and from a trainer with the first weights."""

    def _generate_and_score_completions(self, inputs):
        batch = super()._generate_and_score_completions(inputs)
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
        mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
        width, counted = batch["completion_ids"].shape[1], batch["completion_mask"].bool()

        def apart(model):
            with torch.no_grad():
                said = self._get_per_token_logps_and_entropies(model, ids, mask, width)[0]
            return float((said - batch["sampling_per_token_logps"]).abs()[counted].max())

        self.batches.append({"apart": apart(self.model), "stale": apart(self.first), "ids": ids.tolist()})
        return batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--server")
    asked = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(asked.model, dtype=torch.float32)
    where = {"vllm_mode": "server", "vllm_server_base_url": asked.server} if asked.server else {"vllm_mode": "colocate"}
    args = GRPOConfig(
        output_dir=str(asked.out.with_suffix("")),
        seed=asked.seed,
        **{"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "use_vllm": True, **where},
        **{"per_device_train_batch_size": 8, "num_generations": 8, "max_steps": STEPS, "max_completion_length": 24},
        **{"temperature": 1.0, "top_p": 1.0, "top_k": 0, "learning_rate": 1e-3, "scale_rewards": "batch", "beta": 0.0},
        **{"report_to": "none", "save_strategy": "no", "logging_steps": 1, "disable_tqdm": True},
        vllm_max_model_length=256,
    )
    with fitted(args):
        trainer = Recorder(
            model=model,
            processing_class=AutoTokenizer.from_pretrained(asked.model, padding_side="left"),
            reward_funcs=reward,
            args=args,
            train_dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": PROMPT}]] * 64}),
        )
    trainer.batches, trainer.first = [], copy.deepcopy(model).eval()
    trainer.train()
    key = "sampling/sampling_logp_difference/max"
    logged = [row[key] for row in trainer.state.log_history if key in row]
    asked.out.write_text(json.dumps({"batches": trainer.batches, "logged": logged}))


if __name__ == "__main__":
    main()
