"""Constrained decoding: only tokens that can still become JSON of a schema are let through. XGrammar does the work.

It is an option and needs the extra `constrained`; nothing else here imports XGrammar.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, PreTrainedTokenizerBase

from policy.errors import PolicyError


class Grammar:
    """A JSON schema compiled for one model's vocabulary of `words` tokens.

    Raises:
        PolicyError: XGrammar is not installed.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, words: int, ends: Sequence[int], schema: Mapping[str, Any]
    ) -> None:
        try:
            import xgrammar
        except ImportError as error:
            raise PolicyError(
                "constrained decoding needs XGrammar; install it with: pip install 'lakeloop[constrained]'"
            ) from error
        self._xgrammar = xgrammar
        self._words = words
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=words, stop_token_ids=list(ends))
        # Written as `json.dumps` writes it, the form that the prompts show.
        self._compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(
            json.dumps(schema), any_whitespace=False, separators=(", ", ": ")
        )

    def mask(self, rows: int, prompt: int) -> "Mask":
        """For a batch of `rows` answers that begin after `prompt` tokens."""
        matchers = [self._xgrammar.GrammarMatcher(self._compiled) for _ in range(rows)]
        return Mask(self._xgrammar, matchers, prompt, self._words)


class Mask(LogitsProcessor):
    """Gives every token that a row must not say next the logit minus infinity; rows can be left out on the way."""

    def __init__(self, xgrammar: Any, matchers: list[Any], prompt: int, words: int) -> None:
        self._xgrammar = xgrammar
        self._matchers = matchers
        self._read = [prompt] * len(matchers)  # tokens of each row that its matcher has seen, or need not see
        self._words = words

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        self._matchers = [self._matchers[row] for row in rows]
        self._read = [self._read[row] for row in rows]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores f32[rows, words] with what may not follow taken out."""
        allowed = self._xgrammar.allocate_token_bitmask(len(self._matchers), self._words)
        for row, matcher in enumerate(self._matchers):
            for token in input_ids[row, self._read[row] :].tolist():
                if not matcher.is_terminated():  # afterwards there is only padding
                    matcher.accept_token(token)
            self._read[row] = input_ids.shape[1]
            if not matcher.is_terminated():
                matcher.fill_next_token_bitmask(allowed, row)
        bits = (allowed[:, :, None] >> torch.arange(32, dtype=torch.int32)) & 1
        banned = bits.reshape(len(allowed), -1)[:, : self._words] == 0
        return scores.masked_fill(banned.to(scores.device), -torch.inf)
