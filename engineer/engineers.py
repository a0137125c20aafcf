"""All engineers behind one interface: an engineer is asked with messages and answers with text.

`self` and `base` are one class; which checkpoint stands behind the sampler is the caller's choice.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from engineer.conversation import Message
from engineer.errors import AskError, UnknownEngineerError
from engineer.reply import Maps, describe
from engineer.rules import RULES, Situation
from engineer.schema import json_schema

MODELS = ("self", "base", "openai")
NAMES = (*MODELS, *RULES)
_TIMEOUT = 120.0  # seconds for one answer of a server
_LARGEST, _CHUNK = 10_000_000, 65_536  # bytes of an answer, and of one look at it


class Engineer(Protocol):
    """Answers the messages of one redesign; asked again it may answer otherwise."""

    def __call__(self, messages: list[Message]) -> str:
        """The reply as text.

        Raises:
            AskError: there is none.
        """
        ...


class _Completion(Protocol):
    @property
    def text(self) -> str: ...


class _Sampler(Protocol):
    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        schema: Mapping[str, Any] | None,
    ) -> Sequence[_Completion]: ...


class SampledEngineer:
    """A model behind one of `policy`'s samplers. Every question after the first is sampled with a seed of its own.

    With `constrained` it can say nothing but JSON of the reply's schema.
    """

    def __init__(
        self,
        sampler: _Sampler,
        *,
        max_tokens: int,
        temperature: float,
        retry_temperature: float,
        seed: int,
        constrained: bool = False,
    ) -> None:
        self._sampler = sampler
        self._schema = json_schema() if constrained else None
        self._max_tokens = max_tokens
        self._temperature, self._retry_temperature = temperature, retry_temperature
        self._seed = seed
        self._asked = 0

    def __call__(self, messages: list[Message]) -> str:
        temperature = self._retry_temperature if self._asked else self._temperature
        # The samplers take one user message: an exchange becomes one text.
        prompt = "\n\n".join(m["content"] if m["role"] == "user" else f"You replied:\n{m['content']}" for m in messages)
        answers = self._sampler.generate(
            [prompt],
            max_tokens=self._max_tokens,
            temperature=temperature,
            seed=self._seed + self._asked,
            schema=self._schema,
        )
        self._asked += 1
        return answers[0].text


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to a host that the user never named."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class OpenAIEngineer:
    """Any server that speaks OpenAI's chat protocol. The key is sent and never shown, not even in an error.

    Every question after the first is asked at `retry_temperature`. With `constrained` the server is asked to keep to
    the reply's schema; whether it does is its own business.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        max_tokens: int = 2048,
        temperature: float = 0.0,
        retry_temperature: float | None = None,
        constrained: bool = False,
        timeout: float = _TIMEOUT,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise UnknownEngineerError(f"base_url is {base_url!r}; it must begin with http:// or https://")
        if not (key.isascii() and key.isprintable()):
            raise UnknownEngineerError("the key has a character that no HTTP header can carry; look at OPENAI_API_KEY")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._key = key
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._retry_temperature = temperature if retry_temperature is None else retry_temperature
        self._constrained = constrained
        self._timeout = timeout
        self._asked = 0

    def __call__(self, messages: list[Message]) -> str:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "max_tokens": self._max_tokens,
            "temperature": self._retry_temperature if self._asked else self._temperature,
        }
        if self._constrained:
            named = {"name": "reply", "schema": json_schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        self._asked += 1
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self._timeout) as response:
                answer: Any = json.loads(_body(response, time.monotonic() + self._timeout))
            text = answer["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            raise AskError(f"the server answered with status {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            raise AskError(f"the server cannot be reached: {type(error).__name__}") from None
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise AskError("the server's answer is no chat completion") from None
        if not isinstance(text, str):
            raise AskError("the server's answer holds no text")
        # Replies are logged, and a server may repeat what it was sent.
        return text.replace(self._key, "[key]") if self._key else text


def _body(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """All of the body, up to a bound; the socket's own time-out begins anew with every byte that comes."""
    parts, size = [], 0
    while part := response.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > _LARGEST:
            raise ValueError
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def rule_engineer(name: str, situation: Situation) -> Engineer:
    """An engineer without a model; it answers every question with the same reply.

    Raises:
        UnknownEngineerError: there is no such rule.
    """
    rule: Callable[[Situation], Maps] | None = RULES.get(name)
    if rule is None:
        raise UnknownEngineerError(f"there is no engineer {name!r}; choose one of {', '.join(NAMES)}")
    maps = rule(situation)
    # With all decimals: `fixed` keeps the previous config exactly.
    reply = json.dumps({"rationale": describe(maps), "maps": maps})
    return lambda messages: reply
