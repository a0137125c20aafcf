"""All engineers behind one interface: an engineer is asked with messages and answers with text.

`self` and `base` are one class; which checkpoint stands behind the sampler is the caller's choice.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from engineer.conversation import Message
from engineer.errors import AskError, UnknownEngineerError
from engineer.reply import Maps, describe
from engineer.rules import RULES, Situation
from engineer.schema import json_schema
from policy.endpoint import Endpoint
from policy.errors import EndpointError

MODELS = ("self", "base", "openai")
NAMES = (*MODELS, *RULES)
_TIMEOUT = 120.0  # seconds for one answer of a server


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
        prompts: Sequence[str | Sequence[Message]],
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
        answers = self._sampler.generate(
            [messages],
            max_tokens=self._max_tokens,
            temperature=temperature,
            seed=self._seed + self._asked,
            schema=self._schema,
        )
        self._asked += 1
        return answers[0].text


class OpenAIEngineer:
    """Any server that speaks OpenAI's chat protocol. The key is sent and never shown, not even in an error.

    Nothing is tried again here, for a fault is answered by the conversation like any other refusal. Every question
    after the first is asked at `retry_temperature`. With `constrained` the server is asked to keep to the reply's
    schema; whether it does is its own business.
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
        try:
            self._endpoint = Endpoint(base_url, model, key=key, timeout=timeout)
        except EndpointError as error:
            raise UnknownEngineerError(str(error)) from None
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._retry_temperature = temperature if retry_temperature is None else retry_temperature
        self._schema = json_schema() if constrained else None
        self._asked = 0

    def __call__(self, messages: list[Message]) -> str:
        temperature = self._retry_temperature if self._asked else self._temperature
        self._asked += 1
        try:
            reply = self._endpoint.ask(messages, self._max_tokens, temperature, schema=self._schema)
        except EndpointError as error:
            raise AskError(str(error)) from None
        if reply.text is None:
            raise AskError("the server's answer holds no text")
        return reply.text


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
