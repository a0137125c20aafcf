"""`report.md`: what a run found, in Markdown, made from the run folder alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.gains import HEADLINE, SMALL, gain_of_tables
from experiments.plan import START, VALIDATION, stage_folder
from experiments.recipe import Recipe, load
from experiments.report_engineer import KEPT, engineer_section, usable_section
from experiments.runfolder import MANIFEST, METRICS, RECIPE, read_marker, read_metrics
from experiments.stats import Rate, wilson
from experiments.stepio import write_text
from experiments.tables import Table, read_table

# (run, name of the set, rows of its table) -> text of one board, the answer and the offending step
Draw = Callable[[Path, str, Table, int], str]
MODELS = Path(__file__).resolve().parent.parent / "policy" / "models"
_SAMPLES = 4
_POINTS = 10


def write_report(run: Path, out: Path, *, draw: Draw) -> Path:
    """Write `report.md`, and the starter's card beside it, into the folder `out`."""
    recipe = load(str(run / RECIPE))
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# {recipe.name}, seed {recipe.seed}",
        headline(run, recipe),
        _starter(recipe, out),
        *(rates(run, recipe, name) for name in recipe.evaluation.sets),
        configs(run, recipe),
        engineer_section(run, recipe),
        usable_section(run, recipe),
        learning(run, recipe),
        failures(run, recipe, draw),
        costs(run),
        _manifest(manifest, recipe),
    ]
    path = out / "report.md"
    write_text(path, "\n\n".join(part for part in parts if part) + "\n")
    return path


def checkpoints(run: Path, recipe: Recipe) -> list[tuple[str, Path]]:
    """The starter and every stage that has been evaluated, with their folders."""
    named = [("starter", run / START)]
    named += [(f"stage {stage}", run / stage_folder(stage)) for stage in range(recipe.stages)]
    return [(name, folder) for name, folder in named if (folder / "eval" / f"{HEADLINE}.parquet").is_file()]


def headline(run: Path, recipe: Recipe) -> str:
    """The last checkpoint against the starter, on the same boards."""
    found = checkpoints(run, recipe)
    if len(found) < 2:
        return "The run has not come far enough to compare anything."
    before, after = (read_table(folder / "eval" / f"{HEADLINE}.parquet") for _, folder in (found[0], found[-1]))
    gain = gain_of_tables(before, after)
    verdict = (
        "It learnt" if gain.low > 0 else "It got worse" if gain.high < 0 else "No difference can be told from chance"
    )
    small = before["size"] <= SMALL
    unfinished = "" if len(found) == recipe.stages + 1 else f" The run is not finished: this is after {found[-1][0]}."
    return "\n".join(
        [
            f"**{verdict}: the valid rate on `{HEADLINE}` went from {before['valid'].mean():.3f} to "
            f"{after['valid'].mean():.3f}, a difference of {100 * gain.value:+.1f} points "
            f"({_interval(gain)}).**",
            "",
            f"Greedy answers of the model before any RL and of the last checkpoint to the same {gain.count} boards, "
            f"which no training has seen; interval of the mean paired difference by Student's t. On the part of 3x3 to "
            f"{SMALL}x{SMALL} the starter had {before['valid'][small].mean():.3f} and the last checkpoint "
            f"{_matched(after, before['board'][small]).mean():.3f}.{unfinished}",
        ]
    )


def rates(run: Path, recipe: Recipe, name: str) -> str:
    """Valid and optimal rates per size and checkpoint on one set."""
    tables = {
        label: read_table(folder / "eval" / f"{name}.parquet")
        for label, folder in checkpoints(run, recipe)
        if (folder / "eval" / f"{name}.parquet").is_file()
    }
    if not tables:
        return ""
    first = next(iter(tables.values()))
    numbers = np.unique(first["num_agents"]).tolist()
    agents, trained = ", ".join(map(str, numbers)), recipe.num_agents in numbers
    note = "" if trained else " (RL never trained on so many; the model card says what the warm start showed)"
    limit = recipe.evaluation.limit
    boards = f"{len(first['valid'])} boards" if limit is None else f"Only the first {len(first['valid'])} boards"
    lines = [f"## `{name}`: {agents} agents{note}", "", f"{boards}; 95 % Wilson intervals."]
    for title, column in (("Valid", "valid"), ("Optimal", "optimal")):
        lines += ["", f"| {title} | boards | {' | '.join(tables)} |", f"|---|---|{'---|' * len(tables)}"]
        kinds = {*zip(first["num_agents"].tolist(), first["size"].tolist(), strict=True)}
        for number, size in [*sorted(kinds), (0, 0)]:
            here = {label: rows[column][_of_kind(rows, number, size)] for label, rows in tables.items()}
            cells = [_rate(wilson(int(hits.sum()), len(hits))) for hits in here.values()]
            place = "all" if size == 0 else f"{size}x{size}"
            place = f"{place}, {number} agents" if number and len(numbers) > 1 else place
            lines.append(f"| {place} | {len(here[next(iter(here))])} | {' | '.join(cells)} |")
    return "\n".join(lines)


def configs(run: Path, recipe: Recipe) -> str:
    """What each stage was asked for and what its boards became."""
    lines = ["## Configs, asked for and realised"]
    for stage in range(recipe.stages):
        path = run / stage_folder(stage) / "data" / "metadata.json"
        if not path.is_file():
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        lines += ["", f"### Stage {stage}, {_origin(run, recipe, stage)}", ""]
        lines += [
            "| size | boards asked | got | holes asked | got | waits asked | got |",
            "|---|---|---|---|---|---|---|",
        ]
        for size, asked in data["requested"]["sizes"].items():
            got = data["realised"]["sizes"].get(size, {"count": 0, "hole_ratio": 0.0, "wait_ratio": 0.0})
            holes, waits = (f"{got[name]:.2f}" if got["count"] else "" for name in ("hole_ratio", "wait_ratio"))
            lines.append(
                f"| {size} | {asked['count']} | {got['count']} | {asked['hole_ratio']:.2f} | {holes} | "
                f"{asked['wait_ratio']:.2f} | {waits} |"
            )
        if changed := data["realised"].get("changed"):
            lines += ["", f"{len(changed)} classes could not be had as asked; the nearest mix was taken."]
        if undetermined := sum(row.get("undetermined", 0) for row in data["realised"]["sizes"].values()):
            lines += ["", f"{undetermined} candidates were left out because their optimum was not certified."]
    return "\n".join(lines)


def learning(run: Path, recipe: Recipe) -> str:
    """The training rollouts' numbers along the stages, thinned out."""
    rows = [row for row in read_metrics(run / METRICS) if str(row.get("job", "")).endswith("/policy") and "step" in row]
    latest = {(row["job"], row["step"]): row for row in rows}  # of a step that was done twice the later counts
    wanted = ("reward", "valid", "optimal", "ability", "loss")
    columns = [name for name in wanted if any(name in row for row in latest.values())]
    if not columns:
        return ""
    lines = ["## Learning curve", "", "Sampled training answers; all rows are in `metrics.jsonl`.", ""]
    lines += [f"| stage | step | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for stage in range(recipe.stages):
        mine = [row for (job, _), row in sorted(latest.items()) if job == f"{stage_folder(stage)}/policy"]
        for index in sorted({round(i) for i in np.linspace(0, len(mine) - 1, min(_POINTS, len(mine)))}):
            row = mine[index]
            cells = [f"{row[name]:.4g}" if name in row else "" for name in columns]
            lines.append(f"| {stage} | {row['step']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def failures(run: Path, recipe: Recipe, draw: Draw) -> str:
    """A few boards that the last checkpoint got wrong, of different kinds."""
    label, folder = checkpoints(run, recipe)[-1] if checkpoints(run, recipe) else ("", run)
    path = folder / "eval" / f"{VALIDATION}.parquet"
    if not path.is_file():
        return ""
    rows = read_table(path)
    wrong = np.flatnonzero(~rows["valid"].astype(bool))
    if not len(wrong):
        return f"## Failures\n\n{label} answered every validation board with a valid plan."
    # The first of each kind, the kinds that happen most often first.
    _, first, counts = np.unique(rows["label"][wrong], return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_SAMPLES]
    lines = ["## Failures", "", f"Of {label} on the validation set: {len(wrong)} of {len(rows['valid'])} boards."]
    for kind in order.tolist():
        row = int(wrong[first[kind]])
        lines += ["", f"{counts[kind]} like this one:", "", "```", draw(run, VALIDATION, rows, row).rstrip("\n"), "```"]
    return "\n".join(lines)


def costs(run: Path) -> str:
    """What each step took."""
    lines = ["## Time and memory", "", "| output | seconds | peak memory, MiB |", "|---|---|---|"]
    places = sorted(run.glob("*/.*.done")) + sorted(run.glob(".*.done"))
    total = 0.0
    for marker in places:
        place = marker.with_name(marker.name.removeprefix(".").removesuffix(".done"))
        facts = read_marker(place)
        if "seconds" in facts:
            total += facts["seconds"]
            name = place.relative_to(run)
            lines.append(f"| {name} | {facts['seconds']:.1f} | {facts['peak_memory'] / 2**20:.0f} |")
    return "\n".join([*lines, f"| all | {total:.1f} | |"]) if len(lines) > 4 else ""


def _starter(recipe: Recipe, out: Path) -> str:
    """What the model had been trained on before: without it no claim about the engineer can be judged."""
    card = MODELS / recipe.model / "README.md"
    if not card.is_file():
        return f"The run began with the model `{recipe.model}`."
    shutil.copyfile(card, out / "model_card.md")
    return (
        f"The run began with the shipped model `{recipe.model}`. What it was trained on before any RL, the examples of "
        "config writing among it, is in [its model card](model_card.md)."
    )


def _manifest(manifest: dict[str, Any], recipe: Recipe) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    sessions = [f"`{session['command']}`, {session['started']}" for session in manifest["sessions"]]
    return "\n".join(
        [
            "## How it was made",
            "",
            f"- commit {manifest['commit'] or 'unknown'}; recipe `{recipe.name}`, hash {manifest['recipe_hash']}",
            f"- {manifest['platform']}, {manifest['cores']} cores",
            f"- {versions}",
            *(f"- session {number}: {line}" for number, line in enumerate(sessions, 1)),
            "",
            "```yaml",
            recipe.to_yaml().rstrip("\n"),
            "```",
        ]
    )


def _origin(run: Path, recipe: Recipe, stage: int) -> str:
    """Whose config it was."""
    if stage == 0:
        return "drawn at random from the seed"
    path = run / stage_folder(stage - 1) / "engineer" / "proposal.json"
    if not path.is_file():
        return "whose proposal is missing"
    level = json.loads(path.read_text(encoding="utf-8"))["level"]
    if level == KEPT:
        return f"kept from stage {stage - 1}, for no reply could be used (level {KEPT})"
    return f"written by `{recipe.engineer.name}` after stage {stage - 1} (level {level})"


def _interval(gain: Rate) -> str:
    if gain.low == gain.high:
        return "every board changed alike, so that there is no interval"
    return f"95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f}"


def _of_kind(rows: Table, agents: int, size: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Which rows have this number of agents and this size; all of them for size 0."""
    same: np.ndarray[Any, np.dtype[Any]] = (rows["num_agents"] == agents) & (rows["size"] == size)
    return same | (size == 0)


def _matched(rows: Table, boards: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
    return rows["valid"][np.isin(rows["board"], boards)]


def _rate(rate: Rate) -> str:
    return f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})" if rate.count else ""
