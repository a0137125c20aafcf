"""What a stage keeps beside each of the trainer's checkpoints, so that a resumed stage equals an uninterrupted one.

The trainer's own files hold weights, optimiser, schedule, random states and the place in the data; here are the
ability and the rollouts. They are written last: a checkpoint without them was cut short by a kill, and is not gone on
from.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from transformers import TrainerCallback, TrainerControl, TrainerState

from policy import ranks
from policy.board_reward import BoardReward

_STATE, _ROWS = "stage.json", "rollouts.npz"
_PREFIX = "checkpoint-"


class StageState(TrainerCallback):
    """Writes the stage's state when the trainer has saved, and takes it up again."""

    def __init__(self, reward: BoardReward) -> None:
        self._reward = reward

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        ranks.wait()  # for the others' random states
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir) / f"{_PREFIX}{state.global_step}"
        columns: dict[str, Any] = dict(self._reward.columns())
        np.savez(folder / _ROWS, **columns)
        beside = folder / f"{_STATE}.part"
        beside.write_text(json.dumps({"ability": self._reward.ability}), encoding="utf-8")
        os.replace(beside, folder / _STATE)

    def restore(self, checkpoint: Path) -> None:
        """As it was when the checkpoint was written."""
        values = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
        self._reward.ability = float(values["ability"])
        with np.load(checkpoint / _ROWS) as columns:
            self._reward.rows = [dict(columns)]


def last_whole(work: Path) -> Path | None:
    """The newest checkpoint that was written to its end."""
    whole = [folder for folder in _checkpoints(work) if (folder / _STATE).is_file()]
    return max(whole, key=_step, default=None)


def remove_all(work: Path) -> None:
    """Every checkpoint: the stage is finished, and its optimiser's state is of no more use."""
    for folder in _checkpoints(work):
        shutil.rmtree(folder)


def _checkpoints(work: Path) -> list[Path]:
    return [folder for folder in work.glob(f"{_PREFIX}*") if folder.name.removeprefix(_PREFIX).isdigit()]


def _step(folder: Path) -> int:
    return int(folder.name.removeprefix(_PREFIX))
