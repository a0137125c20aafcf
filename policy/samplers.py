"""From messages to completions, behind one interface for evaluation and the engineer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from policy.constrained import Grammar
from policy.decoding import sample
from policy.errors import PolicyError
from policy.starter import MODELS

SHIPPED = ("starter", "starter-format")


@dataclass(frozen=True)
class Completion:
    """What the model answered to one message."""

    text: str
    tokens: int  # the end token included
    truncated: bool  # the limit came before the end token


class Sampler(Protocol):
    """Answers user messages; the chat template around them is the sampler's business."""

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        schema: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Completion]:
        """One completion per prompt, in the same order; temperature 0 is greedy.

        With a JSON schema nothing but JSON of it can be said (`policy.constrained`); an answer may still be truncated.
        """
        ...


def resolve_model(spec: str) -> str:
    """The folder of a shipped model by its name; every other name is a folder or a Hugging Face id already."""
    if spec not in SHIPPED:
        return spec
    folder = MODELS / spec
    if not (folder / "model.safetensors").exists():
        raise PolicyError(f"the model {spec!r} is not in {folder}; make it with: python -m experiments.run warmstart")
    return str(folder)


def load_model(spec: str, *, dtype: torch.dtype | None = None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model and tokenizer; where no dtype is given, float32 on a CPU and bfloat16 on a GPU.

    Raises:
        PolicyError: there is no such model.
    """
    path = resolve_model(spec)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        dtype = dtype or (torch.bfloat16 if torch.cuda.is_available() else torch.float32)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise PolicyError(f"the model {spec!r} cannot be loaded: {reason}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


class TransformersSampler:
    """Batched, left-padded sampling with Hugging Face transformers."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, batch: int) -> None:
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self._tokenizer = tokenizer
        self._batch = batch
        self._grammars: dict[str, Grammar] = {}

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        schema: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Completion]:
        """See `Sampler.generate`."""
        torch.manual_seed(seed)
        texts = [
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            for prompt in prompts
        ]
        ids = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        ends = self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id
        config = GenerationConfig(
            do_sample=temperature > 0,
            temperature=temperature if temperature > 0 else None,
            top_p=1.0 if temperature > 0 else None,
            top_k=0 if temperature > 0 else None,
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=ends,
            disable_compile=True,
        )
        stops = ends if isinstance(ends, list) else [ends]
        grammar = None if schema is None else self._grammar(schema, stops)
        with torch.inference_mode():
            answers = sample(
                self._model, ids, config, max_tokens, batch=self._batch, grammar=grammar, progress=progress
            )
        completions = []
        for answer in answers:
            ended = answer[-1] in stops
            text = self._tokenizer.decode(answer[:-1] if ended else answer, skip_special_tokens=True)
            completions.append(Completion(text, len(answer), not ended))
        return completions

    def _grammar(self, schema: Mapping[str, Any], ends: Sequence[int]) -> Grammar:
        """Compiled once for each schema."""
        text = json.dumps(schema)
        if text not in self._grammars:
            words = self._model.get_output_embeddings().weight.shape[0]
            self._grammars[text] = Grammar(self._tokenizer, words, ends, schema)
        return self._grammars[text]


def load_sampler(spec: str, *, batch: int) -> Sampler:
    """A sampler for a shipped model's name, a folder or a Hugging Face id."""
    model, tokenizer = load_model(spec)
    return TransformersSampler(model, tokenizer, batch=batch)
