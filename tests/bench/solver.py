"""Boards per second of the solver's engines against the CBS of w9-pathfinding, in one run on the same boards.

    python -m tests.bench.solver [--rounds 5] [--boards 2000] [--out FILE]
    python -m tests.bench.solver --only peer --engines device --agents 5      (a part of it)

Every line is one measurement as JSON. Boards are of sizes 3 to 10 and hole ratios 0 to 0.3. The peer is given the board
as an object of its own, made outside its time; it runs on one core, for it offers no other way, and finds a plan of
least sum of costs. An engine is given arrays and uses all cores. `labels` says what it finds: the sum of costs and a
plan, as the peer, or all labels. The ratio is taken over the boards that both solve, per round of fresh boards; median
and worst round are given. Compilation is apart. `tests.bench.solver_plot` draws the throughput.
"""

import argparse
import os
import statistics
import sys
import time
from functools import partial
from pathlib import Path

# The device engine shards over devices; on a CPU each core is made one. JAX reads this when it is imported.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={os.cpu_count()}"

import jax
import numpy as np

from jaxenv import Status
from jaxenv.device_engine import device_solve
from jaxenv.host_engine import host_solve
from tests.slow import rows as store
from tests.slow.boards import draw_boards, instances_of
from tests.slow.peer import NAME, find_paths, grid_of

AGENTS = (3, 4, 5)
PEER_SECONDS = 1.0  # the peer's own default
BATCHES = (256, 1024, 4096, 16384)
# Pairs of agents and boards in a call: over the agents, then over the boards.
THROUGHPUTS = tuple(dict.fromkeys([*((n, 4096) for n in (2, *AGENTS)), *((3, b) for b in BATCHES)]))
ENGINES = {"host": (host_solve, (None, 1_000)), "device": (device_solve, (1_000, 100))}  # and their limits
LABELS = {True: ["sum_of_costs", "plan"], False: ["sum_of_costs", "makespan", "needs_wait", "plan"]}


def timed(work):
    """Seconds and result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def arrays_of(boards):
    """What both engines take."""
    boards = instances_of(boards)
    return [np.asarray(x) for x in (boards.size, boards.num_agents, boards.holes, boards.starts, boards.goals)]


def peer_seconds(boards):
    """Seconds per board, infinite where the peer ran out of time."""
    seconds = []
    for rows, starts, goals in boards:
        grid = grid_of(rows)
        took, paths = timed(partial(find_paths, grid, starts, goals, PEER_SECONDS))
        seconds.append(took if paths else np.inf)
    return np.array(seconds)


def rounds_of(agents, rounds, count):
    """Rounds of boards that have a plan, as arrays, and the peer's seconds for each of them."""
    for seed in range(rounds):
        boards = draw_boards(1_000 + seed, agents, count, 0.3)[0]
        solved = host_solve(*arrays_of(boards))["status"] == Status.OPTIMAL
        boards = [board for board, known in zip(boards, solved, strict=True) if known]
        yield arrays_of(boards), peer_seconds(boards)


def against_peer(solve, boards, max_steps, cost_alone):
    """Boards per second of both on the boards that both solve (we within `max_steps`), round by round."""
    work = partial(solve, max_steps=max_steps, cost_alone=cost_alone)
    ratios, ours, theirs, both = [], [], [], 0
    for arrays, peer in boards:
        common = (work(*arrays)["status"] == Status.OPTIMAL) & np.isfinite(peer)
        shared = [x[common] for x in arrays]
        work(*shared)  # another number of boards may be another program
        seconds, _ = timed(lambda shared=shared: work(*shared))
        ratios.append(peer[common].sum() / seconds)
        ours.append(common.sum() / seconds)
        theirs.append(common.sum() / peer[common].sum())
        both += int(common.sum())
    return {
        "bench": "against_peer",
        "max_steps": max_steps,
        "rounds": len(boards),
        "boards": sum(len(peer) for _, peer in boards),
        "both_solved": both,
        "boards_per_second": round(statistics.median(ours)),
        "peer_boards_per_second": round(statistics.median(theirs)),
        "ratio_median": round(statistics.median(ratios), 2),
        "ratio_worst": round(min(ratios), 2),
        "labels": LABELS[cost_alone],
        "peer": NAME,
        "peer_labels": LABELS[True],
    }


def throughput(solve, agents, batch, rounds, cost_alone):
    """Boards per second of one call at the default limits, easy and hard boards as they come."""
    speeds, determined = [], []
    for seed in range(rounds):
        few = arrays_of(draw_boards(2_000 + seed, agents, min(batch, 4096), 0.3)[0])
        boards = [x[np.arange(batch) % len(x)] for x in few]  # each is solved every time it comes
        solve(*boards, cost_alone=cost_alone)
        seconds, found = timed(lambda boards=boards: solve(*boards, cost_alone=cost_alone))
        speeds.append(batch / seconds)
        determined.append(float((found["status"] != Status.UNDETERMINED).mean()))
    return {
        "bench": "throughput",
        "agents": agents,
        "batch": batch,
        "rounds": rounds,
        "boards_per_second": round(statistics.median(speeds)),
        "worst": round(min(speeds)),
        "determined": round(statistics.mean(determined), 5),
        "labels": LABELS[cost_alone],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--boards", type=int, default=2_000, help="boards of a round against the peer")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--agents", nargs="+", type=int, default=AGENTS, help="of the boards for the peer")
    parser.add_argument("--only", choices=("peer", "throughput"), help="this part alone")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    setting = store.setting("w9-pathfinding") | {"device": jax.devices()[0].device_kind, "devices": len(jax.devices())}

    def say(row):
        store.tell(row | setting, args.out)

    board = arrays_of(draw_boards(0, 3, 16, 0.3)[0])
    engines = {engine: ENGINES[engine] for engine in args.engines}
    for engine, (solve, _) in engines.items():
        first, _ = timed(lambda solve=solve: solve(*board))
        again, _ = timed(lambda solve=solve: solve(*board))
        say({"engine": engine, "bench": "compile", "seconds": round(first - again, 2)})
    for agents in args.agents if args.only != "throughput" else ():
        boards = list(rounds_of(agents, args.rounds, args.boards))
        for engine, (solve, limits) in engines.items():
            for max_steps in limits:
                for cost_alone in (True, False):
                    row = against_peer(solve, boards, max_steps, cost_alone)
                    say({"engine": engine, "agents": agents} | row)
    for engine, (solve, _) in engines.items():
        for cost_alone in (True, False):
            for agents, batch in THROUGHPUTS if args.only != "peer" else ():
                say({"engine": engine} | throughput(solve, agents, batch, args.rounds, cost_alone))
    return 0


if __name__ == "__main__":
    sys.exit(main())
