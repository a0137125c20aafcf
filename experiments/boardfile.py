"""Boards of the user's own, from any of the files we read; by the file's ending."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import jaxenv
from experiments.errors import ExperimentError
from jaxenv.readers import read_scenario, read_text


def read_boards(path: Path, num_agents: int) -> jaxenv.Instances:
    """The boards in the file's order; `num_agents` says how many agents of a scenario make a board.

    Raises:
        ExperimentError: no such file, or none that we read.
        jaxenv.InstanceError: what is in it is no board; the message names the board.
    """
    if path.is_dir():
        return jaxenv.Dataset.load(path).instances
    readers: dict[str, Callable[[Path], jaxenv.Instances]] = {
        ".parquet": _read_parquet,
        ".json": _read_json,
        ".txt": lambda file: read_text(_text(file)),
        ".scen": lambda file: read_scenario(file, num_agents),
    }
    if path.suffix not in readers:
        raise ExperimentError(f"{path} is no set and no {', '.join(readers)} file")
    return readers[path.suffix](path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}") from error


def _read_parquet(path: Path) -> jaxenv.Instances:
    """The columns `map`, `starts` and `goals` of a stored set; other columns are not looked at."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=["map", "starts", "goals"])
    except (OSError, pa.ArrowException) as error:
        raise ExperimentError(f"{path} is not a Parquet file with map, starts and goals: {error}") from error
    starts, goals = (
        [np.reshape(flat, (-1, 2)).tolist() for flat in table[name].to_pylist()] for name in ("starts", "goals")
    )
    return jaxenv.make_instances(table["map"].to_pylist(), starts, goals)


def _read_json(path: Path) -> jaxenv.Instances:
    """A list of boards: `map`, rows of `.` and `H`; `starts` and `goals`, (row, col) of each agent."""
    try:
        boards = json.loads(_text(path))
    except ValueError as error:
        raise ExperimentError(f"{path} is not JSON: {error}") from error
    if not isinstance(boards, list) or not boards:
        raise ExperimentError(f"{path} must hold a list of boards, and at least one")
    for number, board in enumerate(boards):
        missing = {"map", "starts", "goals"} - set(board if isinstance(board, dict) else ())
        if missing:
            raise ExperimentError(f"{path}: board {number} lacks {', '.join(sorted(missing))}")
    return jaxenv.make_instances(*([board[name] for board in boards] for name in ("map", "starts", "goals")))
