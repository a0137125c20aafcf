"""What the runs of a sweep asked for after their first stage, and where their gain lies.

    python -m tests.bench.study                                # the tables of docs/findings.md, from the committed rows
    python -m tests.bench.study --runs runs/study/* --out FILE # those rows, from the folders of finished runs

`waits` is the share of boards that need a wait, over the stages whose config the engineer wrote. Gains are the rate of
valid (or optimal) answers to the boards of `learn` by the last checkpoint, less that by the starter.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from scipy import stats

from tests.slow import rows as store

ROWS = store.RESULTS / "study_configs.jsonl"
GAINS = ("valid", "valid_wait", "valid_no_wait", "optimal")


def row_of(run):
    """One run's row."""
    from experiments.gains import start_and_end
    from experiments.plan import stage_folder
    from experiments.recipe import load

    recipe = load(str(run / "recipe.yaml"))
    asked = []
    for stage in range(1, recipe.stages):
        maps = json.loads((run / stage_folder(stage) / "config.json").read_text())["maps"].values()
        asked.append(sum(one["data_ratio"] * one["wait_ratio"] for one in maps))
    before, after = start_and_end(run, recipe)
    waits = before["needs_wait"]
    if (after["board"] != before["board"]).any():
        raise SystemExit(f"{run}: the two evaluations list their boards in other orders")
    changed = {name: after[name].astype(int) - before[name] for name in ("valid", "optimal")}
    gains = (changed["valid"], changed["valid"][waits], changed["valid"][~waits], changed["optimal"])
    return {
        "recipe": recipe.name,
        "engineer": recipe.engineer.name,
        "variant": recipe.engineer.variant,
        "seed": recipe.seed,
        "waits": round(statistics.mean(asked), 4),
        **{f"gain_{name}": round(float(gain.mean()), 5) for name, gain in zip(GAINS, gains, strict=True)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.runs:
        for run in args.runs:
            store.tell(row_of(run), args.out)
        return 0
    rows = store.read(ROWS)
    kinds = dict.fromkeys(row["engineer"] for row in rows)
    print("| engineer | runs | boards asked for that need a wait | valid | valid, wait | valid, no wait | optimal |")
    print("|---|---|---|---|---|---|---|")
    for kind in kinds:
        own = [row for row in rows if row["engineer"] == kind]
        means = [100 * statistics.mean(row[f"gain_{name}"] for row in own) for name in GAINS]
        waits = 100 * statistics.mean(row["waits"] for row in own)
        print(f"| {kind} | {len(own)} | {waits:.0f} % |", " | ".join(f"{mean:+.1f}" for mean in means), "|")
    for name in GAINS:
        pairs = [(row["waits"], row[f"gain_{name}"]) for row in rows]
        found = stats.pearsonr(*zip(*pairs, strict=True))
        low, high = found.confidence_interval()
        print(f"waits and {name}: r = {found.statistic:+.2f} ({low:+.2f} to {high:+.2f}), p = {found.pvalue:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
