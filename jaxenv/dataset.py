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
from jaxenv.errors import JaxenvError
from jaxenv.types import Instances, Solutions

BOARDS, METADATA, CARD = "boards.parquet", "metadata.json", "README.md"
_FORMAT = 1
_SHOWN = 6  # boards in a notebook
_HASHED = ("status", "sum_of_costs", "makespan", "single_path_bound", "needs_wait", "interacts")


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
        classes = realised.get("classes", [])
        described = {"count": len(instances), "sizes": _sizes(instances, solutions, classes), **realised}
        return cls(
            jax.device_put(instances),
            jax.device_put(solutions),
            copy.deepcopy(requested),
            described,
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
        for name in _HASHED:
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
        if target.exists() and not (target / METADATA).is_file() and (not target.is_dir() or any(target.iterdir())):
            raise JaxenvError(f"{target} exists and is not a set of boards; choose another folder")
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        pq.write_table(to_table(self.instances, self.solutions), beside / BOARDS)
        (beside / METADATA).write_text(json.dumps(self._metadata(), indent=1) + "\n", encoding="utf-8")
        (beside / CARD).write_text(self._card(), encoding="utf-8")
        if target.exists():
            old = target.with_name(f".{target.name}.{os.getpid()}.old")
            target.rename(old)
            beside.rename(target)
            shutil.rmtree(old)
        else:
            beside.rename(target)
        return target

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Dataset":
        """Read a saved set; it is refused when its content is not what its hash says."""
        import pyarrow.parquet as pq

        from jaxenv.storage import from_table

        source = Path(folder)
        try:
            metadata = json.loads((source / METADATA).read_text(encoding="utf-8"))
            if metadata["format"] != _FORMAT:
                raise ValueError(f"format {metadata['format']}, not {_FORMAT}")
            table = pq.read_table(source / BOARDS)
            bounds = metadata["max_size"], metadata["max_agents"], metadata["horizon"]
            instances, solutions = from_table(table, *bounds)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise JaxenvError(f"{source} holds no readable set of boards ({error}); generate it again") from error
        dataset = cls.create(instances, solutions, metadata["requested"], metadata["realised"])
        if dataset.content_hash != metadata["content_hash"]:
            raise JaxenvError(f"{source / BOARDS} was changed after it was written; generate it again")
        return dataset

    def _metadata(self) -> dict[str, Any]:
        _, max_agents, horizon = self.solutions.plans.actions.shape
        return {
            "format": _FORMAT,
            "content_hash": self.content_hash,
            "max_size": self.instances.holes.shape[1],
            "max_agents": max_agents,
            "horizon": horizon,
            "requested": self._requested,
            "realised": self._realised,
        }

    def _card(self) -> str:
        from jaxenv.storage import COLUMNS

        requested = self._requested
        lines = [
            "---",
            "configs:",
            "- config_name: default",
            f"  data_files: {BOARDS}",
            "---",
            f"# {len(self)} multi-agent grid boards, `{self.content_hash}`",
            "",
            f"Split `{requested.get('split', 'unknown')}`, objective `{requested.get('objective', 'unknown')}`.",
            "Every board has a certified optimum. No two are equal up to the order of agents. A board's split follows",
            "from its canonical hash, so no board of another split is a symmetric copy of one here.",
            "",
            "| size | boards | hole ratio | wait ratio | acceptance | undetermined | unsolvable |",
            "|---|---|---|---|---|---|---|",
        ]
        for size, row in self._realised["sizes"].items():
            lines.append(
                f"| {size} | {row['count']} | {row['hole_ratio']:.3f} | {row['wait_ratio']:.3f} "
                f"| {row['acceptance']:.4f} | {row['undetermined']} | {row['unsolvable']} |"
            )
        lines += ["", f"What was asked for and what became of every candidate is in `{METADATA}`. Columns:", ""]
        return "\n".join([*lines, *COLUMNS.splitlines(), ""])


def _sizes(instances: Instances, solutions: Solutions, classes: list[dict[str, Any]]) -> dict[str, Any]:
    size, waits = np.asarray(instances.size), np.asarray(solutions.needs_wait)
    max_size = instances.holes.shape[1]
    holes = np.asarray(instances.holes).sum((1, 2)) - (max_size**2 - size**2)
    result = {}
    for n in sorted({*size.tolist(), *(record["size"] for record in classes)}):
        rows = size == n
        drawn = [record for record in classes if record["size"] == n]
        eligible = sum(record["candidates"] - record["other_split"] for record in drawn)
        some = bool(rows.any())
        result[str(n)] = {
            "count": int(rows.sum()),
            "hole_ratio": float(holes[rows].mean()) / n**2 if some else 0.0,
            "wait_ratio": float(waits[rows].mean()) if some else 0.0,
            "acceptance": sum(record["count"] for record in drawn) / eligible if eligible else 0.0,
            "undetermined": sum(record["undetermined"] for record in drawn),
            "unsolvable": sum(record["unsolvable"] for record in drawn),
        }
    return result
