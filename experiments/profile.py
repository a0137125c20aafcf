"""The options of `profile`; the measuring is done by a process of its own."""

import argparse
import time
from pathlib import Path

from experiments.standalone import run_and_tell

_KINDS = ("verify", "solve", "generate")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--of", nargs="+", choices=_KINDS, default=list(_KINDS), help="what to measure (default: all)")
    parser.add_argument(
        "--largest", type=int, default=20, metavar="POWER", help="largest batch, a power of two (default: %(default)s)"
    )
    parser.add_argument("--trace", action="store_true", help="also write a trace for the JAX profiler's viewers")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="default: a new one under runs/")


def profile(parsed: argparse.Namespace) -> int:
    """Measure, and print the table."""
    out: Path = parsed.out or Path("runs") / f"profile-{time.strftime('%Y%m%d-%H%M%S')}"
    job = {"kinds": parsed.of, "largest": parsed.largest, "trace": parsed.trace}
    return run_and_tell("profile", out, job, lambda _: False)
