"""From prompts to completions: all samplers behind one interface, and the one that transformers gives."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from policy import smollm2
from policy.constrained import Grammar
from policy.decoding import sample
from policy.errors import PolicyError
from policy.prompts import through_template
from policy.sampling import Completion, Prompt, Sampler, SamplerSettings
from policy.starter import MODELS

SHIPPED = ("starter", "starter-format")


def resolve_model(spec: str) -> str:
    """The folder of a model that has a name here; every other name is a folder or a Hugging Face id already.

    Raises:
        PolicyError: its folder is not there yet, with the command that makes it.
    """
    if spec == smollm2.NAME:
        if not (smollm2.folder() / "model.safetensors").is_file():
            raise PolicyError(f"the model {spec!r} is not in {smollm2.folder()}; make it with: make smollm2")
        return str(smollm2.folder())
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
    _give_own_padding(model, tokenizer)
    return model, tokenizer


def _give_own_padding(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """A padding token that ends no answer, where the tokenizer has one to spare: an end could be taken for padding."""
    named = model.generation_config.eos_token_id if model.generation_config is not None else None
    ends = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
    if tokenizer.pad_token_id is not None and tokenizer.pad_token_id not in ends:
        return
    spare = [token for token in tokenizer.all_special_tokens if tokenizer.convert_tokens_to_ids(token) not in ends]
    tokenizer.pad_token = spare[0] if spare else tokenizer.eos_token


class TransformersSampler:
    """Batched, left-padded sampling with Hugging Face transformers."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, batch: int, thinking: bool = False
    ) -> None:
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self._tokenizer = tokenizer
        self._batch = batch
        self._thinking = thinking
        self._grammars: dict[str, Grammar] = {}

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        schema: Mapping[str, Any] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Completion]:
        """See `policy.sampling.Sampler`."""
        torch.manual_seed(seed)
        texts = through_template(self._tokenizer, prompts, thinking=self._thinking)
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


def load_sampler(
    spec: str, *, batch: int = 1, settings: SamplerSettings | None = None, log: Path | None = None
) -> Sampler:
    """The sampler that the settings name, for a model.

    Args: `spec` a shipped model's name, a folder or a Hugging Face id, or what an endpoint calls the model; `batch` of
    transformers; `log` where an endpoint's costs are noted. An endpoint's key is in OPENAI_API_KEY.
    Raises:
        PolicyError: there is no such model, no vLLM, or no server.
    """
    settings = settings or SamplerSettings()
    if settings.name == "hf":
        model, tokenizer = load_model(spec)
        return TransformersSampler(model, tokenizer, batch=batch, thinking=settings.thinking)
    if settings.name == "openai":
        from policy.endpoint import EndpointSampler

        key = os.environ.get("OPENAI_API_KEY", "")
        return EndpointSampler(str(settings.base_url), spec, key=key, settings=settings, log=log)
    from policy.vllm_sampler import EngineSampler, ServerSampler

    if settings.mode == "server":
        return ServerSampler(str(settings.base_url), _folder(spec), thinking=settings.thinking)
    return EngineSampler(_folder(spec), thinking=settings.thinking)


def _folder(spec: str) -> str:
    """A folder with the model's files; those of a hub id are fetched where they are not here yet."""
    path = resolve_model(spec)
    if Path(path).is_dir():
        return path
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return str(snapshot_download(path))
    except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        raise PolicyError(f"the model {spec!r} cannot be loaded: {str(error).splitlines()[0]}") from error
