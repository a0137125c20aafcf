"""How many boards the solver leaves undetermined with its default limits.

    python -m tests.slow.completeness --agents 5 --seeds 0 10 [--out FILE]

A seed is 2,000 boards of sizes 3 to 10 and hole ratios 0 to 0.3, both uniform; ten seeds are the 20,000 of the
documented table. Rows count (boards, certified, unsolvable) per size and hole ratio band; seeds that have a row in FILE
are passed over.
"""

import sys

import numpy as np

import jaxenv
from jaxenv import Label, Status
from tests.slow import rows as store
from tests.slow.boards import SIZES, draw_boards, instances_of

BOARDS = 2000
MOST_HOLES = 0.3
BANDS = (0.1, 0.2, 0.3)  # upper ends
OUT = store.RESULTS / "solver_completeness.jsonl"


def measure(agents, seed, count=BOARDS):
    boards, ratios = draw_boards(seed, agents, count, MOST_HOLES)
    instances = instances_of(boards)
    solutions = jaxenv.solve(instances, engine="host")
    status = np.asarray(solutions.status)
    verdicts = jaxenv.verify(instances, solutions, solutions.plans)
    broken = (status == Status.OPTIMAL) & (np.asarray(verdicts.label) != Label.OPTIMAL)
    broken |= np.asarray(verdicts.flags) & (1 << Label.SOLVER_FAULT) > 0
    sizes = np.array([len(board[0]) for board in boards])
    band = np.searchsorted(BANDS, ratios)
    cells = []
    for size in SIZES:
        for k, top in enumerate(BANDS):
            here = status[(sizes == size) & (band == k)]
            cells.append(
                {
                    "size": size,
                    "holes_up_to": top,
                    "boards": len(here),
                    "certified": int((here == Status.OPTIMAL).sum()),
                    "unsolvable": int((here == Status.UNSOLVABLE).sum()),
                }
            )
    return {
        "boards": count,
        "undetermined": int((status == Status.UNDETERMINED).sum()),
        "plans_refused": int(broken.sum()),
        "open": [boards[b] for b in np.flatnonzero(status == Status.UNDETERMINED)],
        "cells": cells,
    }


if __name__ == "__main__":
    sys.exit(store.collect(__doc__, "completeness", measure))
