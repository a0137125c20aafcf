"""Boards per second that `generate_to` labels and stores, and the memory it takes.

    python -m tests.bench.generator --agents 3 --counts 25000 50000 100000 [--waits 0.5] [--out FILE]

Sizes 3 to 10 alike, hole ratio 0.2. Compilation is apart: a small set is made first. Every count is measured in a
process of its own, for the peak of its resident memory. Two agents on 3x3 maps have some 2,400 boards that need a wait,
so larger sets are the nearest mix.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax

import jaxenv
from jaxenv.streaming import generate_to
from tests.slow import rows as store


def measure(agents, count, waits, smallest):
    """One set, in this process."""
    data = [0.0 if size < smallest else 1 / (11 - smallest) for size in range(3, 11)]
    config = jaxenv.EnvConfig.create(data, 0.2, waits, agents)
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        generate_to(Path(place) / "small", jax.random.key(1), config, 200)
        first = time.perf_counter() - began
        idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, cpu = time.perf_counter(), time.process_time()
        folder = generate_to(Path(place) / "set", jax.random.key(0), config, count, nearest=True)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        size = sum(path.stat().st_size for path in folder.iterdir())
        realised = json.loads((folder / "metadata.json").read_text())["realised"]
    return {
        "bench": "generator",
        "agents": agents,
        "count": count,
        "wait_ratio": waits,
        "smallest": smallest,
        "boards_per_second": round(count / seconds),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "first_seconds": round(first, 2),
        "candidates": sum(row["candidates"] for row in realised["classes"]),
        "changed": len(realised["changed"]),
        "bytes_per_board_stored": round(size / count),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "peak_mib_of_a_small_set": idle // 1024,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--counts", type=int, nargs="+", default=[25_000, 50_000])
    parser.add_argument("--waits", type=float, default=0.5)
    parser.add_argument("--smallest", type=int, default=3, help="leave smaller sizes out, which run out of boards")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", action="store_true", help="measure here and print the row")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.agents[0], args.counts[0], args.waits, args.smallest)))
        return 0
    for agents in args.agents:
        for count in args.counts:
            asked = ["--agents", str(agents), "--counts", str(count), "--waits", str(args.waits), "--one"]
            asked += ["--smallest", str(args.smallest)]
            command = [sys.executable, "-m", "tests.bench.generator", *asked]
            found = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
                for _ in range(args.rounds)
            ]
            speeds = [row["boards_per_second"] for row in found]
            median = {
                "boards_per_second": round(statistics.median(speeds)),
                "worst": min(speeds),
                "rounds": len(speeds),
            }
            store.tell(found[0] | median | store.setting("pyarrow"), args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
