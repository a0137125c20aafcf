"""Blocks of a recipe that say how a stage trains: its batch, its processes, its adapter."""

import difflib
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

LAUNCHES = Path(__file__).resolve().parent / "launch"
# What `batch` says once, in TRL's words.
OF_BATCH = (
    "num_generations",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
    "generation_batch_size",
)


class Block(BaseModel):
    """Unknown keys are refused, and nothing changes once it is checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BatchBlock(Block):
    """What one step of the optimiser learns from; TRL's batch sizes follow."""

    prompts: int = Field(32, ge=1, description="boards of one step")
    group: int = Field(8, ge=2, description="answers to each board")
    micro: int = Field(64, ge=1, description="answers in one forward and backward pass of one process")


class LaunchBlock(Block):
    """Train in several processes, started by `accelerate launch`; everything else is one process all the same."""

    processes: int = Field(2, ge=2, description="GPUs, or processes of a CPU")
    config: str = Field("ddp", description="ddp, fsdp2, zero2 or zero3, or the path of accelerate's config file")

    @field_validator("config")
    @classmethod
    def _is_there(cls, config: str) -> str:
        shipped = sorted(path.stem for path in LAUNCHES.glob("*.yaml"))
        if config not in shipped and not Path(config).is_file():
            raise ValueError(f"there is no config {config!r}{nearest(config, shipped)}; shipped: {', '.join(shipped)}")
        return config


class LoraBlock(Block):
    """Train an adapter on every linear layer instead of all weights; merged into the model after the stage."""

    rank: int = Field(32, ge=1)
    alpha: float = Field(64.0, gt=0, description="the adapter's share is scaled by alpha / rank")


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known one that is most like it, if any is."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
