"""What every sampler takes and gives; which kinds there are, `policy.samplers` knows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Message = Mapping[str, str]  # role and content
Prompt = str | Sequence[Message]  # the user's one message, or a whole exchange that ends with the user's


@dataclass(frozen=True)
class Completion:
    """What the model answered to one prompt, its thinking included."""

    text: str
    tokens: int  # the end token included
    truncated: bool  # the limit came before the end token


class Sampler(Protocol):
    """Answers prompts; the chat template around them is the sampler's business."""

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
        """One completion per prompt, in the same order; temperature 0 is greedy.

        With a JSON schema nothing but JSON of it can be said (a server may be lax); an answer may still be truncated.
        """
        ...


@dataclass(frozen=True)
class SamplerSettings:
    """Which sampler, as the recipe's block `sampler` says; its fields are described there."""

    name: Literal["hf", "vllm", "openai"] = "hf"
    mode: Literal["colocate", "server"] = "colocate"
    base_url: str | None = None
    thinking: bool = False
    memory: float = 0.3
    requests_per_minute: float | None = None
    input_price: float = 0.0
    output_price: float = 0.0
    budget: float | None = None


def messages_of(prompt: Prompt) -> list[Message]:
    """The prompt as messages."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
