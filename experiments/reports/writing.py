"""A report's two files."""

from pathlib import Path

from experiments.reports.blocks import Report
from experiments.reports.markdown import to_markdown
from experiments.reports.page import to_html
from experiments.stepio import write_text


def write_both(report: Report, out: Path) -> Path:
    """`report.md` and `report.html` in the folder `out`; returns the Markdown's path."""
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "report.html", to_html(report))
    path = out / "report.md"
    write_text(path, to_markdown(report))
    return path
