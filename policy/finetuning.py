"""Which weights are trained, all of them or an adapter (LoRA), in which precision, and how they are saved."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from trl import GRPOTrainer

from policy import ranks
from policy.samplers import load_model


@dataclass(frozen=True)
class Precision:
    """Of the weights as they are held, and of the arithmetic (neither: that of the weights)."""

    weights: torch.dtype
    bf16: bool = False
    fp16: bool = False


def precision_of(*, cuda: bool, bf16: bool, lora: bool) -> Precision:
    """float32 on a CPU; on a GPU half-precision arithmetic, where weights that are trained stay float32.

    An update of GRPO is far below what bfloat16 can tell apart from the weight that it is added to. Frozen weights can
    be bfloat16; an adapter's own are float32 all the same.
    """
    if not cuda:
        return Precision(torch.float32)
    if not bf16:
        return Precision(torch.float32, fp16=True)
    return Precision(torch.bfloat16 if lora else torch.float32, bf16=True)


def adapter_config(lora: dict[str, Any]) -> LoraConfig:
    """An adapter on every linear layer but the head, which TRL cannot train through one."""
    return LoraConfig(
        r=int(lora["rank"]),
        lora_alpha=float(lora["alpha"]),
        lora_dropout=0.0,  # the sampler has none: with it the two would be different policies
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def save_model(trainer: GRPOTrainer, spec: str, weights: torch.dtype, out: Path) -> None:
    """The trained model and its tokenizer, whole: an adapter is merged into the model it was trained on.

    To be called in every process, for sharded weights are gathered; the first one writes.
    """
    model = trainer.accelerator.unwrap_model(trainer.model)
    sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
    adapted = isinstance(model, PeftModel)
    state = trainer.accelerator.get_state_dict(trainer.model_wrapped) if sharded else None
    if ranks.index() == 0:
        trainer.processing_class.save_pretrained(out)
        if not adapted:
            model.save_pretrained(out, state_dict=state)
        else:
            adapter = Path(trainer.args.output_dir) / "adapter"
            model.save_pretrained(adapter, state_dict=state)
            base, _ = load_model(spec, dtype=weights)
            PeftModel.from_pretrained(base, adapter).merge_and_unload().save_pretrained(out)
    ranks.wait()
