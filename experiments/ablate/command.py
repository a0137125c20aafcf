"""`ablate`: the options, the dry run, and what is said at the end."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from experiments.options import DEFAULT, recipe_options

if TYPE_CHECKING:
    from experiments.ablate.grid import Cell
    from experiments.ablate.rates import Rates


def options(parser: argparse.ArgumentParser) -> None:
    recipe_options(parser)
    parser.add_argument(
        "--grid",
        metavar="a.b=v,w,..",
        action="append",
        default=[],
        help="an axis of the grid; may be repeated, the last changes fastest (engineer.name=rule,self seed=0,1,2)",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="of the run folders (default: runs/RECIPE)")
    parser.add_argument("--results", metavar="FILE", type=Path, help="JSON lines, a row a run (default: in FOLDER)")
    parser.add_argument("--jobs", metavar="N", type=int, help="runs side by side (default: as many as the cores carry)")
    parser.add_argument("--ray", metavar="ADDRESS", help="on a Ray cluster: auto, ray://HOST:PORT, or local")
    parser.add_argument("--dry-run", action="store_true", help="print what it will take, do nothing")
    parser.add_argument(
        "--rates", metavar="RUN", type=Path, nargs="+", help="finished runs that the time is estimated from"
    )


def run(parsed: argparse.Namespace) -> int:
    """1 when a run failed."""
    from experiments.ablate.grid import cells_of
    from experiments.ablate.rates import measure, shipped
    from experiments.ablate.sweep import sweep
    from experiments.report_command import compare

    cells = cells_of(parsed.recipe or DEFAULT, parsed.set, parsed.grid)
    recipe = cells[0].recipe
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = recipe.threads or cores
    at_once = max(1, parsed.jobs or cores // each)
    if parsed.dry_run:
        rates = measure(parsed.rates, recipe.threads or 0) if parsed.rates else shipped(recipe.threads)
        print("\n".join(estimate(cells, at_once, rates)))
        return 0
    out = parsed.out or Path("runs") / recipe.name
    results = parsed.results or out / "results.jsonl"
    console = Console()
    outcomes = sweep(cells, out, results, console, at_once=at_once, cores=each, ray=parsed.ray)
    good = [out / outcome.cell.name for outcome in outcomes if outcome.error is None]
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed:
        console.print(f"{outcome.cell.name} failed: {outcome.error}", markup=False, highlight=False, soft_wrap=True)
    print(results)
    if good:
        compare(good, out / "report")
    return int(bool(failed))


def estimate(cells: "Sequence[Cell]", at_once: int, rates: "Rates") -> list[str]:
    """What the grid will take: runs, steps, tokens, time."""
    from experiments.ablate.sharing import beginnings
    from experiments.budget import counts
    from experiments.progress import duration

    count, number = counts(cells[0].recipe), len(cells)
    whole, spared = rates.seconds(count), rates.beginning(count)
    shared = number - beginnings(cells)
    total = (number * whole - shared * spared) / at_once
    return [
        f"{number} runs, {at_once} side by side: {', '.join(cell.name for cell in cells)}",
        f"  each                  {count.told()}",
        f"  GRPO steps            {number * count.stages * count.steps}",
        f"  training completions  {number * count.trained}",
        f"  evaluated completions {number * count.judged}",
        f"  answer tokens         at most {number * count.tokens}",
        f"  time                  about {duration(whole)} a run, {duration(total)} in all; reports aside, ten to "
        "twenty seconds each",
        f"  begun alike           {shared} runs can take what comes before the first redesign from another, which "
        f"spares about {duration(spared)} each",
        f"  measured on           {rates.source} ({rates.threads or 'all'} threads)",
    ]
