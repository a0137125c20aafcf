"""Verdict tables of a run, as NumPy columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from experiments.errors import RunFolderError

Table = dict[str, np.ndarray[Any, np.dtype[Any]]]


def read_table(path: Path) -> Table:
    """All columns of a Parquet file; null costs and gaps become NaN."""
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path} cannot be read ({error}); go on with --resume") from error
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
