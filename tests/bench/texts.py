"""Answers a second of `policy.verify_texts`: reading and judging together, in one call.

    python -m tests.bench.texts [--rounds 11] [--out FILE]

The answers are the certified plans of 256 boards, a quarter of them with an action left out, in the canonical form of
each style and repeated to the batch. A row for each style and batch, as JSON; compilation is apart. `share_of_step`
compares the time of the 64 answers of a generation batch (8 prompts, 8 rollouts) with --step-seconds, what a GRPO step
over them takes.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import jaxenv
from experiments.profiling import setting, timed
from jaxenv.batches import take, to_numpy
from policy.prompts import canonical_answer
from policy.texts import verify_texts
from tests.slow import rows as store

BOARDS = 256
ROLLOUTS = 64


def answers(instances, solutions, style):
    """One text a board, every fourth without its agents' last actions."""
    plans = solutions.plans
    short = (np.arange(BOARDS) % 4 == 0)[:, None]
    return canonical_answer(plans.replace(lengths=np.maximum(plans.lengths - short, 0)), instances, style)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--step-seconds", type=float, default=1.5, help="of a GRPO step (default: %(default)s)")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    boards = jaxenv.benchmark("validation", num_agents=3, count=BOARDS)
    instances, solutions = to_numpy(boards.instances), to_numpy(boards.solutions)
    for style in ("compact", "full"):
        texts = answers(instances, solutions, style)
        for batch in (ROLLOUTS, 1 << 10, 1 << 14):
            chosen = np.arange(batch) % BOARDS
            given = *(take(tree, chosen) for tree in (instances, solutions)), [texts[row] for row in chosen]
            cut = np.zeros(batch, bool)
            verdicts = verify_texts(*given, style=style, truncated=cut)
            found = timed(
                lambda given=given, cut=cut, style=style: verify_texts(*given, style=style, truncated=cut), args.rounds
            )
            row = {
                "bench": "verify_texts",
                "style": style,
                "agents": 3,
                "batch": batch,
                "valid": float(np.asarray(verdicts.valid).mean()),
                "per_second_median": batch / found["seconds_median"],
                "per_second_worst": batch / found["seconds_worst"],
                **found,
            }
            if batch == ROLLOUTS:
                row |= {"step_seconds": args.step_seconds, "share_of_step": found["seconds_median"] / args.step_seconds}
            store.tell(row | store.setting() | setting(), args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
