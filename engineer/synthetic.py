"""Invented stages of training, from which a starter learns to read the prompt and to write the reply.

Every example is a prompt of `engineer.context` on counts drawn from a model of a learner whose skill falls with the
size, with a target either by the rule `teacher` ("teacher") or drawn without a look at the evidence ("format").
"""

import re

import numpy as np

from engineer.context import VARIANTS, Bookkeeping, Pair, build_prompt
from engineer.evidence import Evidence, Row
from engineer.reply import Maps, describe, render_reply
from engineer.teacher import focused_shares, teacher
from jaxenv.schema import SIZES
from jaxenv.types import Label

TARGETS = ("teacher", "format")
_V6_SHARE = 0.6  # of the prompts; the other variants share the rest
_UNTRAINED_SHARE = 0.1  # of the first redesigns: a model before its first stage has a validation and no training
_REFUSED_SHARE = 0.1  # prompts that end with the refusal of an earlier reply
_REFUSALS = (
    "no JSON object found",
    "the JSON object has no end",
    "data_ratio of size {size} is negative",
    "the key '{size}' occurs twice",
    "maps lacks size {size}",
)
# How failures are made: the reader's labels are rare, walking faults and conflicts share the rest.
_TEXT = (Label.TRUNCATED, Label.PARSE_ERROR, Label.AGENT_MISMATCH, Label.TOO_LONG)
_WALK = (Label.OFF_MAP, Label.HOLE, Label.GOAL_NOT_REACHED)
_CONFLICT = (Label.VERTEX_CONFLICT, Label.SWAP_CONFLICT)


def examples(seed: int, count: int, targets: str = "teacher") -> list[tuple[str, str]]:
    """`count` pairs of prompt and reply in the compact style; item i is a function of (seed, i).

    Both kinds of targets answer the very same prompts.
    """
    if targets not in TARGETS:
        raise ValueError(f"there are no targets {targets!r}; choose one of {', '.join(TARGETS)}")
    return [_example(np.random.default_rng((seed, index)), targets) for index in range(count)]


def taught(reason: str) -> bool:
    """Whether the examples hold prompts that end with this refusal."""
    return any(re.fullmatch(re.escape(one).replace(r"\{size\}", "[0-9]+"), reason) for one in _REFUSALS)


def _example(random: np.random.Generator, targets: str) -> tuple[str, str]:
    stages = int(random.integers(2, 6))
    stage = int(random.integers(stages - 1))
    learner = _Learner(random)
    pairs = []
    maps = random_maps(random)
    for number in range(stage + 1):
        evidence = learner.evidence(maps)
        pairs.append(Pair(number, evidence, maps))
        # Earlier configs came from some engineer, and the one that reads this may not be it.
        maps = teacher(evidence) if random.random() < 0.5 else random_focus(random)
    if stage == 0 and random.random() < _UNTRAINED_SHARE:
        pairs = [Pair(0, Evidence(pairs[0].evidence.validation, ()), pairs[0].maps)]
    variant = "V6" if random.random() < _V6_SHARE else str(random.choice(list(VARIANTS)))
    refused = ""
    if random.random() < _REFUSED_SHARE:
        refused = str(random.choice(_REFUSALS)).format(size=random.integers(SIZES[0], SIZES[-1] + 1))
    prompt = build_prompt(
        variant,
        pairs[-1].evidence,
        pairs,
        Bookkeeping(stage, stages, int(random.integers(1, 4))),
        sayings=[(pair.stage, describe(pair.maps)) for pair in pairs[1:]],
        refused=refused,
    )
    return prompt, render_reply(teacher(pairs[-1].evidence) if targets == "teacher" else random_focus(random))


def random_focus(random: np.random.Generator) -> Maps:
    """A config of the form the teacher's have, with every choice made at random."""
    shares = focused_shares(int(random.integers(SIZES[0], SIZES[-1] + 1)))
    return {
        str(size): {
            "data_ratio": shares[size],
            "hole_ratio": int(random.integers(1, 9)) / 20,
            "wait_ratio": int(random.integers(2, 13)) / 20,
        }
        for size in SIZES
    }


def random_maps(random: np.random.Generator) -> Maps:
    """A config drawn over a wide part of the legal space, as the first stage's is."""
    shares = random.dirichlet(np.full(len(SIZES), 3.0))
    return {
        str(size): {
            "data_ratio": float(share),
            "hole_ratio": float(random.uniform(0.0, 0.4)),
            "wait_ratio": float(random.uniform(0.0, 0.6)),
        }
        for size, share in zip(SIZES, shares, strict=True)
    }


class _Learner:
    """A learner whose chance to answer a board falls with its size; it gets a little better from stage to stage."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._middle = random.uniform(2.0, 12.0)  # the size solved half the time
        self._slope = random.uniform(0.2, 1.2)
        self._top = random.uniform(0.5, 1.0)
        self._optimal = random.uniform(0.5, 1.0)
        self._text = random.choice([0.0, 0.0, 0.02, 0.2]) * random.random()
        self._conflict = random.beta(1.2, 1.2)
        self._tilt = random.normal(0.0, 0.08)  # of the share of conflicts, per size
        self._unreadable = _TEXT[int(random.integers(len(_TEXT)))]
        self._faults = np.concatenate(([0.0], random.dirichlet(np.ones(len(_WALK)))))  # the first is the unreadable
        self._meetings = random.dirichlet((3.0, 2.0))
        self._agents = 2 if random.random() < 0.9 else int(random.integers(3, 6))
        self._boards = int(random.choice([20, 25, 30, 40, 50, 60, 75, 100, 150, 200]))
        self._group = int(random.choice([4, 8, 8, 16]))
        self._groups = int(2.0 ** random.uniform(4, 13))
        self._words = random.uniform(0.7, 2.0)
        self._spread = random.uniform(0.4, 6.0)  # of the valid rate between boards: small means few mixed groups

    def evidence(self, maps: Maps) -> Evidence:
        noise = self._random.normal(0.0, 0.3, len(SIZES))
        rates = self._top / (1 + np.exp((np.array(SIZES) - self._middle) * self._slope + noise))
        sampled = rates * self._random.uniform(0.6, 1.2)  # sampling is not greedy, and the boards are others
        groups = self._random.multinomial(self._groups, [maps[str(size)]["data_ratio"] for size in SIZES])
        self._middle += self._random.uniform(-0.2, 1.5)
        return Evidence(
            tuple(self._row(size, rate, self._boards, 0) for size, rate in zip(SIZES, rates, strict=True)),
            tuple(
                self._row(size, min(0.99, rate), int(n) * self._group, int(n))
                for size, rate, n in zip(SIZES, sampled, groups, strict=True)
                if n
            ),
        )

    def _row(self, size: int, rate: float, n: int, groups: int) -> Row:
        random = self._random
        wrong = right = 0
        if groups:
            wrong, right, mixed = random.multinomial(groups, self._group_chances(rate)).tolist()
            # At least one answer of a mixed group is valid, and one is not.
            valid = right * self._group + mixed + int(random.binomial(mixed * (self._group - 2), rate))
        else:
            valid = int(random.binomial(n, rate))
        labels = self._failures(size, n - valid)
        optimal = int(random.binomial(valid, self._optimal))
        labels[Label.OPTIMAL], labels[Label.SUBOPTIMAL] = optimal, valid - optimal
        conflicts = labels[Label.VERTEX_CONFLICT] + labels[Label.SWAP_CONFLICT]
        missing = int(random.binomial(conflicts, 0.7))
        return Row(
            size=size,
            num_agents=self._agents,
            n=n,
            valid=valid,
            optimal=optimal,
            gap=float((valid - optimal) / valid * random.uniform(0.1, 0.5)) if valid else None,
            labels=tuple(labels),
            truncated=labels[Label.TRUNCATED],
            tokens=float(2 + 1.2 * size + random.uniform(0, 3)) * self._words * (self._agents / 2),
            needs_wait=n // 2,
            waits_missing=min(missing, n // 2),
            groups=groups,
            groups_wrong=wrong,
            groups_right=right,
        )

    def _group_chances(self, rate: float) -> tuple[float, float, float]:
        """Chances that a group is all wrong, all right or mixed, boards' valid rates being beta distributed."""
        hit, miss = rate * self._spread + 1e-3, (1 - rate) * self._spread + 1e-3
        wrong = right = 1.0
        for index in range(self._group):
            wrong *= (miss + index) / (hit + miss + index)
            right *= (hit + index) / (hit + miss + index)
        return wrong, right, max(0.0, 1 - wrong - right)

    def _failures(self, size: int, failed: int) -> list[int]:
        conflict = min(1.0, max(0.0, self._conflict + self._tilt * (size - 6)))
        shares = np.concatenate((self._faults * (1 - conflict), self._meetings * conflict)) * (1 - self._text)
        shares[0] += self._text
        drawn = self._random.multinomial(failed, shares / shares.sum()).tolist()
        labels = [0] * len(Label)
        for label, number in zip((self._unreadable, *_WALK, *_CONFLICT), drawn, strict=True):
            labels[label] = number
        return labels
