"""vLLM as a sampler: an engine in this process, or a server of `policy.vllm_server`.

An engine has one model's weights at a time and takes those of other checkpoints of the same architecture from their
folder, so that an engineer's step can ask two of them.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import httpx
import torch
from transformers import AutoTokenizer

from policy import vllm_cpu
from policy.endpoint import EndpointSampler
from policy.errors import EndpointError, PolicyError
from policy.prompts import through_template
from policy.sampling import Completion, Prompt
from policy.vllm_server import STRUCTURED

_MEMORY = 0.85  # of the GPU, which this process has for itself
_LOADING = 600.0  # seconds that a server may take to read weights


class _Engine:
    """One engine of this process, and whose weights it has."""

    def __init__(self, folder: str) -> None:
        cpu = not torch.cuda.is_available()
        if cpu:
            vllm_cpu.prepare()
        # In this process: weights are handed over and the seed is ours.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        try:
            from vllm import LLM
        except ImportError as error:
            raise PolicyError(
                "sampler.name is vllm and vLLM is not installed; on a GPU: pip install 'lakeloop[gpu]', on a CPU: "
                "make vllm, or set sampler.name=hf"
            ) from error
        options = vllm_cpu.ENGINE if cpu else {"gpu_memory_utilization": _MEMORY}
        self.llm: Any = LLM(model=folder, seed=0, structured_outputs_config=STRUCTURED, **options)
        self.folder = folder
        self._cpu = cpu

    def use(self, folder: str) -> None:
        """Have the weights of this folder."""
        if folder == self.folder:
            return
        self.llm.collective_rpc("reload_weights", kwargs={"weights_path": folder})
        if self._cpu:
            self.llm.apply_model(vllm_cpu.repack_head)
        self.llm.reset_prefix_cache()
        self.folder = folder


@cache
def _engine() -> list[_Engine]:
    """The engine of this process, once there is one."""
    return []


class EngineSampler:
    """Answers of a checkpoint by vLLM in this process."""

    def __init__(self, folder: str, *, thinking: bool = False) -> None:
        """`folder` holds weights and tokenizer.

        Raises:
            PolicyError: vLLM is not installed.
        """
        self._folder, self._thinking = folder, thinking
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        if not _engine():
            _engine().append(_Engine(folder))

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
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        (engine,) = _engine()
        engine.use(self._folder)
        texts = through_template(self._tokenizer, prompts, thinking=self._thinking)
        ids = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        choices = [
            SamplingParams(
                temperature=temperature,
                top_p=1.0,
                top_k=0,
                max_tokens=max_tokens,
                seed=seed + row,  # one seed for all would make equal prompts' answers equal
                structured_outputs=None if schema is None else StructuredOutputsParams(json=dict(schema)),
            )
            for row in range(len(prompts))
        ]
        outputs = engine.llm.generate([{"prompt_token_ids": row} for row in ids], choices, use_tqdm=False)
        answers = [output.outputs[0] for output in outputs]
        if progress is not None:
            progress(len(prompts), len(prompts))
        # vLLM leaves the end token out of its text, and counts it.
        return [Completion(one.text, len(one.token_ids), one.finish_reason == "length") for one in answers]


class ServerSampler:
    """Answers of a checkpoint by a vLLM server, which is told to take the checkpoint's weights first."""

    _loaded: ClassVar[dict[str, str]] = {}  # whose weights a server was last told to take by this process

    def __init__(self, base_url: str, folder: str, *, thinking: bool = False) -> None:
        """`base_url` as for `policy.endpoint`, with `/v1`; `folder` is readable by the server.

        Raises:
            PolicyError: the address can be none, or no server of ours answers there.
        """
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._folder = folder
        served = self._call("GET", "/v1/models", None)
        # All of them, since a server takes what is left out from the model's generation config.
        extra: dict[str, Any] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
        extra["chat_template_kwargs"] = {"enable_thinking": thinking}
        self._sampler = EndpointSampler(f"{self._root}/v1", served["data"][0]["id"], extra=extra)
        self._load()

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
        if self._loaded.get(self._root) != self._folder:
            self._load()
        return self._sampler.generate(
            prompts, max_tokens=max_tokens, temperature=temperature, seed=seed, schema=schema, progress=progress
        )

    def _load(self) -> None:
        """Even where they seem to be there: a training may have given the server others in between."""
        folder = str(Path(self._folder).absolute())
        self._call("POST", "/collective_rpc", {"method": "load_folder", "args": [folder]})
        self._call("POST", "/reset_prefix_cache", {})
        self._loaded[self._root] = self._folder

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        address = f"{self._root}{path}"
        try:
            response = httpx.request(method, address, json=body, timeout=_LOADING)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(
                f"the vLLM server at {self._root} cannot be reached: {type(error).__name__}; start one with: "
                f"python -m policy.vllm_server {self._folder}"
            ) from None
        if response.status_code != 200:
            raise EndpointError(
                f"the vLLM server at {self._root} answered {path} with status {response.status_code}; it must be one "
                "started with python -m policy.vllm_server, with a model of the same architecture"
            )
        return response.json() if response.content else None
