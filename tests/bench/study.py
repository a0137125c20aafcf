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
from collections import Counter
from pathlib import Path

from scipy import stats

from tests.slow import rows as store

ROWS = store.RESULTS / "study_configs.jsonl"
GAINS = ("valid", "valid_wait", "valid_no_wait", "optimal")


def split(table):
    """The outcomes that are told of, by name."""
    waits = table["needs_wait"]
    valid = table["valid"]
    return dict(zip(GAINS, (valid, valid[waits], valid[~waits], table["optimal"]), strict=True))


def replies(run):
    """How many sampled replies needed which level of repair, over the stages that had an engineer to ask."""
    levels = Counter()
    for path in run.glob("stage_*/engineer/usable.json"):
        levels.update(json.loads(path.read_text())["levels"])
    return dict(levels)


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
    if (after["board"] != before["board"]).any():
        raise SystemExit(f"{run}: the two evaluations list their boards in other orders")
    ends, starts = split(after), split(before)
    return {
        "recipe": recipe.name,
        "engineer": recipe.engineer.name,
        "variant": recipe.engineer.variant,
        "seed": recipe.seed,
        "waits": round(statistics.mean(asked), 4),
        "replies": replies(run),
        **{f"start_{name}": round(float(rate.mean()), 5) for name, rate in split(before).items()},
        **{f"gain_{name}": round(float(ends[name].mean() - starts[name].mean()), 5) for name in GAINS},
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
        ends = sorted(100 * (row[f"start_{name}"] + row[f"gain_{name}"]) for row in rows)
        print(f"{name}: {100 * rows[0][f'start_{name}']:.1f} % before, {ends[0]:.1f} to {ends[-1]:.1f} % after")
    farthest = min(rows, key=lambda row: row["waits"])
    for name in GAINS:
        print(f"waits and {name}: {correlation(rows, name)}")
    print("without the run that asked for the fewest:", correlation([row for row in rows if row != farthest], "valid"))
    levels = sum((Counter(row["replies"]) for row in rows if row["engineer"] == "self"), Counter())
    print("sampled replies of self by level of repair:", dict(levels))
    return 0


def correlation(rows, name):
    """Pearson's r between the waits asked for and a gain, with its 95 % interval."""
    found = stats.pearsonr([row["waits"] for row in rows], [row[f"gain_{name}"] for row in rows])
    low, high = found.confidence_interval()
    return f"r = {found.statistic:+.2f} ({low:+.2f} to {high:+.2f}), p = {found.pvalue:.4f}"


if __name__ == "__main__":
    sys.exit(main())
