"""Boards of the user's own, solved to a certified optimum. Job: boards (JSON file), out (JSON lines), objective."""

import json
from pathlib import Path
from typing import Any

import jaxenv
from experiments.errors import ExperimentError
from experiments.stepio import read_job, write_text


def main() -> None:
    """Solve all boards of the file and write a line for each, in the same order."""
    job = read_job()
    boards = _read(Path(job["boards"]))
    instances = jaxenv.make_instances(
        [board["map"] for board in boards], [board["starts"] for board in boards], [board["goals"] for board in boards]
    )
    solutions = jaxenv.solve(instances, objective=job["objective"])
    lines = []
    for row, board in enumerate(boards):
        status = jaxenv.Status(int(solutions.status[row]))
        line: dict[str, Any] = {
            "status": status.name.lower(),
            "sum_of_costs": int(solutions.sum_of_costs[row]),
            "makespan": int(solutions.makespan[row]),
            "lower_bound": int(solutions.lower_bound[row]),
            "needs_wait": bool(solutions.needs_wait[row]),
            "plan": None,
        }
        if status is jaxenv.Status.OPTIMAL:
            lengths = solutions.plans.lengths[row].tolist()[: len(board["starts"])]
            actions = solutions.plans.actions[row].tolist()
            line["plan"] = [
                [jaxenv.Action(a).name for a in agent[:n]] for agent, n in zip(actions, lengths, strict=False)
            ]
        lines.append(json.dumps(line))
    write_text(job["out"], "".join(line + "\n" for line in lines))


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        boards = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}") from error
    if not isinstance(boards, list) or not boards:
        raise ExperimentError(f"{path} must hold a list of boards, and at least one")
    for number, board in enumerate(boards):
        missing = {"map", "starts", "goals"} - set(board if isinstance(board, dict) else ())
        if missing:
            raise ExperimentError(f"{path}: board {number} lacks {', '.join(sorted(missing))}")
    return boards


if __name__ == "__main__":
    main()
