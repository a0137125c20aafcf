"""vLLM on a CPU: everything that the engine needs there and nowhere else.

On a CPU vLLM's linear layers hold their weights repacked. A tied head would keep its first weights silently, and TRL's
stock transfer fails (`policy.vllm_cpu_training` has another one). What is done here is guarded by the tests of
`tests/vllm`, which hold the sampler's log-probabilities against the trainer's after every update. On CUDA none of it is
used.
"""

import os
import sys
from collections.abc import Iterable
from typing import Any

import torch

# Exact agreement with a trainer in float32 needs the same here; compiled graphs take minutes and win nothing.
ENGINE: dict[str, Any] = {"dtype": "float32", "enforce_eager": True, "gpu_memory_utilization": 0.1}


def environment() -> dict[str, str]:
    """What the engine's process needs in its environment before vLLM is imported."""
    return {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


def prepare() -> None:
    """Make this process fit for an engine: the environment, and a fault of vLLM 0.31 beside numba."""
    for name, value in environment().items():
        os.environ.setdefault(name, value)
    bindings = sys.modules.get("llvmlite.binding.ffi")
    if bindings is not None:
        # The engine looks at `vars` of whatever any module holds, and llvmlite's library makes a C function of every
        # name it is asked for, `__dict__` too.
        bindings.lib._fntab.setdefault("__dict__", {})


def repack_head(model: torch.nn.Module) -> None:
    """Let the head be packed anew from the weights that were loaded; tied ones come with the embedding alone."""
    head = getattr(model, "lm_head", None)
    if head is not None:
        head.quant_method.process_weights_after_loading(head)


def load(llm: Any, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Replace the weights of an engine in this process; forgets what it has computed with the old ones."""
    llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights)})
    llm.apply_model(repack_head)
    llm.reset_prefix_cache()
