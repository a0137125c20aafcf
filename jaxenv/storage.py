"""Boards and labels as flat Parquet columns, readable by eye, pandas and `datasets`, and back without loss."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jaxenv.canonical import board_hash, canonical_hash
from jaxenv.types import Instances, Plans, Solutions

_LETTERS = np.frombuffer(b"WUDLR", np.uint8)
_BAR, _NEWLINE, _FREE, _HOLE = b"|"[0], b"\n"[0], b"."[0], b"H"[0]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_NUMBERS = ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound")
_FLAGS = ("needs_wait", "interacts")


def to_table(instances: Instances, solutions: Solutions) -> pa.Table:
    size, agents = np.asarray(instances.size), np.asarray(instances.num_agents)
    columns: dict[str, Any] = {
        "board": np.arange(len(size), dtype=np.int32),
        "board_id": _hexadecimal(board_hash(instances)),
        "canonical_id": _hexadecimal(canonical_hash(instances)),
        "size": size.astype(np.int32),
        "num_agents": agents.astype(np.int32),
        "map": _maps(size, np.asarray(instances.holes)),
        "starts": _cells(agents, np.asarray(instances.starts)),
        "goals": _cells(agents, np.asarray(instances.goals)),
        **{name: np.asarray(getattr(solutions, name), np.int32) for name in _NUMBERS},
        **{name: np.asarray(getattr(solutions, name), bool) for name in _FLAGS},
        "plan": _plans(agents, solutions.plans),
    }
    return pa.table(columns)


def from_table(table: pa.Table, max_size: int, max_agents: int, horizon: int) -> tuple[Instances, Solutions]:
    """NumPy arrays padded to the given bounds."""
    table = table.combine_chunks()
    size, agents = (table[name].to_numpy().astype(np.int32) for name in ("size", "num_agents"))
    boards = len(size)
    holes = np.ones((boards, max_size, max_size), bool)
    board, row, col, letter = _parse(table["map"], _NEWLINE)
    holes[board, row, col] = letter == _HOLE
    ends = []
    for name in ("starts", "goals"):
        cells = np.full((boards, max_agents, 2), max_size, np.int32)
        cells[np.arange(max_agents) < agents[:, None]] = _flat(table[name]).reshape(-1, 2)
        ends.append(cells)
    board, agent, step, letter = _parse(table["plan"], _BAR)
    codes = np.zeros(256, np.int8)
    codes[_LETTERS] = np.arange(len(_LETTERS))
    actions = np.zeros((boards, max_agents, horizon), np.int8)
    actions[board, agent, step] = codes[letter]
    lengths = np.bincount(board * max_agents + agent, minlength=boards * max_agents).reshape(boards, max_agents)
    read = np.zeros(boards, np.int32)
    answer: dict[str, Any] = {"actions": actions, "lengths": lengths.astype(np.int32), "outcome": read}
    labels: dict[str, Any] = {name: table[name].to_numpy().astype(np.int32) for name in _NUMBERS}
    labels |= {name: table[name].to_numpy(zero_copy_only=False).astype(bool) for name in _FLAGS}
    world: dict[str, Any] = {"size": size, "num_agents": agents, "holes": holes, "starts": ends[0], "goals": ends[1]}
    return Instances(**world), Solutions(**labels, plans=Plans(**answer))


def _hexadecimal(values: NDArray[np.uint64]) -> pa.Array:
    """Sixteen digits each."""
    digits = (values[:, None] >> np.arange(60, -1, -4, dtype=np.uint64)) & np.uint64(15)
    return _strings(_HEX[digits], np.ones(digits.shape, bool))


def _strings(letters: NDArray[np.uint8], used: NDArray[np.bool_]) -> pa.Array:
    """One string per row of `letters`: those that are `used`."""
    offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(used, axis=1))]).astype(np.int32)
    return pa.StringArray.from_buffers(len(letters), pa.py_buffer(offsets), pa.py_buffer(letters[used]))


def _maps(size: NDArray[Any], holes: NDArray[np.bool_]) -> pa.Array:
    boards, side, _ = holes.shape
    letters = np.full((boards, side, side + 1), _NEWLINE, np.uint8)
    letters[:, :, :side] = np.array([_FREE, _HOLE], np.uint8)[holes.view(np.uint8)]
    index = np.arange(side + 1)
    row, col, n = index[None, :side, None], index[None, None, :], index[:, None, None]
    used_of_size = (row < n) & (col < n) | (row < n - 1) & (col == side)
    return _strings(letters.reshape(boards, -1), used_of_size[size].reshape(boards, -1))


def _plans(agents: NDArray[Any], plans: Plans) -> pa.Array:
    actions, lengths = np.asarray(plans.actions), np.asarray(plans.lengths)
    boards, most, _ = actions.shape
    longest = int(lengths.max(initial=0))
    letters = np.full((boards, most, longest + 1), _BAR, np.uint8)
    letters[:, :, :longest] = _LETTERS[actions[:, :, :longest]]
    agent, step = np.arange(most)[None, :, None], np.arange(longest + 1)[None, None, :]
    n = agents[:, None, None]
    used = (agent < n) & (step < lengths[:, :, None]) | (agent < n - 1) & (step == longest)
    return _strings(letters.reshape(boards, -1), used.reshape(boards, -1))


def _cells(agents: NDArray[Any], cells: NDArray[Any]) -> pa.Array:
    used = np.arange(cells.shape[1]) < agents[:, None]
    offsets = np.concatenate([[0], np.cumsum(2 * agents)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, cells[used].reshape(-1).astype(np.int32))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _flat(column: pa.ChunkedArray) -> NDArray[np.int32]:
    values: NDArray[np.int32] = _whole(column).flatten().to_numpy()
    return values


def _parse(column: pa.ChunkedArray, separator: int) -> tuple[NDArray[Any], ...]:
    """Of every character but separators: its string, separators before it there, its place after the last, itself."""
    strings = _whole(column)
    _, offset_buffer, data_buffer = strings.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    owner = np.repeat(np.arange(len(strings)), np.diff(offsets))
    bars = data == separator
    before = np.concatenate([[0], np.cumsum(bars)])
    group = before[:-1] - before[(offsets - offsets[0])[:-1]][owner]
    place = np.arange(len(data))
    fresh = np.zeros(len(data) + 1, bool)
    fresh[offsets[:-1] - offsets[0]] = True
    fresh[1:] |= bars
    began = np.maximum.accumulate(np.where(fresh[:-1], place, 0))
    keep = ~bars
    return owner[keep], group[keep], (place - began)[keep], data[keep]
