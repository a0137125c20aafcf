"""The report of one run, from its folder alone."""

from pathlib import Path

from experiments.gains import HEADLINE, SMALL, gain_of_tables
from experiments.report_engineer import engineer_section, usable_section
from experiments.reports.blocks import Block, Report, Section, Text
from experiments.reports.configs import configs_section, frontier_section
from experiments.reports.differences import points, tests_section
from experiments.reports.failures import Draw, heat_section
from experiments.reports.failures import samples_section as failures_section
from experiments.reports.learning import learning_section
from experiments.reports.provenance import costs_section, manifest_section, starter_section
from experiments.reports.rates import headline_section, set_section
from experiments.reports.samples import samples_section
from experiments.reports.source import Run
from experiments.reports.writing import write_both


def write_report(folder: Path, out: Path, *, draw: Draw) -> Path:
    """Write `report.md` and `report.html` into the folder `out`; returns the Markdown's path."""
    return write_both(report_of(Run(folder), draw), out)


def report_of(run: Run, draw: Draw) -> Report:
    """All that a run's folder tells."""
    recipe = run.recipe
    verdict, figures = _verdict(run)
    sections = [
        headline_section(run),
        tests_section(run),
        *(set_section(run, name) for name in recipe.evaluation.sets),
        samples_section(run),
        configs_section(run),
        frontier_section(run),
        learning_section(run),
        heat_section(run),
        failures_section(run, draw),
        _of_markdown(engineer_section(run.path, recipe)),
        _of_markdown(usable_section(run.path, recipe)),
        starter_section(run),
        costs_section(run),
        manifest_section(run),
    ]
    facts = (
        ("model", recipe.model),
        ("engineer", recipe.engineer.name),
        ("context", recipe.engineer.variant),
        ("stages", str(recipe.stages)),
        ("seed", str(recipe.seed)),
        ("commit", str(run.manifest.get("commit"))[:10]),
    )
    return Report(f"{recipe.name}, seed {recipe.seed}", verdict, tuple(filter(None, sections)), facts, figures)


def _verdict(run: Run) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The last checkpoint against the starter, on the same boards; and the three numbers of it."""
    found = list(run.checkpoints.items())
    if len(found) < 2:
        return "The run has not come far enough to compare anything.", ()
    tables = [run.verdicts(folder, HEADLINE) for _, folder in (found[0], found[-1])]
    before, after = (table for table in tables if table is not None)
    gain = gain_of_tables(before, after)
    told = "It learnt" if gain.low > 0 else "It got worse" if gain.high < 0 else "No difference can be told from chance"
    start, end = float(before["valid"].mean()), float(after["valid"].mean())
    spread = (
        f"95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
        if gain.low < gain.high
        else "every board changed alike, so that there is no interval"
    )
    small = before["size"] <= SMALL
    text = (
        f"**{told}: the valid rate on `{HEADLINE}` went from {start:.3f} to {end:.3f}, a difference of "
        f"{100 * gain.value:+.1f} points ({spread}).**\n\n"
        f"Greedy answers of the model before any RL and of the last checkpoint to the same {gain.count} boards, which "
        "no training has seen; interval of the mean paired difference by Student's t. On the part of 3x3 to "
        f"{SMALL}x{SMALL} the starter had {before['valid'][small].mean():.3f} and the last checkpoint "
        f"{after['valid'][small].mean():.3f}."
    )
    if not run.finished:
        text += f" The run is not finished: this is after {found[-1][0]}."
    figures = (
        (f"{100 * start:.1f}%", "valid before any RL"),
        (f"{100 * end:.1f}%", f"valid after {found[-1][0]}"),
        (points(gain).partition(" ")[0], "points on the same boards"),
    )
    return text, figures


def _of_markdown(text: str) -> Section | None:
    """A section that is Markdown with a heading already."""
    if not text:
        return None
    head, _, body = text.partition("\n")
    blocks: tuple[Block, ...] = (Text(body.strip()),)
    return Section(head.removeprefix("## "), blocks)
