"""The rare proposals against pure rejection: sizes are asked for, so what may differ is excess and path length.

    python -m tests.slow.proposals [--boards 4000]

Both ways make boards that need a wait from the same numbers of candidates, drawn and solved alike; a Markdown table.
"""

import argparse
from fractions import Fraction

import jax
import numpy as np

from jaxenv.judging import Kind, new_table
from jaxenv.labelling import Labeller, Range
from jaxenv.multihost import Hosts
from jaxenv.quotas import Part
from jaxenv.sifting import Source
from jaxenv.types import Limits

CASES = [(2, 10, "0"), (2, 7, "0"), (2, 10, "0.1"), (3, 10, "0"), (2, 5, "0.5")]
STEP, MOST = 65536, 40 * 65536


def waiting(agents, size, holes, rare, boards):
    """Labels of at least so many boards that need a wait, or of what MOST candidates hold."""
    source = Source.of(jax.random.key(0), Part(agents, size, True, Fraction(holes), 1), "train", Limits(), rare)
    labeller, none = Labeller("sum_of_costs", "host", STEP, Hosts.alone()), new_table(1)
    found, candidates = [], 0
    while sum(map(len, found)) < boards and candidates < MOST:
        for made in labeller.label([Range(source, candidates, STEP, with_easy=False)], none)[0]:
            rows = made.block.row[made.block.kind == Kind.NEEDS_WAIT]
            s = made.solutions
            per_agent = np.sort(np.asarray(s.plans.lengths)[rows, :agents], 1)
            found.append(np.stack([s.sum_of_costs[rows], s.sum_of_costs[rows] - s.single_path_bound[rows],
                                   s.makespan[rows], per_agent[:, 0]], 1))  # fmt: skip
        candidates += STEP
    return np.concatenate(found), candidates


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=4000)
    boards = parser.parse_args().boards
    print("| agents, size, holes | proposals | found | sum of costs | makespan | shortest walk | excess 1/2/more |")
    print("|---|---|---|---|---|---|---|")
    for agents, size, holes in CASES:
        for rare in (False, True):
            found, candidates = waiting(agents, size, holes, rare, boards)
            total, excess, makespan, shortest = found.T
            shares = [(excess == 1).mean(), (excess == 2).mean(), (excess > 2).mean()]
            print(
                f"| {agents}, {size}, {holes} | {'rare' if rare else 'rejection'} | {len(found) / candidates:.4%} "
                f"| {total.mean():.2f} ± {total.std():.2f} | {makespan.mean():.2f} ± {makespan.std():.2f} "
                f"| {shortest.mean():.2f} | {' / '.join(f'{share:.1%}' for share in shares)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
