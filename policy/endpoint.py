"""Any server that speaks OpenAI's chat protocol: one request, and a sampler that makes many of them.

The key is sent and never shown: it is in no error, no log and no answer, and no redirect is followed with it.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from policy.costs import Ledger, Pace
from policy.errors import EndpointError, PolicyError
from policy.sampling import Completion, Message, Prompt, SamplerSettings, messages_of

_AT_ONCE = 16  # requests
_TIMEOUT = 900.0  # seconds for one whole answer; an untrained model thinks for thousands of tokens
_LARGEST = 10_000_000  # bytes of one answer
_RETRIES = 5
_PAUSE = 1.0  # seconds before the first retry, doubled for each further one
_LONGEST_PAUSE = 120.0  # seconds, whatever the server asks for
# Worth another try: time-outs, conflicts, rate limits; and every fault of the server's own (500 and above).
_PASSING = (408, 409, 425, 429)


@dataclass(frozen=True)
class Reply:
    """A server's answer; counts are 0 where the server counts nothing."""

    text: str | None  # None where the server sent no content
    reasoning: str  # what came in a field of its own
    truncated: bool
    prompt_tokens: int
    tokens: int


class Endpoint:
    """One model behind one address."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        timeout: float = _TIMEOUT,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`timeout` is for one whole answer, in seconds; `extra` goes into every request's body.

        Raises:
            EndpointError: the address or the key can be none.
        """
        if not base_url.startswith(("http://", "https://")):
            raise EndpointError(f"base_url is {base_url!r}; it must begin with http:// or https://")
        if not (key.isascii() and key.isprintable()):
            raise EndpointError("the key has a character that no HTTP header can carry; look at OPENAI_API_KEY")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._key = key
        self._timeout = timeout
        self._extra = dict(extra or {})

    def ask(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        temperature: float,
        *,
        seed: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """One answer, in one try. A schema is sent as the answer's format; a server may be lax about it.

        Raises:
            EndpointError: there is none.
        """

        async def once() -> Reply:
            async with self.connection() as client:
                return await self.answer(client, messages, max_tokens, temperature, seed=seed, schema=schema)

        return asyncio.run(once())

    def connection(self) -> httpx.AsyncClient:
        """A pool of connections for `answer`; the bound on time is that of the whole answer."""
        return httpx.AsyncClient(timeout=None, follow_redirects=False, limits=httpx.Limits(max_connections=_AT_ONCE))

    async def answer(
        self,
        client: httpx.AsyncClient,
        messages: Sequence[Message],
        max_tokens: int,
        temperature: float,
        *,
        seed: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """As `ask`, over a connection of `connection()`."""
        body: dict[str, Any] = {"model": self._model, "messages": list(messages), "max_tokens": max_tokens}
        body |= {"temperature": temperature, **self._extra}
        if seed is not None:
            body["seed"] = seed
        if schema is not None:
            named = {"name": "reply", "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            async with asyncio.timeout(self._timeout):
                return self._read(await self._post(client, body))
        except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(f"the server cannot be reached: {type(error).__name__}", passing=True) from None

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> bytes:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        async with client.stream("POST", self._url, json=body, headers=headers) as response:
            if response.status_code != 200:
                raise EndpointError(
                    f"the server answered with status {response.status_code}",
                    passing=response.status_code in _PASSING or response.status_code >= 500,
                    wait=_seconds(response.headers.get("Retry-After", "")),
                )
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > _LARGEST:
                    raise EndpointError(f"the server's answer is longer than {_LARGEST} bytes")
            return bytes(content)

    def _read(self, content: bytes) -> Reply:
        try:
            answer = json.loads(content)
            choices = answer["choices"]
            message = choices[0]["message"]
            text = _text(message.get("content"))
            reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
            usage = answer.get("usage") or {}
            counts = [int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
            truncated = choices[0].get("finish_reason") == "length"
        except IndexError:
            raise EndpointError("the server's answer holds no choice") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise EndpointError("the server's answer is no chat completion") from None
        # Answers are logged, and a server may repeat what it was sent.
        return Reply(
            None if text is None else self._hidden(text), self._hidden(str(reasoning)), truncated, counts[0], counts[1]
        )

    def _hidden(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


class EndpointSampler:
    """Many requests at once, each tried again after a passing fault, within a rate and a budget."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        settings: SamplerSettings | None = None,
        log: Path | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`log` is a file of JSON lines to which each answer's tokens and cost are appended; what it says already
        counts against the budget.

        Raises:
            PolicyError: the address or the key can be none.
        """
        settings = settings or SamplerSettings("openai")
        self._endpoint = Endpoint(base_url, model, key=key, extra=extra)
        self._model = model
        self._rate = settings.requests_per_minute
        self._ledger = Ledger(log, settings.input_price, settings.output_price, settings.budget)

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
        """See `policy.sampling.Sampler`; tokens are those the server counts, 0 where it counts none.

        Reasoning that comes in a field of its own is put before the answer, between think tags.

        Raises:
            PolicyError: the server refused a request, or could not be reached in several tries.
            BudgetError: a further request could cost more than the budget has left.
        """

        async def everything() -> list[Completion]:
            pace, gate = Pace(self._rate), asyncio.Semaphore(_AT_ONCE)
            async with self._endpoint.connection() as client:

                async def one(row: int, prompt: Prompt) -> Completion:
                    async with gate:
                        return await self._answer(
                            client, pace, messages_of(prompt), max_tokens, temperature, seed + row, schema
                        )

                asked = [asyncio.create_task(one(row, prompt)) for row, prompt in enumerate(prompts)]
                try:
                    for done, answer in enumerate(asyncio.as_completed(asked), 1):
                        await answer
                        if progress is not None:
                            progress(done, len(asked))
                finally:
                    for task in asked:
                        task.cancel()
                    await asyncio.gather(*asked, return_exceptions=True)
                return [task.result() for task in asked]

        return asyncio.run(everything())

    async def _answer(
        self,
        client: httpx.AsyncClient,
        pace: Pace,
        messages: list[Message],
        max_tokens: int,
        temperature: float,
        seed: int,
        schema: Mapping[str, Any] | None,
    ) -> Completion:
        held = self._ledger.hold(messages, max_tokens)
        try:
            for tried in range(_RETRIES + 1):
                await pace.wait()
                try:
                    reply = await self._endpoint.answer(
                        client, messages, max_tokens, temperature, seed=seed, schema=schema
                    )
                    break
                except EndpointError as error:
                    if not error.passing or tried == _RETRIES:
                        tries = f" in {tried + 1} tries" if tried else ""
                        raise PolicyError(f"the server gave no answer{tries}: {error}") from None
                    pause = min(max(error.wait, _PAUSE * 2**tried), _LONGEST_PAUSE)
                    if error.wait:
                        pace.rest(pause)  # the server asked for it, and every other request would be refused as well
                    await asyncio.sleep(pause)
            self._ledger.spend(self._model, held, reply.prompt_tokens, reply.tokens, tried + 1)
        except asyncio.CancelledError:
            self._ledger.spend(self._model, held, 0, 0, 1)  # under way, so that it may be charged all the same
            raise
        finally:
            self._ledger.release(held)
        text = reply.text or ""
        if reply.reasoning:
            # Without an answer the thinking was never closed.
            text = f"<think>{reply.reasoning}</think>{text}" if text.strip() else f"<think>{reply.reasoning}"
        return Completion(text, reply.tokens, reply.truncated)


def _text(content: object) -> str | None:
    """A message's content: a string, nothing, or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content


def _seconds(text: str) -> float:
    """What a Retry-After header asks for; a date in it is not read."""
    return float(text) if text.isascii() and text.isdigit() else 0.0
