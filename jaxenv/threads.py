"""Work shared out among threads, for compiled code that holds no interpreter lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

Part = TypeVar("Part")


def for_each(work: Callable[[Part], None], parts: Sequence[Part], threads: int) -> None:
    """Call `work` on every part, on so many threads at once, this one among them; the next part goes to who is free.

    Returns or raises only when no thread is at work any more.
    """
    rest = iter(parts)  # one call of `next` at a time: threads can share it

    def go_on() -> None:
        for part in rest:
            work(part)

    helping = [_pool(os.getpid()).submit(go_on) for _ in range(min(threads, len(parts)) - 1)]
    try:
        go_on()
    finally:
        wait([help for help in helping if not help.cancel()])
    for help in helping:
        if not help.cancelled():
            help.result()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that stay, for starting them takes as long as much of the work; a fork of the process has none."""
    return ThreadPoolExecutor(os.cpu_count())
