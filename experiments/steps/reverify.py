"""Judge the stored answers of a run's evaluations again, without a model.

Job: run, sets (folder), style, objective, out: a folder with `changes.jsonl`, a line for each answer that is judged
otherwise now, and `shown.txt`, for people.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import jaxenv
from experiments.stepio import read_job, report_progress, write_text
from experiments.tables import Table, read_table
from jaxenv.batches import take, to_numpy
from policy.texts import verify_texts

_COMPARED = ("label", "valid", "optimal", "sum_of_costs", "makespan", "gap")
_SHOWN = 10  # changes told to people


def main() -> None:
    """Every table of every checkpoint against the boards it was made on."""
    job = read_job()
    run = Path(job["run"])
    files = [*sorted(run.glob("*/eval/*.parquet")), *sorted(run.glob("*/eval/samples/*.parquet"))]
    sets: dict[str, jaxenv.Dataset] = {}
    changes: list[dict[str, Any]] = []
    lines = []
    for number, file in enumerate(files):
        name = file.stem
        if name not in sets:
            sets[name] = jaxenv.Dataset.load(Path(job["sets"]) / name)
        table = read_table(file)
        now = _judge(sets[name], table, job)
        rows = np.flatnonzero(np.any([~_same(table[column], now[column]) for column in _COMPARED], axis=0))
        checkpoint = file.relative_to(run).parts[0]
        changes += [_change(checkpoint, name, int(row), table, now) for row in rows]
        lines.append(f"{checkpoint:<10} {name:<12} {len(table['label']):>7,} answers, {len(rows):,} judged otherwise")
        report_progress(number + 1, len(files))
    for change in changes[:_SHOWN]:
        labels = f"{change['before']['label']} -> {change['now']['label']}"
        lines.append(f"{change['checkpoint']} {change['set']} board {change['board']}: {labels}")
    if len(changes) > _SHOWN:
        lines.append(f"... and {len(changes) - _SHOWN:,} more")
    out = Path(job["out"])
    out.mkdir(parents=True)
    write_text(out / "shown.txt", "".join(line + "\n" for line in lines))
    write_text(out / "changes.jsonl", "".join(json.dumps(change) + "\n" for change in changes))


def _judge(boards: jaxenv.Dataset, table: Table, job: dict[str, Any]) -> Table:
    """The compared columns as they are now; the rows name their boards."""
    rows = table["board"]
    instances, solutions = (take(to_numpy(part), rows) for part in (boards.instances, boards.solutions))
    verdicts = verify_texts(
        instances,
        solutions,
        table["completion"].tolist(),
        style=job["style"],
        truncated=table["truncated"],
        thinking=job["thinking"],
        objective=job["objective"],
    )
    return {column: np.asarray(getattr(verdicts, column)) for column in _COMPARED}


def _same(before: np.ndarray[Any, Any], now: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    same: np.ndarray[Any, np.dtype[np.bool_]] = before == now
    if before.dtype.kind == "f":
        same |= np.isnan(before) & np.isnan(now)
    return same


def _change(checkpoint: str, name: str, row: int, before: Table, now: Table) -> dict[str, Any]:
    told = [
        {column: np.asarray(table[column][row]).item() for column in _COMPARED} | {"label": _label(table, row)}
        for table in (before, now)
    ]
    return {
        "checkpoint": checkpoint,
        "set": name,
        "board": int(before["board"][row]),
        "before": told[0],
        "now": told[1],
    }


def _label(table: Table, row: int) -> str:
    return jaxenv.Label(int(table["label"][row])).name.lower()


if __name__ == "__main__":
    main()
