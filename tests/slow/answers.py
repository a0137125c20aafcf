"""Invented answers to boards by the hundred thousand: each is read or refused with a reason, and none raises.

python -m tests.slow.answers [--count 200000] [--seed 0] [--out FILE]
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path

from tests.policy.fuzz import invented, read
from tests.slow import rows as store


def measure(seed, count):
    draw = random.Random(seed)
    outcomes, reasons, raised, longest = {}, Counter(), [], 0
    for _ in range(count):
        kind, text, *asked = invented(draw)
        longest = max(longest, len(text))
        try:
            answer = read(text, *asked)
        except Exception as error:  # whatever it is, it is what this check is for
            raised.append(f"{kind}: {error!r} at {text[:80]!r}")
            continue
        outcomes.setdefault(kind, Counter())[answer.outcome.name.lower()] += 1
        if answer.error:
            reasons[" ".join(word for word in answer.error.split() if word.isalpha())] += 1
    told = {kind: dict(sorted(counts.items())) for kind, counts in sorted(outcomes.items())}
    return {
        "answers": count,
        "outcomes": told,
        "reasons": dict(reasons.most_common(12)),
        "longest": longest,
        "raised": raised,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    row = {"check": "fuzzed_answers", "seed": args.seed, **measure(args.seed, args.count), **store.setting()}
    print(json.dumps(row, indent=1))
    if args.out:
        store.append(args.out, row)
    return int(bool(row["raised"]))


if __name__ == "__main__":
    sys.exit(main())
