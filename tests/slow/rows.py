"""Rows of measurements: one JSON object a line, with what it takes to repeat them."""

import argparse
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def setting(*packages):
    """Command, versions, threads and commit, as part of a row."""
    import numba

    module = sys.modules["__main__"].__spec__
    words = sys.argv[1:]
    if "--out" in words:  # where a row was kept changes nothing in it
        at = words.index("--out")
        words = words[:at] + words[at + 2 :]
    command = " ".join(["python", "-m", module.name if module else "pytest", *words])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=RESULTS).stdout.strip()
    versions = {name: version(name) for name in ("jax", "numba", "numpy", *packages)}
    return {
        "command": command,
        "versions": versions,
        "cores": os.cpu_count(),
        "threads": numba.get_num_threads(),
        "commit": commit,
    }


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path, row):
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def tell(row, out):
    """Print a row, without what is the same in all, and keep it where there is a file for it."""
    print({name: value for name, value in row.items() if name not in ("command", "versions")}, flush=True)
    if out:
        append(out, row)


def collect(doc, check, measure, *, kinds=("agents",), packages=()):
    """The command line of a seeded check: a row for each seed that --out has none of; 1 when a row holds a fault.

    `measure(seed=.., agents=.., [mazes=..])` gives the row, `kinds` names the options besides the seed.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--agents", type=int, choices=range(2, 6), required=True)
    if "mazes" in kinds:
        parser.add_argument("--mazes", action="store_true")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1), metavar=("FIRST", "PAST"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = read(args.out) if args.out else []
    failed = False
    for seed in range(*args.seeds):
        what = {"seed": seed, **{name: getattr(args, name) for name in kinds}}
        if any(row["check"] == check and what == {name: row.get(name) for name in what} for row in rows):
            continue
        row = {"check": check, **what, **measure(**what), **setting(*packages)}
        told = {name: value for name, value in row.items() if name not in ("cells", "open")}
        tell(told, None)
        if args.out:
            append(args.out, row)
        failed |= bool(row.get("wrong") or row.get("plans_refused"))
    return int(failed)
