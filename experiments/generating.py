"""The command `generate`: boards to order, streamed to a folder; a call that was killed goes on when made again."""

import argparse
import json
from pathlib import Path
from typing import Any

from experiments.recipe import BOARDS
from experiments.standalone import run_alone


def options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--config", metavar="FILE", type=Path, help="JSON with `maps`, as the engineer writes it")
    source.add_argument("--benchmark", metavar="NAME", help=f"a fixed set: validation, {', '.join(BOARDS)}")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--count", type=int, help="boards (default: 1000, or the fixed set's own)")
    parser.add_argument("--num-agents", type=int, help="agents on each board (default: 2, or the fixed set's own)")
    parser.add_argument("--split", default="train", choices=("train", "validation", "evaluation"))
    parser.add_argument("--objective", default="sum_of_costs", choices=("sum_of_costs", "makespan"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--nearest",
        action="store_true",
        help="where the config cannot be had, take the nearest mix that can, and say what changed",
    )


def run(parsed: argparse.Namespace) -> None:
    job: dict[str, Any] = {"stream": True}
    if parsed.benchmark is not None:
        asked = {"count": parsed.count, "num_agents": parsed.num_agents}
        job |= {"benchmark": parsed.benchmark, **{key: value for key, value in asked.items() if value is not None}}
    else:
        job |= {
            "config": str(parsed.config),
            "count": 1000 if parsed.count is None else parsed.count,
            "num_agents": 2 if parsed.num_agents is None else parsed.num_agents,
            "split": parsed.split,
            "seed": parsed.seed,
            "stage": 0,
            "objective": parsed.objective,
            "nearest": parsed.nearest,
        }
    run_alone("generate", parsed.out, job)
    realised = json.loads((parsed.out / "metadata.json").read_text(encoding="utf-8"))["realised"]
    for row in realised["changed"]:
        kind = "need a wait" if row["needs_wait"] else "need no wait"
        what = f"{row['size']}x{row['size']} boards that {kind} (hole ratio {row['hole_ratio']:g})"
        print(f"changed: {row['count']} {what} instead of {row['wanted']}")
