"""Rows of measurements: one JSON object a line, with what it takes to repeat them."""

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
    command = " ".join(["python", "-m", module.name if module else "pytest", *sys.argv[1:]])
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
