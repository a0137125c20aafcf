"""The prompt: modules F, G, H, S and T put together, and the reply's schema.

F evidence of this stage, G guidelines, H earlier (evidence, config) pairs, S what the model said earlier, T training
details. Variants are named sets of modules; any other set is written as its letters: `FGH` leaves round 0 out of H,
`FGH0` keeps it, `T` is the bookkeeping, `Tf` the full details.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engineer.errors import ContextError
from engineer.evidence import ABSENT, LEGEND, Evidence, Row, render_table
from engineer.guidelines import GUIDELINES
from engineer.reply import Maps
from engineer.schema import compact_schema, json_schema
from jaxenv.schema import FIELDS, SIZES

VARIANTS = {"V1": "F", "V2": "FG", "V3": "FGH0", "V4": "FGH", "V5": "FGHS", "V6": "FGHT"}
# Most words of a prompt, by style and variant; any other set of modules may have as many as the style's largest. Over
# budget the oldest pairs of H, then the oldest sayings of S, are left out. Words, since each model has its own tokens:
# the starter's are at most one a word. Its examples keep to these numbers, so that it reads no longer prompt than it
# was taught.
WORDS = {
    "compact": {"V1": 400, "V2": 480, "V3": 620, "V4": 620, "V5": 620, "V6": 620},
    "full": {"V1": 1500, "V2": 1600, "V3": 3000, "V4": 2800, "V5": 3000, "V6": 2800},
}
_SPELLING = re.compile(r"F(?P<g>G)?(?P<h>H0?)?(?P<s>S)?(?P<t>Tf?)?")
_SAID = 160  # characters of an earlier saying that are repeated


@dataclass(frozen=True)
class Pair:
    """One earlier stage: what it showed, and the config it was trained on."""

    stage: int
    evidence: Evidence
    maps: Maps


@dataclass(frozen=True)
class Bookkeeping:
    """Where the training stands. Stages count from 0; `details` is what `Tf` adds (objective, reward, weights)."""

    stage: int
    stages: int
    epochs: int = 1
    details: Mapping[str, Any] | None = None


def modules(variant: str) -> str:
    """The modules of a variant or of a set written as letters.

    Raises:
        ContextError: there is no such variant or set.
    """
    letters = VARIANTS.get(variant, variant)
    if not _SPELLING.fullmatch(letters):
        raise ContextError(
            f"there is no context {variant!r}; name one of {', '.join(VARIANTS)}, or a set such as FG, FGH0 or FGHSTf"
        )
    return letters


def word_budget(variant: str, style: str) -> int:
    """The most words that a prompt of this variant or set may have."""
    budgets = {VARIANTS[name]: most for name, most in WORDS[style].items()}
    return budgets.get(modules(variant), max(budgets.values()))


def build_prompt(
    variant: str,
    evidence: Evidence,
    history: Sequence[Pair] = (),
    bookkeeping: Bookkeeping | None = None,
    *,
    sayings: Sequence[tuple[int, str]] = (),
    style: str = "compact",
    words: int | None = None,
    refused: str = "",
) -> str:
    """The user message for one redesign.

    `history` holds the pairs of all stages so far, this one included; round 0 is left out unless the variant keeps it.
    `sayings` are (stage, rationale) of earlier replies. `style` "full" carries the whole JSON schema, "compact" its
    short form. `refused` is the reason why the last reply to this prompt could not be used. `words` is
    another budget than the variant's own.

    Raises:
        ContextError: an unknown variant or style, T without bookkeeping, or a budget too small for the rest.
    """
    found = _SPELLING.fullmatch(modules(variant))
    assert found is not None
    if style not in WORDS:
        raise ContextError(f"there is no prompt style {style!r}; choose one of {', '.join(WORDS)}")
    budget = word_budget(variant, style) if words is None else words
    if found["t"] and bookkeeping is None:
        raise ContextError(f"the context {variant!r} has module T: give the bookkeeping")
    pairs = [pair for pair in history if pair.stage > 0 or found["h"] == "H0"]
    said = list(sayings)
    dropped = 0
    while True:
        text = _compose(found, evidence, pairs, dropped, said, bookkeeping, style, refused)
        if len(text.split()) <= budget:
            return text
        if found["h"] and pairs:
            # Round 0, where it is asked for, is the point of the variant and goes last.
            oldest = 1 if pairs[0].stage == 0 and len(pairs) > 1 else 0
            pairs, dropped = pairs[:oldest] + pairs[oldest + 1 :], dropped + 1
        elif found["s"] and said:
            said = said[1:]
        else:
            raise ContextError(f"the prompt has {len(text.split())} words and its budget is {budget}; raise the budget")


def _compose(
    found: re.Match[str],
    evidence: Evidence,
    pairs: Sequence[Pair],
    dropped: int,
    sayings: Sequence[tuple[int, str]],
    bookkeeping: Bookkeeping | None,
    style: str,
    refused: str,
) -> str:
    lines = ["Design the boards of the next training stage."]
    if found["t"] and bookkeeping is not None:
        lines.append(f"stage {bookkeeping.stage} of {bookkeeping.stages} epochs {bookkeeping.epochs}")
        if found["t"] == "Tf":
            lines += [f"{key}: {value}" for key, value in (bookkeeping.details or {}).items()]
    if found["g"]:
        lines.append("guidelines")
        lines += GUIDELINES
    lines.append("evidence in percent of n")
    if style == "full":
        lines += LEGEND
    lines += render_table(evidence)
    if found["h"]:
        lines.append("history" if pairs else "history none")
        if dropped:
            lines.append(f"older stages left out: {dropped}")
        for pair in pairs:
            lines += _render_pair(pair)
    if found["s"]:
        lines.append("you said" if sayings else "you said nothing")
        lines += [f"stage {stage}: {' '.join(text.split())[:_SAID]}" for stage, text in sayings]
    lines.append("reply")
    lines.append(compact_schema() if style == "compact" else json.dumps(json_schema()))
    if refused:
        lines.append(f"your last reply was refused: {refused}")
    return "\n".join(lines)


def _render_pair(pair: Pair) -> list[str]:
    lines = [f"stage {pair.stage} size | valid wrong right | data hole wait"]
    agents = min((row.num_agents for row in pair.evidence.validation), default=0)
    validation = {row.size: row for row in pair.evidence.validation if row.num_agents == agents}
    training = {row.size: row for row in pair.evidence.training if row.num_agents == agents}
    for size in SIZES:
        shown = [_valid(validation.get(size)), *_groups(training.get(size))]
        ratios = [f"{100 * pair.maps[str(size)][field.name]:.0f}" for field in FIELDS]
        lines.append(f"{size} | {' '.join(shown)} | {' '.join(ratios)}")
    return lines


def _valid(row: Row | None) -> str:
    return str(row.valid_percent) if row is not None and row.n else ABSENT


def _groups(row: Row | None) -> list[str]:
    return [str(row.wrong_percent), str(row.right_percent)] if row is not None and row.groups else [ABSENT, ABSENT]
