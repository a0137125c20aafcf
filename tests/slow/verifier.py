"""The verifier against a loop-written oracle and a replay of every plan through the step rules.

    python -m tests.slow.verifier --seeds 0 50 [--out FILE]

A seed is 2,000 boards of 1 to 5 agents and sizes 3 to 10, with ten plans each at random (any actions; walks on free
cells; walks whose ends are the goals), and 2,000 nearly valid ones (valid plans with one edit). A few are given an
unknown action, too long a length or a label of the text reader. Every field of every verdict is compared. With --out
each seed appends a row, and seeds that have one are passed over. Exits with 1 when a verdict differs.
"""

import argparse
import math
import random
import sys
from pathlib import Path

import jax
import numpy as np

import jaxenv
from jaxenv import Label, Plans, Status
from tests.jaxenv.joint_search import replay
from tests.jaxenv.oracle import judge
from tests.jaxenv.plans import (
    edited,
    instances_of,
    random_board,
    solutions_of,
    valid_plan,
    walk_to_the_end,
    walking_plan,
    wild_plan,
)
from tests.slow import rows as store

BOARDS, PLANS, EDITS = 2_000, 10, 10
T = 32
READER = (Label.TRUNCATED, Label.PARSE_ERROR, Label.AGENT_MISMATCH, Label.TOO_LONG)


def draw(rng):
    """Boards, plans and their kinds."""
    cases = []
    for number in range(BOARDS):
        board = random_board(rng)
        for k in range(PLANS):
            if k % 5 == 4:
                plan = walking_plan(rng, board)
                cases.append((walk_to_the_end(board, plan), plan, "random"))
            else:
                plan = (wild_plan if k % 2 else walking_plan)(rng, board)
                cases.append((board, plan, "random"))
        if number % EDITS == 0:
            plan = None
            while plan is None:
                board = random_board(rng)
                plan = valid_plan(board)
            cases += [(board, edited(rng, plan), "nearly_valid") for _ in range(EDITS)]
    return cases


def label_boards(rng, expected):
    """Labels of the boards: mostly what the plan costs, else lower, higher, unsolvable or nothing."""
    total, makespan = max(expected.sum_of_costs, 0), max(expected.makespan, 0)
    known = (Status.OPTIMAL, total, makespan)
    lower = (Status.OPTIMAL, max(total - rng.choice([1, 3]), 0), makespan)
    others = [lower, (Status.OPTIMAL, total + 1, makespan), (Status.UNSOLVABLE, -1, -1), (Status.UNDETERMINED, -1, -1)]
    return rng.choice([known] * 4 + others)


def spoil(rng, cases, plans):
    """Plans as arrays, with every fiftieth spoilt; the label that it has to have then, by row."""
    actions, lengths, outcome = (np.array(field) for field in (plans.actions, plans.lengths, plans.outcome))
    forced = {}
    for row in range(0, len(cases), 50):
        agents = len(cases[row][1])
        kind = rng.randrange(6)
        if kind < 4:
            outcome[row] = READER[kind]
            forced[row] = READER[kind]
        elif kind == 4:
            agent = rng.randrange(agents)
            lengths[row, agent] = max(lengths[row, agent], 1)
            actions[row, agent, rng.randrange(lengths[row, agent])] = rng.choice([5, 6, 7, 8, 64, 127, -1, -128])
            forced[row] = Label.PARSE_ERROR
        else:
            lengths[row, rng.randrange(agents)] = rng.choice([T + 1, 100, 1000])
            forced[row] = Label.TOO_LONG
    return Plans(actions, lengths, outcome), forced


def replayed(board, plan):
    """Sum of costs and makespan by the step rules, or None for a plan against them or that ends off the goals."""
    try:
        costs = replay(board.rows, board.starts, board.goals, plan)[0]
    except AssertionError:
        return None
    return sum(costs), max(costs)


def compare(seed):
    """Counts of one seed, and each verdict that differs."""
    rng = random.Random(f"verifier {seed}")
    cases = draw(rng)
    boards, lists, kinds = zip(*cases, strict=True)
    labels = [
        label_boards(rng, judge(board, plan, Status.UNDETERMINED, -1, -1))
        for board, plan in zip(boards, lists, strict=True)
    ]
    plans, forced = spoil(rng, cases, jaxenv.make_plans(lists))
    instances, solutions = instances_of(boards), solutions_of(*zip(*labels, strict=True))
    counts, wrong = {}, []
    for objective in ("sum_of_costs", "makespan"):
        verdicts = jaxenv.verify(instances, solutions, plans, objective=objective)
        found = jax.tree.map(lambda field: np.asarray(field).tolist(), verdicts)
        for row, (board, plan) in enumerate(zip(boards, lists, strict=True)):
            label = Label(found.label[row]).name.lower()
            flags = {member.name.lower() for member in Label if found.flags[row] >> member & 1}
            for name in {label} | flags & {"solver_fault"}:
                counts[name] = counts.get(name, 0) + 1
            if row in forced:
                name = forced[row].name.lower()
                right = label == name and flags == {name} and not found.valid[row] and found.sum_of_costs[row] == -1
            else:
                want = judge(board, plan, *labels[row], objective)
                valid = want.label in ("optimal", "suboptimal")
                right = (
                    (label, flags, found.step[row]) == (want.label, want.flags, want.step)
                    and (found.valid[row], found.optimal[row]) == (valid, want.label == "optimal")
                    and (found.sum_of_costs[row], found.makespan[row]) == (want.sum_of_costs, want.makespan)
                    and (tuple(found.agents[row]), tuple(found.cell[row])) == (want.agents, want.cell)
                    and (math.isclose(found.gap[row], want.gap, rel_tol=1e-6) or math.isnan(want.gap))
                    and math.isnan(found.gap[row]) == math.isnan(want.gap)
                )
                costs = (found.sum_of_costs[row], found.makespan[row]) if found.valid[row] else None
                right &= replayed(board, plan) == costs
            if not right:
                wrong.append({"board": [board.rows, board.starts, board.goals], "plan": plan, "got": label})
    return {
        "random": kinds.count("random"),
        "nearly_valid": kinds.count("nearly_valid"),
        "spoilt": len(forced),
        "verdicts": dict(sorted(counts.items())),
        "wrong": wrong,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1), metavar=("FIRST", "PAST"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    done = {row["seed"] for row in store.read(args.out)} if args.out else set()
    failed = False
    for seed in range(*args.seeds):
        if seed in done:
            continue
        row = {"check": "verifier", "seed": seed, **compare(seed), **store.setting()}
        print({name: row[name] for name in ("seed", "random", "nearly_valid", "verdicts", "wrong")}, flush=True)
        if args.out:
            store.append(args.out, row)
        failed |= bool(row["wrong"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
