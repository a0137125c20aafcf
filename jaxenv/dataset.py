"""A set of labelled boards: immutable, known by a hash of its content, stored as Parquet with a card beside it."""

import copy
import hashlib
import json
import os
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxenv.canonical import encode
from jaxenv.card import FORMAT, card, describe, tally
from jaxenv.errors import JaxenvError
from jaxenv.types import Instances, Solutions

BOARDS, METADATA, CARD = "boards.parquet", "metadata.json", "README.md"
FILES = "boards*.parquet"  # one file, or the shards of a streamed set
HASHED = ("status", "sum_of_costs", "makespan", "single_path_bound", "needs_wait", "interacts")  # into the content hash
_SHOWN = 6  # boards in a notebook


@dataclass(frozen=True, eq=False)
class Dataset:
    """Boards with their certified labels, what was asked for and what it became. Made by `Dataset.create`."""

    instances: Instances
    solutions: Solutions
    _requested: dict[str, Any] = field(repr=False)
    _realised: dict[str, Any] = field(repr=False)

    @classmethod
    def create(
        cls, instances: Instances, solutions: Solutions, requested: dict[str, Any], realised: dict[str, Any]
    ) -> "Dataset":
        """Of NumPy or JAX arrays; `realised` is completed by what the boards themselves say of each size."""
        size, max_size = np.asarray(instances.size), instances.holes.shape[1]
        holes = np.asarray(instances.holes).sum((1, 2)) - (max_size**2 - size**2)
        counts = tally(size, holes, np.asarray(solutions.needs_wait))
        return cls(
            jax.device_put(instances),
            jax.device_put(solutions),
            copy.deepcopy(requested),
            describe(counts, realised),
        )

    def __len__(self) -> int:
        return len(self.instances)

    @property
    def requested(self) -> dict[str, Any]:
        return copy.deepcopy(self._requested)

    @property
    def realised(self) -> dict[str, Any]:
        """What became of the request.

        `count`; `sizes`, per size: count, hole_ratio, wait_ratio, acceptance, undetermined, unsolvable; `classes`, the
        fate of every candidate; `changed`, the classes whose count is not what was asked for.
        """
        return copy.deepcopy(self._realised)

    @cached_property
    def content_hash(self) -> str:
        """Of boards and labels in their order, not of plans (several may be optimal), padding or platform."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.ascontiguousarray(encode(self.instances)).astype("<u8").tobytes())
        for name in HASHED:
            digest.update(np.asarray(getattr(self.solutions, name)).astype("<i4").tobytes())
        return digest.hexdigest()

    def _repr_html_(self) -> str:
        """The first boards with their optimal plans, for notebooks."""
        from jaxenv.svg import draw_svg
        from jaxenv.verify import verify

        boards, solutions = jax.tree.map(lambda leaf: leaf[:_SHOWN], (self.instances, self.solutions))
        verdicts = verify(boards, solutions, solutions.plans)
        drawn = (draw_svg(boards, row, plans=solutions.plans, verdicts=verdicts) for row in range(len(boards)))
        return f"<p>{len(self):,} boards</p><div>{''.join(drawn)}</div>"

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the set beside its place, then rename it. An older set there is replaced, anything else is refused."""
        import pyarrow.parquet as pq  # here and below: only stored sets need it

        from jaxenv.storage import to_table

        target = Path(folder)
        refuse_foreign(target)
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        pq.write_table(to_table(self.instances, self.solutions), beside / BOARDS)
        write_words(beside, self._metadata(), BOARDS)
        move_into_place(beside, target)
        return target

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Dataset":
        """Read a saved set; it is refused when its content is not what its hash says."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from jaxenv.storage import from_table

        source = Path(folder)
        try:
            metadata = json.loads((source / METADATA).read_text(encoding="utf-8"))
            if metadata["format"] != FORMAT:
                raise ValueError(f"format {metadata['format']}, not {FORMAT}")
            table = pa.concat_tables([pq.read_table(file) for file in sorted(source.glob(FILES))])
            bounds = metadata["max_size"], metadata["max_agents"], metadata["horizon"]
            instances, solutions = from_table(table, *bounds)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise JaxenvError(f"{source} holds no readable set of boards ({error}); generate it again") from error
        dataset = cls.create(instances, solutions, metadata["requested"], metadata["realised"])
        if dataset.content_hash != metadata["content_hash"]:
            raise JaxenvError(f"{source} was changed after it was written; generate it again")
        return dataset

    def _metadata(self) -> dict[str, Any]:
        _, max_agents, horizon = self.solutions.plans.actions.shape
        bounds = self.instances.holes.shape[1], max_agents, horizon
        return metadata_of(self.content_hash, bounds, self._requested, self._realised)


def metadata_of(
    content_hash: str, bounds: tuple[int, int, int], requested: dict[str, Any], realised: dict[str, Any]
) -> dict[str, Any]:
    """What `metadata.json` holds; `bounds` are the largest size, the most agents and the horizon to pad to."""
    max_size, max_agents, horizon = bounds
    return {
        "format": FORMAT,
        "content_hash": content_hash,
        "max_size": max_size,
        "max_agents": max_agents,
        "horizon": horizon,
        "requested": requested,
        "realised": realised,
    }


def write_words(folder: Path, metadata: dict[str, Any], files: str) -> None:
    """Metadata and card of a set in `folder`, whose boards are in `files`."""
    (folder / METADATA).write_text(json.dumps(metadata, indent=1) + "\n", encoding="utf-8")
    (folder / CARD).write_text(card(metadata, files), encoding="utf-8")


def refuse_foreign(target: Path) -> None:
    """A set may replace an older set and nothing else."""
    if target.exists() and not (target / METADATA).is_file() and (not target.is_dir() or any(target.iterdir())):
        raise JaxenvError(f"{target} exists and is not a set of boards; choose another folder")


def move_into_place(beside: Path, target: Path) -> None:
    """Rename a finished set to its place, over an older one."""
    if target.exists():
        old = target.with_name(f".{target.name}.{os.getpid()}.old")
        target.rename(old)
        beside.rename(target)
        shutil.rmtree(old)
    else:
        beside.rename(target)
