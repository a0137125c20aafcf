"""Any server that speaks OpenAI's chat protocol, as a sampler."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import openai
from openai.types.shared_params import ResponseFormatJSONSchema

from policy.errors import PolicyError
from policy.samplers import Completion

_AT_ONCE = 16  # requests
_TIMEOUT = 900.0  # seconds; an untrained model thinks for thousands of tokens
_RETRIES = 5  # with growing pauses, by the client


class EndpointSampler:
    """Answers of a served model. The key is sent and never shown; a redirect is not followed, for it would carry it."""

    def __init__(self, base_url: str, model: str, *, key: str = "") -> None:
        """Raises PolicyError: the address is none."""
        if not base_url.startswith(("http://", "https://")):
            raise PolicyError(f"base_url is {base_url!r}; it must begin with http:// or https://")
        self._model = model
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key or "none",
            timeout=_TIMEOUT,
            max_retries=_RETRIES,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, timeout=_TIMEOUT),
        )

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
        """See `policy.samplers.Sampler`; tokens are those the server counts, 0 where it counts none.

        A schema is sent as the answer's format; whether it is kept to is the server's affair.

        Raises:
            PolicyError: the server refused a request, or could not be reached in several tries.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            asked = {
                pool.submit(self._answer, prompt, max_tokens, temperature, seed + row, schema): row
                for row, prompt in enumerate(prompts)
            }
            answers: dict[int, Completion] = {}
            try:
                for future in as_completed(asked):
                    answers[asked[future]] = future.result()
                    if progress is not None:
                        progress(len(answers), len(asked))
            except openai.OpenAIError as error:
                pool.shutdown(cancel_futures=True)
                raise PolicyError(f"the server gave no answer: {_reason(error)}") from None
        return [answers[row] for row in range(len(prompts))]

    def _answer(
        self, prompt: str, max_tokens: int, temperature: float, seed: int, schema: Mapping[str, Any] | None
    ) -> Completion:
        answer = self._client.chat.completions.create(
            model=self._model,
            messages=[{"role": "user", "content": prompt}],
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            response_format=openai.omit if schema is None else _format(schema),
        )
        if not answer.choices:
            raise openai.OpenAIError("its answer holds no choice")
        choice = answer.choices[0]
        tokens = answer.usage.completion_tokens if answer.usage is not None else 0
        return Completion(choice.message.content or "", tokens, choice.finish_reason == "length")


def _format(schema: Mapping[str, Any]) -> ResponseFormatJSONSchema:
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}


def _reason(error: openai.OpenAIError) -> str:
    if isinstance(error, openai.APIStatusError):
        return f"status {error.status_code}"
    if isinstance(error, openai.APIConnectionError):
        return "it cannot be reached"
    return str(error) or type(error).__name__
