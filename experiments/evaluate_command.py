"""`evaluate`: any policy on any sets."""

import argparse
import json
from pathlib import Path
from typing import Any

from experiments.options import recipe_of, recipe_options
from experiments.standalone import run_alone

_SERVED_TOGETHER = 16  # boards in half a chunk: no more answers of a server than twice this are lost to a fault


def options(parser: argparse.ArgumentParser) -> None:
    recipe_options(parser)
    parser.add_argument("--model", metavar="SPEC", help="shipped name, folder, hub id, or a served model's name")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server; its key is in OPENAI_API_KEY")
    parser.add_argument("--data", metavar="FOLDER", type=Path, nargs="+", required=True, help="sets made by `generate`")
    parser.add_argument("--samples", metavar="K", type=int, help="sampled answers a board, beside the greedy one")
    parser.add_argument(
        "--out", metavar="FOLDER", type=Path, required=True, help="an interrupted evaluation there goes on"
    )


def run(parsed: argparse.Namespace) -> None:
    """Evaluate, then say the rates."""
    from experiments.errors import RecipeError
    from experiments.plan import steps_of

    sampled = [] if parsed.samples is None else [f"evaluation.samples={parsed.samples}"]
    # JSON, so that no character of an address is taken for YAML's own.
    served = (
        [] if parsed.base_url is None else ["sampler.name=openai", f"sampler.base_url={json.dumps(parsed.base_url)}"]
    )
    parsed.set = [*parsed.set, *sampled, *served]
    recipe = recipe_of(parsed)
    job = next(step.job for step in steps_of(recipe) if step.kind == "evaluate")
    sets = {folder.absolute().name: str(folder.absolute()) for folder in parsed.data}
    if len(sets) < len(parsed.data):
        raise RecipeError("two sets have the same name; evaluate them one after another")
    batch = min(job["batch"], _SERVED_TOGETHER) if recipe.sampler.name == "openai" else job["batch"]
    changed = {"model": parsed.model or recipe.model, "sets": sets, "batch": batch}
    run_alone("evaluate", parsed.out, {**job, **changed}, recipe.threads)
    for name in sets:
        print(_told(parsed.out, name))


def _told(out: Path, name: str) -> str:
    """A set's rates in one line, from its rows."""
    from experiments.reports.samples import mean_and_best
    from experiments.stats import wilson
    from experiments.tables import read_table

    def shown(rate: Any) -> str:
        return f"{100 * rate.value:.1f} ({100 * rate.low:.1f} to {100 * rate.high:.1f})"

    greedy = read_table(out / f"{name}.parquet")
    count = len(greedy["board"])
    parts = [f"{column} {shown(wilson(int(greedy[column].sum()), count))} %" for column in ("valid", "optimal")]
    line = f"{name}, {count} boards: {', '.join(parts)}"
    sampled_file = out / "samples" / f"{name}.parquet"
    if sampled_file.is_file():
        sampled = read_table(sampled_file)
        mean, best = mean_and_best(sampled, "valid")
        line += f"; {len(sampled['board']) // count} samples: mean {100 * mean:.1f}, best {shown(best)} %"
    return line
