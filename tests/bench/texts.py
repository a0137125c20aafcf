"""Answers a second of `policy.verify_texts`: reading and judging together, in one call.

    python -m tests.bench.texts [--rounds 11] [--out FILE]

The answers are the certified plans of 256 boards, a quarter of them with an action left out, repeated to the batch: in
the canonical form of each style, and for `full` also `mixed`, where half of them are in other words and forms, as
pretrained models put them. The verdicts on both have to be the same. A row for each style, form and batch, as JSON;
compilation is apart. `share_of_step`
compares the time of the 64 answers of a generation batch (8 prompts, 8 rollouts) with --step-seconds, what a GRPO step
over them takes.
"""

import argparse
import json
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


def as_json(text):
    lists = [line.split(": ", 1)[1].split(", ") if ": " in line else [] for line in text.splitlines()]
    return json.dumps({f"Agent {agent}": list(filter(None, listed)) for agent, listed in enumerate(lists)})


FORMS = (
    *[lambda text: text] * 5,
    str.lower,
    lambda text: f"```\n{text}\n```",
    lambda text: f"Agent 1 has to let the others pass.\n\n**Final answer:**\n{text}\n\nNobody collides.",
    lambda text: "<think>" + "Agent 0 could go right, then down, and wait for agent 1. " * 20 + f"</think>\n\n{text}",
    as_json,
)


def mixed(texts):
    """The same answers in the forms that models give them, half of them as asked."""
    return [FORMS[row % len(FORMS)](text) for row, text in enumerate(texts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--step-seconds", type=float, default=1.5, help="of a GRPO step (default: %(default)s)")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    boards = jaxenv.benchmark("validation", num_agents=3, count=BOARDS)
    instances, solutions = to_numpy(boards.instances), to_numpy(boards.solutions)
    for style, form in (("compact", "canonical"), ("full", "canonical"), ("full", "mixed")):
        texts = canonical = answers(instances, solutions, style)
        if form == "mixed":
            texts = mixed(canonical)
            labels = [
                np.asarray(
                    verify_texts(instances, solutions, told, style=style, truncated=np.zeros(BOARDS, bool)).label
                )
                for told in (canonical, texts)
            ]
            if not np.array_equal(*labels):
                raise SystemExit("an answer in another form is judged otherwise")
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
                "form": form,
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
