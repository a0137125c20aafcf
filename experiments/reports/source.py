"""A run folder as a report reads it: every table once, whatever of the run is there."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import RunFolderError
from experiments.gains import HEADLINE
from experiments.plan import START, stage_folder
from experiments.recipe import Recipe, load
from experiments.runfolder import MANIFEST, METRICS, RECIPE, read_metrics
from experiments.tables import Table, read_table

SAMPLES = "samples"  # the folder of sampled answers beside the greedy ones


class Run:
    """What one run folder holds."""

    def __init__(self, path: Path, name: str = "") -> None:
        """`name` is what a comparison calls it. Raises RunFolderError: there is no run in the folder."""
        if not (path / RECIPE).is_file():
            raise RunFolderError(f"there is no run in {path}")
        self.path, self.name = path, name or path.name
        self.recipe: Recipe = load(str(path / RECIPE))
        self._tables: dict[Path, Table | None] = {}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = self.json(MANIFEST) or {}
        return manifest

    @cached_property
    def checkpoints(self) -> dict[str, str]:
        """The starter and every stage that has been evaluated, in order, with their folders' names."""
        named = {"starter": START, **{f"stage {stage}": stage_folder(stage) for stage in range(self.recipe.stages)}}
        return {
            name: folder
            for name, folder in named.items()
            if (self.path / folder / "eval" / f"{HEADLINE}.parquet").is_file()
        }

    @property
    def last(self) -> str:
        """The folder of the last checkpoint."""
        return list(self.checkpoints.values())[-1]

    @property
    def finished(self) -> bool:
        return len(self.checkpoints) == self.recipe.stages + 1

    def verdicts(self, folder: str, name: str) -> Table | None:
        """The greedy answers of a checkpoint to a set, in the order of the boards."""
        return self._table(self.path / folder / "eval" / f"{name}.parquet")

    def sampled(self, folder: str, name: str) -> Table | None:
        """The sampled answers of a checkpoint to a set, several a board."""
        return self._table(self.path / folder / "eval" / SAMPLES / f"{name}.parquet")

    def rollouts(self, stage: int) -> Table | None:
        """The answers a stage was trained on."""
        return self._table(self.path / stage_folder(stage) / "policy" / "rollouts.parquet")

    def boards(self, stage: int) -> dict[str, Any] | None:
        """What a stage's boards were asked to be, and what they are."""
        metadata: dict[str, Any] | None = self.json(f"{stage_folder(stage)}/data/metadata.json")
        return metadata

    def proposal(self, stage: int) -> dict[str, Any] | None:
        """The redesign after a stage."""
        proposal: dict[str, Any] | None = self.json(f"{stage_folder(stage)}/engineer/proposal.json")
        return proposal

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """The training steps' metrics in order; of a step that was done twice the later counts."""
        rows = [row for row in read_metrics(self.path / METRICS) if str(row.get("job", "")).endswith("/policy")]
        latest = {(row["stage"], row["step"]): row for row in rows if "step" in row and "stage" in row}
        return [latest[key] for key in sorted(latest)]

    def json(self, name: str) -> Any:
        """A JSON file of the run, None where it is not."""
        path = self.path / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def _table(self, path: Path) -> Table | None:
        if path not in self._tables:
            table = read_table(path) if path.is_file() else None
            if table is not None and "board" in table:
                order = np.argsort(table["board"], kind="stable")
                table = {name: column[order] for name, column in table.items()}
            self._tables[path] = table
        return self._tables[path]
