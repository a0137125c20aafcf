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
from policy.rehearsal import rehearse
from policy.samplers import load_model

_REHEARSAL_SEEDS = 1 << 40  # far from those of the warm start, which has not shown these examples
_EXAMPLES = 512


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
    )
    if ranks.index() > 0:
        return
    if rehearsal["steps"]:

        def rehearsed(step: int, loss: float, seconds: float) -> None:
            log_metrics(job["metrics"], stage=stage, kind="rehearsal", step=step, loss=loss, seconds=round(seconds, 3))

        # Of the whole model, whatever of it was trained and wherever it is: as it was saved.
        model, tokenizer = load_model(str(out), dtype=torch.float32)
        pairs = examples(_REHEARSAL_SEEDS + seed, _EXAMPLES, rehearsal["targets"])
        rehearse(model, tokenizer, pairs, steps=rehearsal["steps"], seed=seed, report=rehearsed)
        model.save_pretrained(out)
    pq.write_table(pa.table({name: np.asarray(column) for name, column in rollouts.items()}), out / "rollouts.parquet")
    summary = {name: float(np.mean(rollouts[name])) for name in ("valid", "optimal", "reward", "tokens", "truncated")}
    (out / "summary.json").write_text(json.dumps({"completions": len(rollouts["valid"]), **summary}, indent=2))
    remove_all(out / "checkpoints")  # the stage is finished: its optimiser's state is of no more use


if __name__ == "__main__":
    main()
