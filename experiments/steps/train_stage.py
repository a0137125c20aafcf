"""The process of one training stage: boards and a model in, the trained model and its rollouts out.

With a `launch:` block in the recipe there are several such processes; the first of them writes.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import jaxenv
from engineer.synthetic import examples
from experiments.stepio import log_metrics, read_job, report_progress
from policy import ranks
from policy.board_reward import RewardSettings
from policy.checkpoints import remove_all
from policy.grpo import train_stage


def main() -> None:
    """Train, save, say how it went.

    Job: out, model, data, stage, seed, style, objective, reward, grpo, lora, rehearsal, prior_valid, metrics, threads.
    """
    job = read_job()
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(int(job["threads"]))
    stage, seed, rehearsal = int(job["stage"]), int(job["seed"]), job["rehearsal"]

    def log(row: dict[str, Any]) -> None:
        log_metrics(job["metrics"], stage=stage, kind="train", **row)

    def progress(done: int, total: int, numbers: dict[str, float]) -> None:
        report_progress(done, total, **numbers)

    rollouts = train_stage(
        job["model"],
        jaxenv.Dataset.load(job["data"]),
        out=out,
        style=job["style"],
        objective=job["objective"],
        settings=RewardSettings(**job["reward"]),
        grpo=job["grpo"],
        lora=job["lora"],
        prior_valid=float(job["prior_valid"]),
        seed=seed,
        log=log,
        progress=progress,
        probe=stage == 0,
        rehearsal_pairs=_rehearsal_pairs(rehearsal, seed),
        rehearsal_weight=float(rehearsal["weight"]),
        rehearsal_batch=int(rehearsal["batch"]),
    )
    if ranks.index() > 0:
        return
    pq.write_table(pa.table({name: np.asarray(column) for name, column in rollouts.items()}), out / "rollouts.parquet")
    summary = {name: float(np.mean(rollouts[name])) for name in ("valid", "optimal", "reward", "tokens", "truncated")}
    (out / "summary.json").write_text(json.dumps({"completions": len(rollouts["valid"]), **summary}, indent=2))
    remove_all(out / "checkpoints")  # the stage is finished: its optimiser's state is of no more use


def _rehearsal_pairs(rehearsal: dict[str, Any], seed: int) -> list[tuple[str, str]]:
    """Config-writing examples the warm start has not shown, with the kind of targets the recipe names."""
    if not rehearsal["weight"]:
        return []
    return examples(_REHEARSAL_SEEDS + seed, _EXAMPLES, rehearsal["targets"])


_REHEARSAL_SEEDS = 1 << 40  # far from those of the warm start
_EXAMPLES = 512


if __name__ == "__main__":
    main()
