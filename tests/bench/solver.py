"""Boards per second of the solver's engines against the CBS of w9-pathfinding, in one run on the same boards.

    python -m tests.bench.solver [--rounds 5] [--boards 400] [--out FILE]

Every line is one measurement as JSON. Boards are of sizes 3 to 10 and hole ratios 0 to 0.3. The peer is given the board
as an object of its own, made outside its time, and finds the sum of costs alone. `jaxenv.solve` finds both costs, a
plan, needs_wait and the proof for every board (`labels`), and its time includes reading the arrays. The ratio is taken
over the boards that both solve, per round of fresh boards; median and worst round are given. Compilation is apart.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import jax
import numpy as np

import jaxenv
from jaxenv import Instances, Status
from tests.slow import rows as store
from tests.slow.boards import draw_boards, instances_of
from tests.slow.peer import NAME, find_paths, grid_of

AGENTS = (3, 4, 5)
PEER_SECONDS = 1.0  # the peer's own default
BATCHES = (256, 1024, 4096, 16384)
QUICK_STEPS = 1_000  # what the host gives every board before it turns to the hard ones
LABELS = ["sum_of_costs", "makespan", "needs_wait", "plan", "unsolvability"]


def timed(work):
    """Seconds and result, once all arrays are there."""
    began = time.perf_counter()
    result = jax.block_until_ready(work())
    return time.perf_counter() - began, result


def take(instances, chosen):
    return jax.tree.map(lambda field: field[np.asarray(chosen)], instances)


def peer_seconds(boards):
    """Seconds per board, None where the peer ran out of time."""
    seconds = []
    for rows, starts, goals in boards:
        grid = grid_of(rows)
        began = time.perf_counter()
        paths = find_paths(grid, starts, goals, PEER_SECONDS)
        seconds.append(time.perf_counter() - began if paths else None)
    return seconds


def against_peer(engine, agents, rounds, count, max_steps):
    """Boards per second of both on the boards that both solve (we within `max_steps`), round by round."""
    ratios, ours, theirs, both = [], [], [], 0
    for seed in range(rounds):
        boards = draw_boards(1_000 + seed, agents, count, 0.3)[0]
        instances = instances_of(boards)
        solved = np.asarray(jaxenv.solve(instances, engine=engine, max_steps=max_steps).status) == Status.OPTIMAL
        boards = [board for board, known in zip(boards, solved, strict=True) if known]
        peer = peer_seconds(boards)
        boards = [board for board, seconds in zip(boards, peer, strict=True) if seconds is not None]
        shared = instances_of(boards)
        jaxenv.solve(shared, engine=engine, max_steps=max_steps)  # another number of boards may be another program
        seconds, _ = timed(lambda shared=shared: jaxenv.solve(shared, engine=engine, max_steps=max_steps))
        peer_total = sum(s for s in peer if s is not None)
        ratios.append(peer_total / seconds)
        ours.append(len(boards) / seconds)
        theirs.append(len(boards) / peer_total)
        both += len(boards)
    return {
        "bench": "against_peer",
        "agents": agents,
        "max_steps": max_steps,
        "rounds": rounds,
        "boards": rounds * count,
        "both_solved": both,
        "boards_per_second": round(statistics.median(ours)),
        "peer_boards_per_second": round(statistics.median(theirs)),
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_worst": round(min(ratios), 2),
        "labels": LABELS,
        "peer": NAME,
        "peer_labels": ["sum_of_costs", "plan"],
    }


def throughput(engine, agents, batch, rounds):
    """Boards per second of one call, easy and hard boards as they come, at the default limits."""
    speeds = []
    for seed in range(rounds):
        instances = tiled(2_000 + seed, agents, batch)
        jaxenv.solve(instances, engine=engine)
        seconds, solutions = timed(lambda instances=instances: jaxenv.solve(instances, engine=engine))
        speeds.append(batch / seconds)
    determined = float((np.asarray(solutions.status) != Status.UNDETERMINED).mean())
    return {
        "bench": "throughput",
        "agents": agents,
        "batch": batch,
        "rounds": rounds,
        "boards_per_second": round(statistics.median(speeds)),
        "worst": round(min(speeds)),
        "determined": round(determined, 5),
        "labels": LABELS,
    }


def tiled(seed, agents, batch) -> Instances:
    """At most 4,096 different boards, repeated to the size of the batch: each is solved every time it comes."""
    few = instances_of(draw_boards(seed, agents, min(batch, 4096), 0.3)[0])
    return take(few, np.arange(batch) % len(few))


def engines():
    """Both engines, with the seconds that the first call takes beyond the second."""
    board = instances_of(draw_boards(0, 3, 16, 0.3)[0])
    found = {}
    for engine in ("host", "device"):
        first, _ = timed(lambda engine=engine: jaxenv.solve(board, engine=engine))
        found[engine] = first - timed(lambda engine=engine: jaxenv.solve(board, engine=engine))[0]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--boards", type=int, default=400, help="boards of a round against the peer")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    setting = store.setting("w9-pathfinding") | {"device": jax.devices()[0].device_kind}

    def say(row):
        row = row | setting
        print({name: value for name, value in row.items() if name not in ("command", "versions")}, flush=True)
        if args.out:
            store.append(args.out, row)

    for engine, compile_seconds in engines().items():
        say({"bench": "compile", "engine": engine, "seconds": round(compile_seconds, 2)})
        for agents in AGENTS:
            for max_steps in (None, QUICK_STEPS):
                say({"engine": engine} | against_peer(engine, agents, args.rounds, args.boards, max_steps))
        for agents in (2, *AGENTS):
            say({"engine": engine} | throughput(engine, agents, 2048, args.rounds))
        for batch in BATCHES:
            say({"engine": engine} | throughput(engine, 3, batch, args.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
