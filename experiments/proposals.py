"""Proposals as tables: side by side for people at a terminal, and a redesign's audit and preview for the report."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from experiments.stats import wilson
from jaxenv.schema import FIELDS, SIZES

Proposal = Mapping[str, Any]
_WIDE = 4096  # columns of the terminal that the table is made for: a narrower one lets its lines run on


def side_by_side(proposals: Mapping[str, Proposal]) -> str:
    """Sizes down, proposals across: the ratios in percent, and the share of groups with a signal in the preview."""
    table = Table(box=SIMPLE, pad_edge=False)
    table.add_column("size", justify="right")
    for name in proposals:
        table.add_column(f"{name}\n{' '.join(_short(field.name) for field in FIELDS)} signal", justify="right")
    for size in map(str, SIZES):
        table.add_row(size, *(_cells(proposal, size) for proposal in proposals.values()))
    table.add_section()
    table.add_row("level", *(str(proposal["level"]) for proposal in proposals.values()))
    table.add_row("replies", *(str(len(replies(proposal))) for proposal in proposals.values()))
    table.add_row("signal", *(_signal(proposal) for proposal in proposals.values()))
    console = Console(width=_WIDE, color_system=None)
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    note = "Ratios in percent; signal: percent of the previewed groups with valid and invalid answers, - without any."
    return "\n".join([*(line for line in lines if line), note])


def replies(proposal: Proposal) -> list[dict[str, Any]]:
    """The steps of a conversation that are replies; the last step says what was done."""
    return [step for step in proposal["steps"] if "reply" in step]


def audit_table(proposals: Mapping[int, Proposal]) -> list[str]:
    """What each redesign answered to, in Markdown; nothing for runs that were made before there was an audit."""
    audits = {stage: proposal["audit"] for stage, proposal in proposals.items() if "audit" in proposal}
    if not audits:
        return []
    head = ["boards moved", "holes", "waits", "sizes kept", "signal gained", "data: signal", "holes: valid"]
    head += ["waits: conflicts", "commonest failure", "answered by", "monotone"]
    lines = [
        "",
        "What each change answered to. Moved: the share of boards whose size changed. Holes, waits: mean change of "
        "the ratio. Gained: mean 4 v (1 - v) of the boards' sizes, v the validation's valid rate, after less before. "
        "The next three are correlations over the sizes of a change with the evidence that it should follow. Answered "
        "by: the mean change, where it happened, of the ratio that trains against the commonest failure. Monotone: "
        "ratios that never fall with the size; all three are the template that the published study found harmful.",
        "",
        f"| after stage | {' | '.join(head)} |",
        f"|---|{'---|' * len(head)}",
    ]
    for stage, found in audits.items():
        edit = found["edit"]
        rising = [_short(name) for name, is_rising in found["monotone"].items() if is_rising]
        cells = [f"{edit[field.name]:.2f}" for field in FIELDS]
        cells += [", ".join(map(str, found["kept"])) or "none", _number(found["signal_gain"])]
        cells += [_number(found[name]) for name in _CORRELATIONS]
        cells += _dominant(found["dominant"])
        cells.append("template" if found["template"] else ", ".join(rising) or "none")
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return lines


def _dominant(found: Mapping[str, Any] | None) -> list[str]:
    return [f"{found['failure']} {found['share']:.0%}", _number(found["answer"])] if found else ["none", ""]


_CORRELATIONS = ("data_follows_signal", "holes_follow_valid", "waits_follow_conflicts")


def preview_tables(proposal: Proposal) -> list[str]:
    """The preview of a proposal, and of those that it was chosen from, in Markdown; nothing where there was none."""
    if "preview" not in proposal:
        return []
    all_of = [proposal, *proposal.get("others", [])]
    names = ["taken", *(f"proposal not taken, level {other['level']}" for other in all_of[1:])]
    lines = [
        "",
        "Preview: groups of sampled answers by the checkpoint to a few boards of the proposal, and of them those that "
        "carry a signal (some answers valid, some not). 95 % Wilson intervals.",
        "",
        f"| size | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for size in [*map(str, SIZES), "all"]:
        lines.append(f"| {size} | {' | '.join(_previewed(one['preview'], size) for one in all_of)} |")
    return lines


def _previewed(preview: Mapping[str, Any], size: str) -> str:
    rows = list(preview["sizes"].values()) if size == "all" else [preview["sizes"].get(size)]
    groups = sum(row["groups"] for row in rows if row)
    if not groups:
        return ""
    mixed = sum(row["groups"] - row["wrong"] - row["right"] for row in rows if row)
    rate = wilson(mixed, groups)
    return f"{mixed} of {groups}: {rate.value:.2f} ({rate.low:.2f} to {rate.high:.2f})"


def _cells(proposal: Proposal, size: str) -> str:
    values = proposal["config"]["maps"][size]
    ratios = "".join(f"{100 * values[field.name]:5.0f}" for field in FIELDS)
    return f"{ratios} {_signal(proposal, size):>6}"


def _signal(proposal: Proposal, size: str | None = None) -> str:
    preview = proposal.get("preview")
    shown = preview["sizes"].get(size) if preview and size else preview
    return f"{100 * shown['signal']:.0f}" if shown else "-"


def _short(name: str) -> str:
    return name.removesuffix("_ratio")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"
