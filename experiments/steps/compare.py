"""The process that compares several runs. Job: runs (folders), out (folder)."""

from pathlib import Path

from experiments.reports.comparison import write_comparison
from experiments.stepio import read_job


def main() -> None:
    """Write the comparison anew."""
    job = read_job()
    write_comparison([Path(run) for run in job["runs"]], Path(job["out"]))


if __name__ == "__main__":
    main()
