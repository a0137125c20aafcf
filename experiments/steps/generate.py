"""Labelled boards: one set to a config or by name, or several fixed sets.

Job: out, and either config (JSON file), num_agents, count, split, seed, stage, objective; or that with `stream` (and
nearest), or `stream` and benchmark (and count, num_agents), which goes straight to disk; or sets, a mapping of names of
fixed sets to their options, which makes a folder of sets.
"""

import json
from pathlib import Path
from typing import Any

import jax

import jaxenv
from experiments.stepio import log_metrics, read_job, report_progress
from jaxenv.batches import take
from jaxenv.benchmarks import benchmark, order_of_set
from jaxenv.generate import Order, order_of
from jaxenv.streaming import stream


def main() -> None:
    """Make what the job asks for."""
    job = read_job()
    out = Path(job["out"])
    if "sets" in job:
        out.mkdir(parents=True)
        sizes = []
        for name, options in job["sets"].items():
            boards = fixed_set(name, **options)
            boards.save(out / name)
            sizes.append(len(boards))
        count = sum(sizes)
    elif job.get("stream"):
        order = _order(job)
        stream(out, order, progress=report_progress)
        count = order.total
    else:
        boards = boards_of(job, _config(job))
        boards.save(out)
        count = len(boards)
    log_metrics(job["metrics"], boards=count)


def _order(job: dict[str, Any]) -> Order:
    """What the job asks for, to be streamed: of any size, and gone on with after a kill."""
    if "benchmark" in job:
        return order_of_set(job["benchmark"], job.get("num_agents"), job.get("count"))
    split, objective = job["split"], job["objective"]
    return order_of(*_asked(job, _config(job)), split=split, objective=objective, nearest=job["nearest"])


def fixed_set(
    name: str, *, count: int | None = None, num_agents: int | None = None, limit: int | None = None
) -> jaxenv.Dataset:
    """A named set; with a limit its first boards, which are of all sizes, for the order is random."""
    boards = benchmark(name, count=count, num_agents=num_agents, progress=report_progress)
    if limit is None or limit >= len(boards):
        return boards
    rows = slice(limit)
    return jaxenv.Dataset.create(
        take(boards.instances, rows), take(boards.solutions, rows), {**boards.requested, "limit": limit}, {}
    )


def boards_of(job: dict[str, Any], config: dict[str, Any], *, nearest: bool = True) -> jaxenv.Dataset:
    """The boards of a stage to a config. The nearest mix is taken; what differs from the request stands in `realised`.

    Raises:
        GenerationError: the config cannot be filled, and `nearest` is off, or no mix can be had at all.
    """
    split, objective = job["split"], job["objective"]
    return jaxenv.generate(
        *_asked(job, config), split=split, objective=objective, nearest=nearest, progress=report_progress
    )


def _config(job: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(job["config"]).read_text(encoding="utf-8"))
    return read


def _asked(job: dict[str, Any], config: dict[str, Any]) -> tuple[jax.Array, jaxenv.EnvConfig, int]:
    """Key, config and count. The key is the stage's own."""
    key = jax.random.fold_in(jax.random.key(job["seed"]), job["stage"])
    return key, jaxenv.EnvConfig.from_json(config, num_agents=job["num_agents"]), job["count"]


if __name__ == "__main__":
    main()
