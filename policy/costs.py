"""What served answers cost: a log, a budget that is never exceeded, and a rate that is kept to."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from policy.errors import BudgetError
from policy.sampling import Message

_MILLION = 1_000_000


class Ledger:
    """Prices are US dollars for a million tokens, and so is the budget in US dollars; None is no bound."""

    def __init__(self, log: Path | None, input_price: float, output_price: float, budget: float | None) -> None:
        self._log, self._budget = log, budget
        self._prices = (input_price / _MILLION, output_price / _MILLION)
        self._spent = _spent(log)
        self._held = 0.0

    def hold(self, messages: Sequence[Message], max_tokens: int) -> float:
        """Set aside the most that a request can cost; returns it, for `spend` and `release`.

        Raises:
            BudgetError: that is more than is left.
        """
        # No tokenizer makes more tokens than there are bytes; 16 for what a chat template adds to a message.
        size = sum(len(message["content"].encode()) + 16 for message in messages)
        most = size * self._prices[0] + max_tokens * self._prices[1]
        if self._budget is not None and self._spent + self._held + most > self._budget:
            raise BudgetError(
                f"of the budget of ${self._budget:g} ${self._spent:.4f} are spent and the next request may cost "
                f"${most:.4f}; raise sampler.budget to go on, what is answered is kept"
            )
        self._held += most
        return most

    def spend(self, model: str, held: float, prompt_tokens: int, tokens: int, tries: int) -> None:
        """Note one answer; where no tokens were counted, what was set aside counts as its cost."""
        counted = bool(prompt_tokens or tokens)
        cost = prompt_tokens * self._prices[0] + tokens * self._prices[1] if counted else held
        self._spent += cost
        if self._log is None:
            return
        row = {"time": round(time.time(), 3), "model": model, "prompt_tokens": prompt_tokens, "tokens": tokens}
        line = json.dumps({**row, "tries": tries, "cost": round(cost, 9), "counted": counted}) + "\n"
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, line.encode())  # one write, so that lines never mix
        finally:
            os.close(descriptor)

    def release(self, held: float) -> None:
        """Of a request that has ended, however it did."""
        self._held -= held


class Pace:
    """Lets requests start no closer to each other than the rate allows."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        """Return when the caller may begin."""
        now = time.monotonic()
        begin = max(now, self._next)
        self._next = begin + self._gap
        if begin > now:
            await asyncio.sleep(begin - now)

    def rest(self, seconds: float) -> None:
        """Let nobody begin for a while."""
        self._next = max(self._next, time.monotonic() + seconds)


def _spent(log: Path | None) -> float:
    """What an earlier call has spent; a line that was cut short by a fault counts as nothing."""
    if log is None or not log.is_file():
        return 0.0
    total = 0.0
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            total += float(json.loads(line)["cost"])
        except (ValueError, KeyError, TypeError):
            continue
    return total
