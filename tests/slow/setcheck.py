"""Stored sets, checked by code that shares nothing with the generator.

    python -m tests.slow.setcheck --agents 3 --seeds 0 10 [--out FILE]

A seed is 25,000 boards streamed to disk: sizes 3 to 10, hole ratios spread over 0 to 0.5, a quarter that need a wait.
The check reads the Parquet columns with pyarrow alone and goes by plain Python: every start and goal on the map and in
no hole, plans replayed step by step at the labelled costs (so that none is unsolvable), no board twice up to the order
of agents, the asked number per size and class, holes the floor or the ceiling. Ten seeds for each of 2 to 5 agents are
a million boards. Exits with 1 when anything is wrong.
"""

import math
import resource
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet as pq

import jaxenv
from jaxenv.streaming import generate_to
from tests.slow import rows as store

BOARDS = 25_000
MOVES = {"W": (0, 0), "U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def ratios(seed):
    """Hundredths of holes per size: all of 0 to 50 come up over the seeds, in another order for each size."""
    return [(7 * seed + 13 * k) % 51 for k in range(8)]


def measure(agents, seed):
    """Make a seed's set and check it. Small or crowded maps do not hold enough boards: the nearest mix says so."""
    holes = ratios(seed)
    config = jaxenv.EnvConfig.create(1 / 8, [hundredths / 100 for hundredths in holes], 0.25, agents)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = generate_to(Path(place) / "set", jax.random.key(seed), config, BOARDS, nearest=True)
        seconds = time.perf_counter() - began
        metadata = jaxenv.Dataset.load(folder)  # the content hash holds
        columns = [pq.read_table(file).to_pydict() for file in sorted(folder.glob("boards*.parquet"))]
    table = {name: [value for part in columns for value in part[name]] for name in columns[0]}
    wrong = list(faults(table, agents, holes, metadata.realised["changed"]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "boards": len(table["map"]),
        "hundredths_of_holes": holes,
        "changed": len(metadata.realised["changed"]),
        "undetermined": sum(row["undetermined"] for row in metadata.realised["classes"]),
        "unsolvable": sum(row["unsolvable"] for row in metadata.realised["classes"]),
        "content_hash": metadata.content_hash,
        "seconds": round(seconds, 1),
        "peak_mib": peak // 1024,
        "wrong": wrong[:20],
    }


def faults(table, agents, holes, changed):
    """What is wrong with a set, in words."""
    if len(table["map"]) != BOARDS:
        yield f"{len(table['map'])} boards"
    seen = set()
    counts = Counter()
    for b in range(len(table["map"])):
        rows, n = table["map"][b].split("\n"), table["size"][b]
        starts, goals = (
            list(zip(flat[::2], flat[1::2], strict=True)) for flat in (table["starts"][b], table["goals"][b])
        )
        counts[n, table["needs_wait"][b]] += 1
        share = Fraction(holes[n - 3], 100) * n * n
        if len(rows) != n or any(len(row) != n for row in rows):
            yield f"board {b}: the map is not {n}x{n}"
        elif table["map"][b].count("H") not in (math.floor(share), math.ceil(share)):
            yield f"board {b}: {table['map'][b].count('H')} holes, not about {float(share)}"
        elif len(starts) != agents or len(goals) != agents:
            yield f"board {b}: {len(starts)} agents"
        elif any(not (0 <= r < n and 0 <= c < n) or rows[r][c] == "H" for r, c in [*starts, *goals]):
            yield f"board {b}: a start or goal off the map or in a hole"
        elif len(set(starts)) != agents or len(set(goals)) != agents or any(map(tuple.__eq__, starts, goals)):
            yield f"board {b}: a start or goal twice, or both at once"
        elif (why := broken(rows, starts, goals, table["plan"][b].split("|"), table, b)) is not None:
            yield f"board {b}: {why}"
        board = (table["map"][b], tuple(sorted(zip(starts, goals, strict=True))))
        if board in seen:
            yield f"board {b} is there twice"
        seen.add(board)
    wanted = {}
    for n, boards in zip(range(3, 11), [BOARDS // 8] * 8, strict=True):
        waits = Fraction(boards, 4)
        wanted[n, True] = math.floor(waits) + (waits - math.floor(waits) >= Fraction(1, 2))
        wanted[n, False] = boards - wanted[n, True]
    for row in changed:  # the set says itself that these are not as asked
        if wanted[row["size"], row["needs_wait"]] != row["wanted"]:
            yield f"{row['wanted']} boards of size {row['size']} were asked for"
        wanted[row["size"], row["needs_wait"]] = row["count"]
    if counts != Counter({key: count for key, count in wanted.items() if count}):
        yield f"counts are {dict(counts)}, not {wanted}"


def broken(rows, starts, goals, plan, table, b):
    """Why the plan is not a solution at the labelled costs, or None."""
    n = len(rows)
    at, costs = list(starts), [0] * len(starts)
    for t in range(max(map(len, plan))):
        steps = [MOVES[walk[t]] if t < len(walk) else (0, 0) for walk in plan]
        after = [(r + down, c + right) for (r, c), (down, right) in zip(at, steps, strict=True)]
        if any(not (0 <= r < n and 0 <= c < n) or rows[r][c] == "H" for r, c in after):
            return "a plan leaves the map or enters a hole"
        if len(set(after)) < len(after):
            return "two agents in one cell"
        if any(after[i] == at[j] and after[j] == at[i] for i in range(len(at)) for j in range(i)):
            return "two agents change places"
        at = after
        costs = [cost if cell == goal else t + 1 for cost, cell, goal in zip(costs, at, goals, strict=True)]
        costs = [
            t + 1 if cell == goal and moved != (0, 0) else cost
            for cost, cell, goal, moved in zip(costs, at, goals, steps, strict=True)
        ]
    if at != goals:
        return "a plan does not end at the goals"
    if sum(costs) != table["sum_of_costs"][b] or table["status"][b] != 1:
        return f"the plan costs {sum(costs)}, the label says {table['sum_of_costs'][b]}"
    if max(costs) < table["makespan"][b]:
        return "the plan is faster than the makespan"
    return None


if __name__ == "__main__":
    np.seterr(all="raise")
    sys.exit(store.collect(__doc__, "set", measure, packages=("pyarrow",)))
