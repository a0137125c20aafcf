"""Blocks of a recipe that say how a stage trains, from who draws the answers to the rehearsal at its end."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from policy.errors import RewardError
from policy.reward import check_reward

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


class SamplerBlock(Block):
    """Who draws the answers, in training, evaluation and for the engineer alike; see docs/samplers.md."""

    name: Literal["hf", "vllm", "openai"] = Field(
        "hf", description="transformers, vLLM, or any OpenAI-compatible endpoint, which cannot be trained"
    )
    mode: Literal["colocate", "server"] = Field(
        "colocate", description="of vLLM: in the step's own process, or a server of `python -m policy.vllm_server`"
    )
    base_url: str | None = Field(None, description="of the server or endpoint, whose key is in OPENAI_API_KEY")
    thinking: bool = Field(False, description="let the model think first, where its chat template can tell it to")
    memory: float = Field(0.3, gt=0, lt=1, description="share of the GPU that a colocated vLLM takes beside a training")
    requests_per_minute: float | None = Field(None, gt=0, description="of an endpoint; as many as it bears when null")
    input_price: float = Field(0.0, ge=0, description="of an endpoint, US dollars for a million tokens")
    output_price: float = Field(0.0, ge=0, description="of an endpoint, US dollars for a million tokens")
    budget: float | None = Field(None, gt=0, description="US dollars that one evaluation by an endpoint may cost")

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "SamplerBlock":
        needs = self.name == "openai" or (self.name == "vllm" and self.mode == "server")
        if needs and self.base_url is None:
            raise ValueError(f"the sampler {self.name!r} needs sampler.base_url, the address of its server")
        if self.base_url is not None and not needs:
            raise ValueError("sampler.base_url is set, and no server is asked: set sampler.name and sampler.mode too")
        if self.budget is not None and not (self.input_price or self.output_price):
            raise ValueError("sampler.budget needs sampler.input_price and sampler.output_price to be reckoned with")
        return self

    def trl(self) -> dict[str, Any]:
        """The options of TRL's GRPOConfig that follow."""
        told: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": self.thinking}}
        if self.name == "vllm":
            told |= {"use_vllm": True, "vllm_mode": self.mode, "vllm_gpu_memory_utilization": self.memory}
            if self.base_url is not None:
                told["vllm_server_base_url"] = self.base_url.rstrip("/").removesuffix("/v1")
        return told


class RewardBlock(Block):
    """See policy.reward."""

    schedule: Literal["adaptive", "reverse", "constant", "off"] = "adaptive"
    max_tokens: int = Field(96, ge=1, description="tokens of an answer, in training and evaluation alike")
    think_budget: int = Field(0, ge=0)
    rho: float = Field(0.5, ge=0, lt=1)
    gap_max: float = Field(1.0, gt=0)

    @model_validator(mode="after")
    def _valid_beats_invalid(self) -> "RewardBlock":
        try:
            check_reward(self.schedule, self.rho, self.gap_max)
        except RewardError as error:
            raise ValueError(str(error)) from error
        return self


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


class RehearsalBlock(Block):
    """Config-writing examples at the end of a training stage, so that RL on boards does not cost the model its JSON."""

    steps: int = Field(0, ge=0, description="of some eight examples each, after the stage's RL")
    targets: Literal["teacher", "format"] = "teacher"


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known one that is most like it, if any is."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
