"""The report's process: it may import JAX, for it draws boards. Job: run (folder), out (folder)."""

from functools import cache
from pathlib import Path

import numpy as np

import jaxenv
from experiments.plan import SETS
from experiments.reports.single import write_report
from experiments.reports.source import Run
from experiments.stepio import read_job
from experiments.tables import Table
from jaxenv.batches import take, to_numpy
from jaxenv.draw import draw_board, draw_plan
from policy.texts import read_texts, verify_texts


def main() -> None:
    """Write the report anew."""
    job = read_job()
    write_report(Path(job["run"]), Path(job["out"]), draw=draw_failure)


def draw_failure(run: Run, name: str, rows: Table, row: int) -> tuple[str, str]:
    """The board, the answer as it was given, and the plan in it up to the offending step: as text, and animated."""
    recipe = run.recipe
    boards = _boards(run.path / SETS / name)
    index = np.array([rows["board"][row]])
    instances, solutions = (take(to_numpy(part), index) for part in (boards.instances, boards.solutions))
    text, truncated = str(rows["completion"][row]), np.array([rows["truncated"][row]])
    plans = read_texts([text], instances.num_agents, style=recipe.style, truncated=truncated)
    verdicts = to_numpy(
        verify_texts(instances, solutions, [text], style=recipe.style, truncated=truncated, objective=recipe.objective)
    )
    shown = text.replace("```", "'''")
    told = f"{draw_board(instances)}\n\nanswer: {shown}\n\n{draw_plan(instances, plans, verdicts)}"
    return told, jaxenv.draw_svg(instances, plans=plans, verdicts=verdicts)


@cache
def _boards(folder: Path) -> jaxenv.Dataset:
    return jaxenv.Dataset.load(folder)


if __name__ == "__main__":
    main()
