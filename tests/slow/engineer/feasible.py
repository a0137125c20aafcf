"""Accepted replies by the hundred: the generator fills each, or says why not and which mix it can fill.

    python -m tests.slow.engineer.feasible [--agents 2] [--count 300] [--seed 7] [--out FILE]

The configs are those of invented replies, whatever had to be put right in them. Each one, said again as a reply, has
to come back as it is, at level 0.
"""

import argparse
import contextlib
import io
import sys
from collections import Counter
from pathlib import Path

import engineer
from experiments.steps.engineer import feasible, nearest
from tests.engineer.stages import flat_config
from tests.experiments.test_feasible import JOB, accepted
from tests.slow import rows as store

CHECK = "accepted_replies_filled"


def measure(agents, seed, count):
    job = {**JOB, "num_agents": agents}
    ends, levels, faults = Counter(), Counter(), []
    for config in accepted(seed, count):
        text = config.to_json()
        again = engineer.propose(text, flat_config())
        levels[str(again.level)] += 1
        if again.config is None or again.config.to_json() != text:
            faults.append({"moved": text})
        try:
            reason = feasible(job)(config)
            mix = nearest(job)(config) if reason is not None else None
            still = feasible(job)(mix) if mix is not None else None
        except Exception as error:  # whatever it is, it is what this check is for
            faults.append({"raised": repr(error)[:300], "config": text})
            continue
        ends["filled" if reason is None else "a reason and no mix" if mix is None else "a reason and a mix"] += 1
        if reason is not None and not ("boards" in reason and len(reason) < 2000):
            faults.append({"reason": reason[:300], "config": text})
        if still is not None:
            faults.append({"mix": mix.to_json(), "reason": still[:300], "config": text})
    return {"configs": count, "ends": dict(sorted(ends.items())), "said_again": dict(levels), "faults": faults}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, choices=range(2, 6), default=2)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    what = {"agents": args.agents, "seed": args.seed}
    with contextlib.redirect_stdout(io.StringIO()):  # the generator's progress
        found = measure(**what, count=args.count)
    row = {"check": CHECK, **what, **found, **store.setting("pydantic")}
    store.tell(row, args.out)
    return int(bool(row["faults"]))


if __name__ == "__main__":
    sys.exit(main())
