"""vLLM as the sampler of TRL's trainer: which engine is built, and with which seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from trl import GRPOConfig
from trl.generation import vllm_generation
from trl.generation.vllm_generation import VLLMGeneration
from trl.trainer import grpo_trainer


class SeededGeneration(VLLMGeneration):
    """TRL's generation whose colocated engine is seeded by the run.

    TRL seeds it by the number of the process alone, so that runs of different seeds draw the same answers
    (huggingface/trl/pull/7040). A server has the seed that it was started with.
    """

    engine: ClassVar[dict[str, Any]] = {}  # options of the engine beside TRL's own

    def __init__(self, *args: Any, seed: int, **options: Any) -> None:
        self._seed = seed
        super().__init__(*args, **options)

    def _init_vllm(self) -> None:
        if self.mode == "server":
            super()._init_vllm()
            return
        original = vllm_generation.LLM
        vllm_generation.LLM = self._build(original)
        try:
            super()._init_vllm()
        finally:
            vllm_generation.LLM = original

    def _build(self, engine: Any) -> Any:
        def build(*, seed: int, **options: Any) -> Any:
            # TRL's own is the number of the group of processes that share an engine.
            return engine(**{**options, **self.engine, "seed": self._seed + seed})

        return build


@contextmanager
def fitted(args: GRPOConfig) -> Iterator[None]:
    """Within it a trainer with these arguments is built with the engine that fits; without vLLM nothing changes."""
    if not args.use_vllm:
        yield
        return
    generation: type[SeededGeneration] = SeededGeneration
    if args.use_cpu:
        from policy.vllm_cpu_training import CpuGeneration

        generation = CpuGeneration
    original = grpo_trainer.VLLMGeneration
    grpo_trainer.VLLMGeneration = partial(generation, seed=args.seed)
    try:
        yield
    finally:
        grpo_trainer.VLLMGeneration = original
