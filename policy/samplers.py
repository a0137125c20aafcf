"""From messages to completions, behind one interface for evaluation and the engineer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

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
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Completion]:
        """One completion per prompt, in the same order; temperature 0 is greedy."""
        ...


def resolve_model(spec: str) -> str:
    """The folder of a shipped model by its name; every other name is a folder or a Hugging Face id already."""
    if spec not in SHIPPED:
        return spec
    folder = MODELS / spec
    if not (folder / "model.safetensors").exists():
        raise PolicyError(f"the model {spec!r} is not in {folder}; make it with: python -m experiments.run warmstart")
    return str(folder)


def load_model(spec: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Model and tokenizer; float32 on a CPU, bfloat16 on a GPU.

    Raises:
        PolicyError: there is no such model.
    """
    path = resolve_model(spec)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        dtype = torch.bfloat16 if torch.cuda.is_available() else torch.float32
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

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Completion]:
        """See `Sampler.generate`. Prompts of similar length share a batch."""
        torch.manual_seed(seed)
        texts = [
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            for prompt in prompts
        ]
        ids = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        done: dict[int, Completion] = {}
        for begin in range(0, len(order), self._batch):
            rows = order[begin : begin + self._batch]
            done.update(zip(rows, self._answer([ids[row] for row in rows], max_tokens, temperature), strict=True))
            if progress is not None:
                progress(len(done), len(order))
        return [done[row] for row in range(len(ids))]

    def _answer(self, ids: list[list[int]], max_tokens: int, temperature: float) -> list[Completion]:
        batch = self._tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self._model.device)
        config = GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=temperature > 0,
            temperature=temperature if temperature > 0 else None,
            top_p=1.0 if temperature > 0 else None,
            top_k=0 if temperature > 0 else None,
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id,
            disable_compile=True,
        )
        with torch.inference_mode():
            output = self._model.generate(**batch, generation_config=config)
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        answers = []
        for row in output[:, batch["input_ids"].shape[1] :].tolist():
            length = next((i for i, token in enumerate(row) if token in ends), None)
            said = row if length is None else row[:length]
            text = self._tokenizer.decode(said, skip_special_tokens=True)
            answers.append(Completion(text, len(said) + (length is not None), length is None))
        return answers


def load_sampler(spec: str, *, batch: int) -> Sampler:
    """A sampler for a shipped model's name, a folder or a Hugging Face id."""
    model, tokenizer = load_model(spec)
    return TransformersSampler(model, tokenizer, batch=batch)
