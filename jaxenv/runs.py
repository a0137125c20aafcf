"""Boards on disk on their way to a set: sorted runs, then shards, so that memory holds a run or a shard at a time.

An external merge sort. The order of rows follows from scrambled hashes, which are uniform, so shards are equal slices
of their range. A run is an Arrow file with a batch a shard, each with the columns of the set and two more that the last
pass needs.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jaxenv.batches import concatenate
from jaxenv.canonical import UInt64s, encode, words_of
from jaxenv.card import Tally, add, tally
from jaxenv.dataset import HASHED
from jaxenv.filling import Taken
from jaxenv.storage import to_table
from jaxenv.types import Limits


@dataclass(frozen=True)
class Merged:
    """What the last pass found: the content hash, boards, holes and waits per size, and the longest plan."""

    content_hash: str
    counts: Tally
    longest: int


SHARD = 1 << 17  # boards in a shard, about
_HASH, _WORDS = "_hash", "_words"


def shards_of(count: int) -> int:
    return -(-count // SHARD)


def shard_name(number: int, shards: int) -> str:
    """One file is `boards.parquet`; several are named as the hub names them."""
    return "boards.parquet" if shards == 1 else f"boards-{number:05d}-of-{shards:05d}.parquet"


def _width(limits: Limits) -> int:
    return words_of(np.array([limits.max_size]), np.array([limits.max_agents]))


def write_run(
    path: Path, taken: Sequence[Taken], ranks_of: Callable[[UInt64s], UInt64s], shards: int, limits: Limits
) -> None:
    """Sort boards into their shards and write them beside their place, then rename."""
    instances, solutions = concatenate([piece[:2] for piece in taken])
    hashes = np.concatenate([piece[2] for piece in taken])
    ranks = ranks_of(hashes)
    order = np.lexsort((hashes, ranks))
    words = np.ascontiguousarray(encode(instances, _width(limits))).astype("<u8")
    packed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(8 * words.shape[1]), len(words), [None, pa.py_buffer(words.tobytes())]
    )
    table = to_table(instances, solutions).append_column(_HASH, pa.array(hashes)).append_column(_WORDS, packed)
    table = table.take(pa.array(order)).combine_chunks()
    ends = [*np.searchsorted(ranks[order], _starts(shards)[1:]).tolist(), len(order)]
    beside = path.with_suffix(".part")
    with pa.OSFile(str(beside), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for first, past in zip([0, *ends[:-1]], ends, strict=True):
            part = table.slice(first, past - first).combine_chunks().to_batches()
            writer.write_batch(part[0] if part else pa.RecordBatch.from_pylist([], table.schema))
    beside.replace(path)


def _starts(shards: int) -> UInt64s:
    """The first rank of each shard."""
    return np.array([(number << 64) // shards for number in range(shards)], np.uint64)


def boards_of_run(path: Path) -> tuple[UInt64s, NDArray[np.bool_]]:
    """The hashes of its boards, and which of them need a wait."""
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
        table = reader.read_all().select([_HASH, "needs_wait"])
    return table[_HASH].to_numpy(), table["needs_wait"].to_numpy()


def write_shards(
    folder: Path,
    runs: Sequence[Path],
    ranks_of: Callable[[UInt64s], UInt64s],
    shards: int,
    width: int,
    progress: Callable[[int], None],
) -> Merged:
    """Merge the runs into the set's Parquet files, rows numbered. `width` is the words of its longest board."""
    counts: Tally = {}
    longest = 0
    digest = hashlib.blake2b(digest_size=16)
    files, row = [], 0
    for number in range(shards):
        table = pa.concat_tables(_parts(runs, number)).combine_chunks()
        hashes = table[_HASH].to_numpy()
        table = table.take(pa.array(np.lexsort((hashes, ranks_of(hashes)))))
        words = b"".join(table[_WORDS].combine_chunks().cast(pa.binary()).to_pylist())
        digest.update(np.ascontiguousarray(np.frombuffer(words, "<u8").reshape(len(table), -1)[:, :width]).tobytes())
        rows = pa.array(np.arange(row, row + len(table), dtype=np.int32))
        table = table.drop([_HASH, _WORDS]).set_column(0, "board", rows)
        holes = pc.count_substring(table["map"], "H").to_numpy()
        waits = table["needs_wait"].to_numpy(zero_copy_only=False)
        counts = add(counts, tally(table["size"].to_numpy(), holes, waits))
        longest = max(longest, _longest_walk(table))
        files.append(folder / shard_name(number, shards))
        pq.write_table(table, files[-1])
        row += len(table)
        progress(row)
    return Merged(_finish_hash(digest, files), counts, longest)


def _longest_walk(table: pa.Table) -> int:
    """Steps of the longest plan of an agent."""
    walks = pc.list_flatten(pc.split_pattern(table["plan"], "|"))
    return int(pc.max(pc.binary_length(walks)).as_py() or 0)


def _parts(runs: Sequence[Path], number: int) -> Iterator[pa.Table]:
    for path in runs:
        with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
            yield pa.Table.from_batches([reader.get_batch(number)])


def _finish_hash(digest: Any, files: Sequence[Path]) -> str:
    """Add the labels, column after column, to a digest that has the boards."""
    for name in HASHED:
        for file in files:
            digest.update(pq.read_table(file, columns=[name])[name].to_numpy().astype("<i4").tobytes())
    return str(digest.hexdigest())
