"""`report`: one run's report anew, or the comparison of several runs."""

import argparse
import contextlib
import os
from pathlib import Path

from rich.console import Console

from experiments.standalone import run_alone


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="a run folder, or several to compare")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="of a comparison (default: report/ beside the runs)")


def run(parsed: argparse.Namespace) -> None:
    """Write it; the last line is the path of the Markdown, the HTML is beside it."""
    if len(parsed.runs) == 1 and parsed.out is None:
        _one(parsed.runs[0])
    else:
        compare(parsed.runs, parsed.out)


def compare(runs: list[Path], out: Path | None = None) -> None:
    """The comparison of several runs, by default in `report/` in the folder that has them all."""
    folders = [folder.absolute() for folder in runs]
    place = out or Path(os.path.commonpath([folder.parent for folder in folders])) / "report"
    run_alone("compare", place, {"runs": [str(folder) for folder in folders]}, fresh=False, say=place / "report.md")


def _one(folder: Path) -> None:
    from experiments.driver import make_report
    from experiments.progress import Display
    from experiments.runfolder import RunFolder

    with contextlib.closing(RunFolder.open(folder, resume=True)) as opened, Display(Console(), 1) as display:
        display.start("report", 1)
        path = make_report(opened, display)
    print(path)
