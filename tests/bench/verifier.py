"""Plans per second of `jaxenv.verify` beside a copy of its bytes and two verifiers in NumPy, in one run.

    python -m tests.bench.verifier [--rounds 31] [--agents 5] [--out FILE]

65,536 boards, T = 32, once with plans that go wrong within a few steps, and once with the solver's own plans
(`certified`), which have to be followed to their ends. The copy is a jitted elementwise one of as many bytes as the
verifier reads and returns. The JAX programs that judge on accelerators (`programs`), and `verify` inside another
program (`inside_jit`), get the plans that go wrong. All are timed in turns, so that a slow moment of the machine meets
all; each is called twice in its turn and the second call counts, for the first finds the caches and the threads of
whoever was before it. The NumPy peers are written plainly and give the label alone: `loop` takes plan after plan,
`batch` all plans at once, step after step. Their labels have to be equal to ours.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxenv
from experiments.profiling import bytes_of, certified_batch, random_batch, setting
from jaxenv import Label
from jaxenv.verify_device import device_verify
from tests.slow import rows as store

MOVES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
BATCH, HORIZON = 1 << 16, 32
LOOPED = 1 << 9  # plans that the slow peer is timed on


def loop_labels(size, count, holes, starts, goals, actions, lengths):
    """Labels up to GOAL_NOT_REACHED (READ for a valid plan), plan after plan, step after step."""
    labels = []
    for b in range(len(size)):
        n = count[b]
        where = starts[b, :n]
        label = Label.READ
        for t in range(lengths[b, :n].max()):
            after = where + MOVES[np.where(t < lengths[b, :n], actions[b, :n, t], 0)]
            off = bool(((after < 0) | (after >= size[b])).any())
            hole = any(bool(holes[b, r, c]) for r, c in after if 0 <= r < size[b] and 0 <= c < size[b])
            same = len({tuple(cell) for cell in after.tolist()}) < int(n)
            swap = any(
                bool((after[i] == where[j]).all() and (after[j] == where[i]).all()) for i in range(n) for j in range(i)
            )
            found = [Label.OFF_MAP] * off + [Label.HOLE] * hole
            found += [Label.VERTEX_CONFLICT] * same + [Label.SWAP_CONFLICT] * swap
            if found:
                label = found[0]
                break
            where = after
        if label == Label.READ and (where != goals[b, :n]).any():
            label = Label.GOAL_NOT_REACHED
        labels.append(label)
    return np.array(labels)


def batch_labels(size, count, holes, starts, goals, actions, lengths):
    """The same for all plans at once; every board has the same number of agents."""
    boards, agents = np.arange(len(size))[:, None], int(count[0])
    starts, goals, actions, lengths = (field[:, :agents] for field in (starts, goals, actions, lengths))
    padded = np.pad(holes, ((0, 0), (1, 1), (1, 1)))
    label = np.full(len(size), Label.READ)
    where = starts
    first, second = np.triu_indices(agents, 1)
    for t in range(actions.shape[2]):
        after = where + MOVES[np.where(t < lengths, actions[..., t], 0)]
        off = ((after < 0) | (after >= size[:, None, None])).any(2)
        hole = padded[boards, after[..., 0] + 1, after[..., 1] + 1] & ~off
        same = (after[:, first] == after[:, second]).all(2)
        swap = (after[:, first] == where[:, second]).all(2) & (after[:, second] == where[:, first]).all(2)
        going = label == Label.READ
        kinds = ((off, Label.OFF_MAP), (hole, Label.HOLE), (same, Label.VERTEX_CONFLICT), (swap, Label.SWAP_CONFLICT))
        for hits, name in reversed(kinds):
            label = np.where(going & hits.any(1), name, label)
        where = np.where((label == Label.READ)[:, None, None], after, where)
    return np.where((label == Label.READ) & (where != goals).any((1, 2)), Label.GOAL_NOT_REACHED, label)


def seconds_of(call):
    began = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--agents", type=int, default=5, choices=range(2, 6))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    instances, solutions, plans = random_batch(BATCH, args.agents, HORIZON)
    parts = *(getattr(instances, name) for name in ("size", "num_agents", "holes", "starts", "goals")), plans.actions
    arrays = [np.asarray(field) for field in (*parts, plans.lengths)]

    def judge():
        return jaxenv.verify(instances, solutions, plans)

    right = certified_batch(BATCH, args.agents, HORIZON)
    compiling = seconds_of(judge)
    verdicts = judge()
    size = bytes_of((instances, plans, solutions.status, solutions.sum_of_costs, solutions.makespan, verdicts))
    words = jnp.zeros(size // 4, jnp.int32)
    copy = jax.jit(lambda array: array + 1)
    inside = jax.jit(jaxenv.verify)
    calls = (
        judge,
        lambda: jaxenv.verify(*right),
        lambda: copy(words),
        lambda: device_verify(instances, solutions, plans, "sum_of_costs"),
        lambda: inside(instances, solutions, plans),
    )
    if not bool(calls[1]().optimal.all()):
        raise SystemExit("a certified plan is not optimal")
    times = [[[seconds_of(call) for _ in range(2)][1] for call in calls] for _ in range(args.rounds + 3)][3:]
    (ours, followed, copied, programs, program), best, worst = (
        [reduce(column) for column in zip(*times, strict=True)] for reduce in (statistics.median, min, max)
    )
    few = [field[:LOOPED] for field in arrays]
    found = {"loop": (loop_labels(*few), LOOPED), "batch": (batch_labels(*arrays), BATCH)}
    labels = np.asarray(verdicts.label)
    valid = np.isin(labels, (Label.OPTIMAL, Label.SUBOPTIMAL))
    for name, (theirs, count) in found.items():
        if not np.array_equal(theirs, np.where(valid, Label.READ, labels)[:count]):
            raise SystemExit(f"the peer {name} judges otherwise")
    loop = min(seconds_of(lambda: loop_labels(*few)) for _ in range(3)) / LOOPED
    batch = min(seconds_of(lambda: batch_labels(*arrays)) for _ in range(3)) / BATCH
    row = {
        "bench": "verifier",
        "batch": BATCH,
        "agents": args.agents,
        "horizon": HORIZON,
        "rounds": args.rounds,
        "plans_per_second_median": BATCH / ours,
        "plans_per_second_worst": BATCH / worst[0],
        "plans_per_second_best": BATCH / best[0],
        "certified_per_second_median": BATCH / followed,
        "certified_per_second_best": BATCH / best[1],
        "programs_per_second_median": BATCH / programs,
        "inside_jit_per_second_median": BATCH / program,
        "compile_seconds": round(compiling - ours, 2),
        "bytes_per_plan": size / BATCH,
        "copies_per_second_median": BATCH / copied,
        "copies_per_second_best": BATCH / best[2],
        "share_of_copy": copied / ours,
        "share_of_copy_best": best[2] / best[0],
        "certified_share_of_copy": copied / followed,
        "certified_share_of_copy_best": best[2] / best[1],
        "times_loop": loop / (ours / BATCH),
        "times_batch": batch / (ours / BATCH),
        **store.setting(),
        **setting(),
    }
    store.tell(row, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
