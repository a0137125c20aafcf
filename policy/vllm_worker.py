"""What the workers of our vLLM servers can do beside vLLM's own: take weights from a folder."""

from typing import Any


class FolderWeights:
    """An extension of vLLM's worker; a method of it is called through the server's `/collective_rpc`."""

    model_runner: Any
    device: Any

    def load_folder(self, folder: str) -> None:
        """Replace the weights by those of a folder of safetensors that the server can read."""
        self.reload_weights(weights_path=folder)  # type: ignore[attr-defined]
        if self.device.type == "cpu":
            from policy.vllm_cpu import repack_head

            repack_head(self.model_runner.get_model())
