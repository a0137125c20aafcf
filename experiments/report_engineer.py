"""The report's part on the engineer: its words, what had to be repaired, and how many replies were usable at all."""

import json
from pathlib import Path
from typing import Any

from engineer.context import modules
from experiments.plan import START, stage_folder
from experiments.proposals import audit_table, preview_tables, replies
from experiments.recipe import Recipe
from experiments.stats import wilson

KEPT = 5
LEVELS = {
    0: "exact",
    1: "format repaired",
    2: "values repaired",
    3: "missing parts kept from before",
    4: "asked again",
    KEPT: "the previous config was kept",
}
_REFUSED = "refused"


def engineer_section(run: Path, recipe: Recipe) -> str:
    """Every redesign: prompt, replies (refused ones too), level, log."""
    lines = ["## The engineer's words", "", f"Engineer `{recipe.engineer.name}`, context {recipe.engineer.variant}."]
    proposals = {}
    for stage in range(recipe.stages - 1):
        path = run / stage_folder(stage) / "engineer" / "proposal.json"
        if path.is_file():
            proposals[stage] = json.loads(path.read_text(encoding="utf-8"))
    if not proposals:
        return ""
    lines += ["", "| after stage | level | asked |", "|---|---|---|"]
    for stage, proposal in proposals.items():
        lines.append(f"| {stage} | {_level(proposal['level'])} | {len(replies(proposal))} times |")
    lines += audit_table(proposals)
    letters = modules(recipe.engineer.variant)
    if "H" in letters and "H0" not in letters:
        lines += ["", "Round 0 is left out of the history, so that it is empty at the first redesign."]
    for stage, proposal in proposals.items():
        lines += ["", f"### After stage {stage}: {_level(proposal['level'])}"]
        for number, step in enumerate(replies(proposal), 1):
            lines += ["", f"Reply {number}, {_verdict(step)}:", "", *_fenced(step["reply"])]
            if notes := [_note(entry) for entry in step["proposal"]["log"]]:
                lines += ["", *(f"- {note}" for note in notes)]
        lines += preview_tables(proposal)
        prompt = (run / stage_folder(stage) / "engineer" / "prompt.txt").read_text(encoding="utf-8")
        lines += ["", "<details><summary>The prompt</summary>", "", *_fenced(prompt), "", "</details>"]
    return "\n".join(lines)


def usable_section(run: Path, recipe: Recipe) -> str:
    """The share of sampled replies that were a usable config, per checkpoint."""
    folders = {"starter": run / START / "usable"}
    for stage in range(recipe.stages):
        last = stage == recipe.stages - 1
        folders[f"stage {stage}"] = run / stage_folder(stage) / ("usable" if last else "engineer")
    found = {
        name: json.loads((folder / "usable.json").read_text(encoding="utf-8"))
        for name, folder in folders.items()
        if (folder / "usable.json").is_file()
    }
    found = {name: share for name, share in found.items() if share["samples"]}
    if not found:
        return ""
    levels = [str(level) for level in range(4)]
    temperature = next(iter(found.values()))["temperature"]
    lines = [
        "## Usable replies",
        "",
        f"Each checkpoint was sampled at temperature {temperature} on the prompt of its own evidence; "
        f"the levels are: {', '.join(f'{level} {LEVELS[level]}' for level in range(4))}. 95 % Wilson intervals.",
        "",
        f"| checkpoint | replies | usable | {' | '.join(f'level {level}' for level in levels)} | refused |",
        f"|---|---|---|{'---|' * len(levels)}---|",
    ]
    for name, share in found.items():
        usable = sum(share["levels"][level] for level in levels)
        rate = wilson(usable, share["samples"])
        counts = " | ".join(str(share["levels"][level]) for level in [*levels, _REFUSED])
        lines.append(
            f"| {name} | {share['samples']} | {rate.value:.2f} ({rate.low:.2f} to {rate.high:.2f}) | {counts} |"
        )
    for name, share in found.items():
        refused = next((reply for reply in share["replies"] if reply["level"] is None), None)
        if refused is not None:
            lines += ["", f"A refused reply of {name} ({'; '.join(refused['log'])}):", "", *_fenced(refused["reply"])]
    return "\n".join(lines)


def _verdict(step: dict[str, Any]) -> str:
    refused = step["refused"]
    return f"refused ({' '.join(refused.split())})" if refused else _level(step["proposal"]["level"])


def _note(entry: dict[str, Any]) -> str:
    before, after = entry["before"], entry["after"]
    if before is None and after is None:
        return str(entry["step"])
    return f"{entry['step']}: {before}" + (f" became {after}" if after is not None else "")


def _level(level: Any) -> str:
    return "refused" if level is None else f"level {level} ({LEVELS[level]})"


def _fenced(text: str) -> list[str]:
    """As a code block that no back-ticks in the text can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, text.rstrip("\n"), fence]
