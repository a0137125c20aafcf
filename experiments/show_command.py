"""The options of `show`: a run folder in the terminal, or one board with a plan and its verdict."""

import argparse
from pathlib import Path

from rich.console import Console

from experiments.runfolder import RECIPE
from experiments.standalone import run_and_tell


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="RUN|FILE", type=Path, help="a run folder, or boards as `solve` reads them")
    parser.add_argument("--board", type=int, default=0, help="which of the boards (default: the first)")
    parser.add_argument(
        "--answer",
        metavar="FILE",
        type=Path,
        help="an answer to judge, as a model writes it (default: solve the board)",
    )
    parser.add_argument("--num-agents", type=int, default=2, help="agents a board of a scenario (default: %(default)s)")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="keep the text, an animated SVG and an animated GIF")


def show(parsed: argparse.Namespace) -> int:
    """What the run holds; or the board, the plan step by step, and the verdict."""
    path: Path = parsed.path
    if (path / RECIPE).is_file() or not path.exists():
        from experiments.show import show as show_run

        show_run(path, Console())
        return 0
    answer = None if parsed.answer is None else parsed.answer.read_text(encoding="utf-8")
    fixed = {"boards": str(path.absolute()), "num_agents": parsed.num_agents}
    return run_and_tell("draw", parsed.out, {**fixed, "board": parsed.board, "answer": answer}, lambda _: False)
