"""Fill one class of boards: take the first candidates, in the order of their index, that qualify.

What a filler does depends on indices only, never on how many candidates are labelled at once. It works in windows of
candidates. After the first window, a class that needs a wait and was seen in less than RARE of the candidates is drawn
by the proposals of `candidates` for rare classes. A class is given up when its last window, carried on to the end of
its budget, would not fill it; the budget is a number of windows, so that an impossible request ends soon.
"""

from collections import Counter, deque
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxenv.batches import fitted, take
from jaxenv.canonical import BUCKETS, SPLITS, UInt64s
from jaxenv.judging import Fate, Kind, choose
from jaxenv.labelling import Labelled, Range
from jaxenv.quotas import Part
from jaxenv.sifting import Source
from jaxenv.types import Instances, Limits, Solutions

WINDOW = 4096  # candidates of the split; more are drawn for a split that is a part of all boards
RARE = 0.01
BASE_WINDOWS = 16
BOARDS_PER_WINDOW = 16  # one window more for so many boards wanted
_LEAST = 64  # candidates of the split labelled at once

Taken = tuple[Instances, Solutions, UInt64s]  # NumPy boards, their labels and hashes


class Filler:
    """Progress of one class: what became of the candidates up to `index`, and the labelled ones that come next."""

    def __init__(self, key: jax.Array, part: Part, split: str, limits: Limits) -> None:
        self.part, self.wanted, self.split = part, part.wanted, split
        self._draw_from = partial(Source.of, key, part, split, limits)
        # As a rule the other class of the same agents, size and holes has the same source.
        self.source = self._draw_from(rare=False)
        self.fates: Counter[Fate] = Counter()
        self.given_up = False
        low, high = SPLITS[split]
        self._per_board = BUCKETS / (high - low)  # candidates for one of the split
        self.window = WINDOW * BUCKETS // (high - low)
        self.windows = 0  # windows done
        self._taken_before = 0  # boards taken before the current window
        self.index = 0  # candidates judged so far
        self._ahead: deque[Labelled] = deque()

    @property
    def taken(self) -> int:
        return self.fates[Fate.TAKEN]

    @property
    def missing(self) -> int:
        return self.wanted - self.taken

    @property
    def budget(self) -> int:
        return BASE_WINDOWS + self.wanted // BOARDS_PER_WINDOW

    @property
    def end(self) -> int:
        """Of the current window."""
        return (self.windows + 1) * self.window

    def state(self) -> list[int]:
        """All that a filler is, as numbers; labelled candidates are not kept, for they can be made again."""
        known = [self.wanted, self.given_up, self.source.rare, self.windows, self._taken_before, self.index]
        return [*map(int, known), *(self.fates[fate] for fate in Fate)]

    def restore(self, state: list[int]) -> None:
        self.wanted, given_up, rare, self.windows, self._taken_before, self.index, *fates = state
        self.given_up = bool(given_up)
        self.source = self._draw_from(rare=bool(rare))
        self.fates = Counter(dict(zip(Fate, fates, strict=True)))
        self._ahead.clear()

    def next_range(self, allowance: int = 0) -> Range | None:
        """The candidates to label next, by what is known of those before: about as many as are needed, to the end of
        the window or (when the way of drawing is settled) of the `allowance`, in candidates of the split."""
        ahead = [labelled.block.kind[max(self.index - labelled.block.first, 0) :] for labelled in self._ahead]
        have = self.index + sum(map(len, ahead))
        own = Kind.NEEDS_WAIT if self.part.needs_wait else Kind.NEEDS_NO_WAIT
        likely = self.taken + sum(int((kind == own).sum()) for kind in ahead)
        other = sum(self.fates[f] for f in (Fate.DUPLICATE, Fate.UNSOLVABLE, Fate.UNDETERMINED, Fate.OTHER_CLASS))
        other += sum(int(((kind >= Kind.UNSOLVABLE) & (kind != own)).sum()) for kind in ahead)
        missing = self.wanted - likely
        if missing <= 0:
            return None
        enough = int(max(_LEAST, 1.1 * missing * (likely + other + 2) / (likely + 1)) * self._per_board)
        end = self.end
        if self.windows:
            end = max(end, self.index + int(allowance * self._per_board))
        count = min(enough, end - have)
        return Range(self.source, have, count, with_easy=not self.part.needs_wait) if count > 0 else None

    def supply(self, labelled: Labelled) -> None:
        """Blocks come in the order of their candidates."""
        self._ahead.append(labelled)

    def advance(self, seen: UInt64s, to_the_end: bool = False) -> tuple[list[Taken], bool]:
        """Judge the candidates in hand until the class is full or the window ends: boards taken, and whether it ended.

        Then it is decided how to go on; `to_the_end` uses the whole budget as long as anything is found, for the
        nearest mix that can be had.
        """
        pieces = []
        while self._ahead and self.missing > 0 and self.index < self.end:
            labelled = self._ahead[0]
            block = labelled.block
            at = self.index - block.first
            stop = min(len(block.kind), self.end - block.first)
            fates, chosen = np.empty(stop - at, np.int8), np.empty(min(self.missing, stop - at), np.int64)
            judged, count = choose(
                block.kind[at:stop], block.hash[at:stop], seen, self.part.needs_wait, self.missing, fates, chosen
            )
            for fate, times in zip(*np.unique(fates[:judged], return_counts=True), strict=True):
                self.fates[Fate(int(fate))] += int(times)
            self.index += judged
            if count and labelled.solutions is not None:
                chosen = chosen[:count] + at
                rows = block.row[chosen]
                boards, solutions = take((block.boards, labelled.solutions), rows)
                pieces.append((boards, fitted(solutions), block.hash[chosen]))
            if at + judged == len(block.kind):
                self._ahead.popleft()
        ended = self.index == self.end
        if ended:
            self.windows += 1
            self._decide(self.taken - self._taken_before, to_the_end)
            self._taken_before = self.taken
        if self.missing <= 0:
            self._ahead.clear()
        return pieces, ended or self.missing <= 0

    def _decide(self, found: int, to_the_end: bool) -> None:
        if self.missing <= 0:
            return
        if self.windows == 1 and self.part.needs_wait and self.part.num_agents > 1 and found < RARE * WINDOW:
            self.source = self._draw_from(rare=True)
            self._ahead.clear()
            return
        left = self.budget - self.windows
        if to_the_end:
            self.given_up = found == 0 or left <= 0
        else:
            self.given_up = (found + 1) * left < self.missing

    def record(self) -> dict[str, Any]:
        """Plain numbers for the set's metadata; `acceptance` is of the candidates that lie in the split."""
        fates, part = self.fates, self.part
        return {
            "num_agents": part.num_agents,
            "size": part.size,
            "needs_wait": part.needs_wait,
            "hole_ratio": float(part.hole_ratio),
            "wanted": part.wanted,
            "count": self.taken,
            "proposals": "rare" if self.source.rare else "uniform",
            "candidates": self.index,
            **{fate.name.lower(): fates[fate] for fate in Fate if fate != Fate.TAKEN},
            "acceptance": self.taken / max(self.index - fates[Fate.OTHER_SPLIT], 1),
        }

    def complaint(self) -> str:
        """Why the class could not be filled, with the rates seen and what to change."""
        fates = self.fates
        drawn = max(self.index, 1)
        solved = max(
            sum(fates[f] for f in (Fate.UNSOLVABLE, Fate.UNDETERMINED, Fate.OTHER_CLASS, Fate.DUPLICATE, Fate.TAKEN)), 1
        )
        crowded = fates[Fate.UNPLACED] > 0.9 * drawn and not self.source.rare
        if crowded or fates[Fate.UNSOLVABLE] > 0.5 * solved:
            advice = "lower hole_ratio or the number of agents"
        elif fates[Fate.DUPLICATE] > self.taken:
            advice = "there are few distinct boards of this kind, ask for fewer of them"
        elif self.part.needs_wait:
            advice = "lower wait_ratio, or change hole_ratio"
        else:
            advice = "raise wait_ratio, or change hole_ratio"
        return (
            f"cannot find {self.wanted} {self.part.name} in the {self.split} split: {self.taken} found among "
            f"{self.index:,} candidates ({(drawn - fates[Fate.UNPLACED]) / drawn:.1%} placed; of those in the split "
            f"{(self.taken + fates[Fate.DUPLICATE]) / solved:.2%} of the class, "
            f"{fates[Fate.DUPLICATE] / solved:.2%} repeated, "
            f"{fates[Fate.UNSOLVABLE] / solved:.2%} unsolvable, {fates[Fate.UNDETERMINED] / solved:.2%} undetermined); "
            f"{advice} at size {self.part.size}, or ask for the nearest mix"
        )
