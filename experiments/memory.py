"""How much memory a training takes, from the shape of its model; nothing is loaded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.recipe import Recipe

GIB = 2**30
_MODELS = Path(__file__).resolve().parent.parent / "policy" / "models"
_FULL, _HALF = 4, 2  # bytes of a number
# Tokens of the longest prompt, 10x10 with five agents and 50 holes; of `full` a rough bound, for tokenizers differ.
PROMPT_TOKENS = {"compact": 80, "full": 900}


@dataclass(frozen=True)
class Shape:
    """What decides the size of a decoder of the Llama and Qwen3 families."""

    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    head_width: int
    intermediate: int
    vocabulary: int
    tied: bool  # the head is the embedding
    normed_heads: bool  # queries and keys have norms of their own, as in Qwen3

    @property
    def parameters(self) -> int:
        """All weights."""
        attention = sum(inputs * outputs for inputs, outputs in self._projections())
        norms = 2 * self.hidden + (2 * self.head_width if self.normed_heads else 0)
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.layers * (attention + norms) + self.hidden

    def adapter(self, rank: int) -> int:
        """Weights of an adapter on every linear layer but the head."""
        return self.layers * sum(rank * (inputs + outputs) for inputs, outputs in self._projections())

    def cache(self, width: int = _HALF) -> int:
        """Bytes of keys and values for one token."""
        return 2 * self.layers * self.key_value_heads * self.head_width * width

    def _projections(self) -> list[tuple[int, int]]:
        """Inputs and outputs of a layer's linear maps."""
        queries, keys = self.heads * self.head_width, self.key_value_heads * self.head_width
        attention = [(self.hidden, queries), (self.hidden, keys), (self.hidden, keys), (queries, self.hidden)]
        return [*attention, *2 * [(self.hidden, self.intermediate)], (self.intermediate, self.hidden)]


_KNOWN = {
    "Qwen/Qwen3-4B": Shape(2560, 36, 32, 8, 128, 9728, 151_936, tied=True, normed_heads=True),
}


def shape_of(model: str) -> Shape | None:
    """Of a shipped model, a folder with a `config.json`, or a hub id that is known here; None for any other."""
    if model in _KNOWN:
        return _KNOWN[model]
    for folder in (_MODELS / model, Path(model)):
        if (folder / "config.json").is_file():
            return _read(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    return None


def memory(recipe: Recipe, rollouts: int) -> list[str]:
    """Lines of plain text: what one process of the training holds on a GPU, before activations."""
    shape = shape_of(recipe.model)
    if shape is None:
        return [f"  memory                unknown: the shape of {recipe.model} is not here; give the model's folder"]
    trained = shape.parameters if recipe.lora is None else shape.adapter(recipe.lora.rank)
    weights = _FULL * shape.parameters if recipe.lora is None else _HALF * shape.parameters + _FULL * trained
    optimiser = _optimiser_bytes(str(recipe.grpo.get("optim", "adamw_torch_fused"))) * trained
    length = PROMPT_TOKENS[recipe.style] + recipe.reward.max_tokens
    own = rollouts // recipe.processes
    lines = [
        f"  weights               {_size(weights)} for {shape.parameters:,} parameters, {trained:,} of them trained",
        f"  gradients, optimiser  {_size(_FULL * trained)} and {_size(optimiser)}",
        f"  KV cache              {shape.cache() / 1024:.1f} KiB a token, {_size(shape.cache() * length)} an answer of "
        f"full length, {_size(shape.cache() * length * own)} for all {own} of a step at once",
    ]
    if recipe.sampler.name == "vllm" and recipe.sampler.mode == "colocate":
        share = recipe.sampler.memory
        asleep = ", given back while training" if recipe.grpo.get("vllm_enable_sleep_mode") else ""
        lines.append(
            f"  vLLM beside it        {share:.0%} of the GPU: {_size(_HALF * shape.parameters)} of weights, "
            f"the rest for the KV cache{asleep}"
        )
    sharded = ", and before fsdp2 or zero divide it" if recipe.launch is not None else ""
    lines.append(
        f"  this memory           of one process on a GPU (a CPU: 32 bit throughout), before activations{sharded}"
    )
    return lines


def _optimiser_bytes(name: str) -> int:
    """A trained weight's share of the optimiser's state."""
    if name.startswith(("sgd", "adafactor")):
        return 0  # adafactor's rows and columns do not count beside the weights
    return 2 if "8bit" in name else 2 * _FULL


def _size(count: float) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB / 10 else f"{count / 2**20:.1f} MiB"


def _read(config: dict[str, Any]) -> Shape:
    hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    return Shape(
        hidden=hidden,
        layers=int(config["num_hidden_layers"]),
        heads=heads,
        key_value_heads=int(config.get("num_key_value_heads") or heads),
        head_width=int(config.get("head_dim") or hidden // heads),
        intermediate=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
        tied=bool(config.get("tie_word_embeddings", False)),
        normed_heads=config.get("model_type") == "qwen3",
    )
