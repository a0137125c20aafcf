"""`generate_to`: the set that `generate` makes, of any size, streamed to sharded Parquet and resumed after a kill.

Boards are written as sorted runs while classes are filled; after each run Orbax keeps where the fillers are. What comes
after the last checkpoint is made again. When all classes are full the runs are merged into shards in a folder beside
the set's place, which is then renamed. Memory holds a run or a shard, and of every board 16 to 32 bytes to know it by.
On several hosts (`jax.distributed`, a folder that all of them see) each labels its ranges of candidates and writes its
own runs; the first host merges.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from jaxenv.candidates import CHUNK
from jaxenv.canonical import words_of
from jaxenv.card import describe
from jaxenv.config import EnvConfig
from jaxenv.dataset import metadata_of, move_into_place, refuse_foreign, write_words
from jaxenv.errors import GenerationError, JaxenvError
from jaxenv.filling import Taken
from jaxenv.generate import Filling, Order, Progress, order_of
from jaxenv.judging import insert_all
from jaxenv.labelling import Labeller
from jaxenv.multihost import Hosts
from jaxenv.runs import Merged, boards_of_run, shard_name, shards_of, write_run, write_shards
from jaxenv.types import HORIZONS, Limits

RUN = 1 << 17  # boards after which a run is written and a checkpoint taken


def generate_to(
    folder: str | os.PathLike[str],
    key: jax.Array,
    config: EnvConfig,
    count: int,
    *,
    split: str = "train",
    objective: str = "sum_of_costs",
    engine: str = "auto",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    nearest: bool = False,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Path:
    """As `generate`, to a folder that `Dataset.load`, pandas and `datasets` read; returns its path.

    A call that was killed goes on when it is made again. An older set at the folder is replaced, anything else refused.
    """
    order = order_of(key, config, count, split=split, objective=objective, limits=limits, nearest=nearest)
    return stream(folder, order, engine=engine, chunk=chunk, progress=progress)


def stream(
    folder: str | os.PathLike[str],
    order: Order,
    *,
    engine: str = "auto",
    chunk: int = CHUNK,
    run: int = RUN,
    progress: Progress | None = None,
) -> Path:
    """Make an order's set at `folder`; `run`, the boards between two checkpoints, does not change it."""
    target = Path(folder).absolute()
    refuse_foreign(target)
    hosts = Hosts.all()
    work = _Work(target, order, hosts)
    filling = Filling(order, Labeller(order.objective, engine, chunk, hosts))
    tell = progress if progress is not None else lambda done, total: None
    try:
        with work.states() as states:
            work.resume(states, filling)
            pending: list[Taken] = []
            stored = filling.taken
            for taken in filling.run():
                pending += taken
                tell(filling.taken, order.total)
                if filling.taken - stored >= run:
                    work.keep(states, filling, pending)
                    pending, stored = [], filling.taken
            if filling.taken > stored:
                work.keep(states, filling, pending)
    except GenerationError:
        hosts.wait()
        if hosts.number == 0:
            shutil.rmtree(work.place)
        raise
    if hosts.number == 0:
        work.finish(filling, tell)
    hosts.wait()
    return target


class _Work:
    """The folder beside the set's place where it is made: the request, the runs, the checkpoints."""

    def __init__(self, target: Path, order: Order, hosts: Hosts) -> None:
        self._target, self._order, self._hosts = target, order, hosts
        self.place = target.with_name(f".{target.name}.part")
        self._runs, self._request = self.place / "runs", self.place / "request.json"
        self._steps = 0  # checkpoints so far
        asked = _describe(order)
        if self._request.is_file() and json.loads(self._request.read_text(encoding="utf-8")) != asked:
            raise JaxenvError(
                f"{self.place} holds another set, half made; make that one to its end, choose another folder, "
                "or delete it"
            )
        hosts.wait()  # nobody writes before all have looked
        self._runs.mkdir(parents=True, exist_ok=True)
        if hosts.number == 0:
            beside = self._request.with_suffix(".part")
            beside.write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")
            beside.replace(self._request)
        hosts.wait()

    def states(self) -> ocp.CheckpointManager:
        options = ocp.CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        return ocp.CheckpointManager(self.place / "states", options=options)

    def resume(self, states: ocp.CheckpointManager, filling: Filling) -> None:
        """Go back to the last checkpoint, if there is one; runs that came after it are dropped."""
        latest = states.latest_step()
        self._steps = 0 if latest is None else latest + 1
        for path in self.runs():
            if _step_of(path) >= self._steps:
                if self._hosts.number == 0:
                    path.unlink()
            else:
                insert_all(filling.seen, *boards_of_run(path))
        self._hosts.wait()
        if latest is not None:
            like = {"fillers": np.array(filling.state(), np.int64)}
            state = states.restore(latest, args=ocp.args.StandardRestore(like))
            filling.restore(np.asarray(state["fillers"]).tolist())

    def keep(self, states: ocp.CheckpointManager, filling: Filling, taken: list[Taken]) -> None:
        """Write a run and the state that goes with it."""
        if taken:
            path = self._runs / f"{self._steps:06d}-{self._hosts.number:04d}.arrow"
            write_run(path, taken, self._order.ranks, shards_of(self._order.total), self._order.limits)
        self._hosts.wait()
        states.save(self._steps, args=ocp.args.StandardSave({"fillers": np.array(filling.state(), np.int64)}))
        self._steps += 1

    def runs(self) -> list[Path]:
        return sorted(self._runs.glob("*.arrow"))

    def finish(self, filling: Filling, tell: Progress) -> None:
        """Merge the runs, write metadata and card, and put the set in its place."""
        order, shards = self._order, shards_of(self._order.total)
        made = self.place / "set"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        realised = filling.realised()
        used = [record for record in realised["classes"] if record["count"]]
        sizes, agents = (np.array([record[name] for record in used]) for name in ("size", "num_agents"))
        merged: Merged = write_shards(
            made, self.runs(), order.ranks, shards, words_of(sizes, agents), lambda row: tell(row, order.total)
        )
        horizon = next(steps for steps in HORIZONS if merged.longest <= steps)
        bounds = order.limits.max_size, order.limits.max_agents, horizon
        described = describe(merged.counts, realised)
        metadata = metadata_of(merged.content_hash, bounds, order.described, described)
        write_words(made, metadata, shard_name(0, 1) if shards == 1 else "boards-*.parquet")
        move_into_place(made, self._target)
        shutil.rmtree(self.place)


def _step_of(run: Path) -> int:
    return int(run.stem.partition("-")[0])


def _describe(order: Order) -> dict[str, Any]:
    """An order as plain data, to know it again."""
    limits, parts = order.limits, order.parts
    return {
        "key": np.asarray(jax.random.key_data(order.key)).tolist(),
        "requested": json.loads(json.dumps(order.described)),
        "nearest": order.nearest,
        "limits": [limits.max_size, limits.max_agents, limits.horizon],
        "parts": [
            [part.num_agents, part.size, part.needs_wait, str(part.hole_ratio), part.wanted, part.group]
            for part in parts
        ],
    }
