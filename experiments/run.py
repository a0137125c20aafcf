"""The command line: `python -m experiments.run COMMAND`. Every command imports what it needs when it runs."""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - before anything that an older Python cannot read
    sys.exit("error: lakeloop needs Python 3.11 or newer, and this is {}.{}".format(*sys.version_info[:2]))

import argparse
from collections.abc import Sequence

COMMANDS = {
    "stage_loop": "run the whole loop: train, evaluate, let the checkpoint write the next config",
    "generate": "make a set of labelled boards",
    "solve": "solve boards of your own to a certified optimum",
    "train_stage": "one stage of training on a set of boards",
    "evaluate": "judge a policy on sets of boards",
    "ablate": "whole loops over a grid of engineers, contexts, seeds or anything else in a recipe",
    "engineer": "what any engineers propose on a stage's recorded evidence, side by side",
    "report": "write a run's report anew, or compare several runs",
    "gains": "the paired gain on `learn`, last checkpoint against starter, a JSON line a run",
    "reverify": "judge a run's stored answers again, without a model",
    "profile": "boards a second of verify, solve and generate on this machine, beside what its memory allows",
    "show": "what a run folder holds; or a board, a plan and its verdict as text, SVG and GIF",
    "watch": "follow a run that another process is working on",
    "warmstart": "rebuild the shipped starter from nothing",
    "doctor": "versions, devices, and what is missing for which recipe",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    The exit code is 0, 1 where `solve` left a board undetermined, `reverify` judged an answer otherwise or a run of
    `ablate` failed, 2 for a fault the user can mend, 130 when interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m experiments.run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Experiments of LakeLoop.",
        epilog="commands:\n"
        + "\n".join(f"  {name:<12} {text}" for name, text in COMMANDS.items())
        + "\n\n`COMMAND --help` says more about each.",
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments[:1] or ["--help"])
    rest = arguments[1:]
    if parsed.command == "doctor":
        from experiments import doctor

        return doctor.main(rest)
    from experiments import commands

    return commands.main(parsed.command, rest)


if __name__ == "__main__":
    sys.exit(main())
