"""TRL's trainer with vLLM on a CPU: how the weights get into the sampler. See `policy.vllm_cpu`."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from trl.generation import vllm_generation
from trl.generation.vllm_client import VLLMClient

from policy import vllm_cpu
from policy.vllm_training import SeededGeneration


class CpuClient(VLLMClient):
    """TRL's client, which hands weights over as a file: trainer and server share the machine's disk."""

    def init_communicator(self, device: torch.device | str | int = 0) -> None:
        """Nothing to join."""

    def update_named_params(
        self, metadata: list[tuple[str, str, list[int]]], named_params: Iterator[tuple[str, torch.Tensor]]
    ) -> None:
        """Write all weights, let the server read them, remove them."""
        folder = Path(tempfile.mkdtemp(prefix="weights-"))
        try:
            save_file({name: weight.contiguous() for name, weight in named_params}, folder / "model.safetensors")
            self._post(f"{self.base_url}/collective_rpc", json={"method": "load_folder", "args": [str(folder)]})
        finally:
            shutil.rmtree(folder)


class CpuGeneration(SeededGeneration):
    """TRL's generation with an engine that runs on a CPU and gets the trainer's weights as they are."""

    engine = vllm_cpu.ENGINE

    def _init_vllm(self) -> None:
        vllm_cpu.prepare()
        original = vllm_generation.VLLMClient
        vllm_generation.VLLMClient = CpuClient
        try:
            super()._init_vllm()
        finally:
            vllm_generation.VLLMClient = original

    def sync_weights(self) -> None:
        """Give the sampler the trainer's weights."""
        if self.mode == "server":
            super().sync_weights()
            return
        vllm_cpu.load(self.llm, self._iter_named_params())
