"""Answers as they come: a table a chunk, whole or not there, so that an evaluation goes on where it stopped."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.errors import StepError
from experiments.stepio import write_text
from experiments.tables import Table, read_table

_FOLDER, _OWNER = ".chunks", "job.json"


class Chunks:
    """The finished chunks of one evaluation, in a folder of their own beside its output."""

    def __init__(self, out: Path, owner: dict[str, Any]) -> None:
        """Take up what is there, if it is of the same evaluation: `owner` says what the answers depend on.

        Raises:
            StepError: there are answers of another evaluation.
        """
        self._folder = out / _FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(owner, sort_keys=True)
        named = self._folder / _OWNER
        if named.is_file() and named.read_text(encoding="utf-8") != text:
            raise StepError(f"{out} holds answers of another evaluation; remove it, or choose another place with --out")
        write_text(named, text)

    def has(self, name: str) -> bool:
        """Whether a chunk is finished."""
        return self._path(name).is_file()

    def write(self, name: str, table: dict[str, Any]) -> None:
        """Keep a finished chunk."""
        beside = self._path(name).with_suffix(".part")
        pq.write_table(pa.table(table), beside)
        os.replace(beside, self._path(name))

    def read(self, names: list[str]) -> Table:
        """Some chunks as one table."""
        tables = [read_table(self._path(name)) for name in names]
        return {column: np.concatenate([table[column] for table in tables]) for column in tables[0]}

    def remove(self) -> None:
        """All of them, once the output is whole."""
        shutil.rmtree(self._folder)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.parquet"


def parts(order: "np.ndarray[tuple[int], np.dtype[np.int64]]", size: int) -> Iterator["np.ndarray[Any, Any]"]:
    """The rows, `size` at a time."""
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]
