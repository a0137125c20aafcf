"""Invented replies by the hundred thousand: each ends in a legal config or a logged refusal, soon, and raises nothing.

    python -m tests.slow.engineer.replies [--count 100000] [--seed 0] [--out FILE]

Every reply is judged alone, and every four of them make a conversation as well. The limit is 50 ms of
a core; a reply that takes longer is timed five times more and counts as slow by its best.
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path

from tests.engineer.fuzz import LEGAL, LIMIT, PREVIOUS, checked, conversed, invented
from tests.slow import rows as store

CHECK = "fuzzed_replies"


def measure(seed, count):
    draw = random.Random(seed)
    checked(LEGAL)
    kinds, levels, ends, reasons = Counter(), Counter(), Counter(), Counter()
    worst, retimed, slow, raised, largest = 0.0, 0, [], [], 0
    talk = []
    for _ in range(count):
        kind, reply = invented(draw)
        kinds[kind] += 1
        largest = max(largest, len(reply))
        talk.append(reply)
        try:
            proposal, seconds = checked(reply)
            if seconds > LIMIT:
                retimed += 1
                seconds = min(checked(reply)[1] for _ in range(5))
            if len(talk) == 4:
                ends[str(conversed(talk).level)] += 1
        except Exception as error:  # whatever it is, it is what this check is for
            raised.append(f"{kind}: {error!r}"[:200])
            talk = []
            continue
        talk = talk if len(talk) < 4 else []
        worst = max(worst, seconds)
        if seconds > LIMIT:
            slow.append(kind)
        levels["refused" if proposal.level is None else str(proposal.level)] += 1
        if proposal.config is None:
            reasons[" ".join(word for word in proposal.reason.split() if word.isalpha())] += 1
    return {
        "replies": count,
        "kinds": dict(sorted(kinds.items())),
        "levels": dict(sorted(levels.items())),
        "conversations": dict(sorted(ends.items())),
        "reasons": dict(reasons.most_common(12)),
        "largest": largest,
        "slowest_ms": round(1000 * worst, 1),
        "timed_again": retimed,
        "slow": slow,
        "raised": raised,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    before = PREVIOUS.to_json()
    row = {"check": CHECK, "seed": args.seed, **measure(args.seed, args.count), **store.setting("pydantic")}
    assert PREVIOUS.to_json() == before
    print(json.dumps(row, indent=1))
    if args.out:
        store.append(args.out, row)
    return int(bool(row["raised"] or row["slow"]))


if __name__ == "__main__":
    sys.exit(main())
