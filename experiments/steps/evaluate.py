"""The process of one evaluation: a model answers every board of some sets greedily, and each answer is judged."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import jaxenv
from experiments.stepio import log_metrics, read_job, report_progress
from jaxenv.filling import to_numpy
from policy.prompts import render
from policy.samplers import Sampler, load_sampler
from policy.texts import verify_texts


def main() -> None:
    """Job: out, model, sets (name to folder), style, objective, max_tokens, batch, seed, stage, metrics, threads."""
    job = read_job()
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(int(job["threads"]))
    sampler = load_sampler(job["model"], batch=int(job["batch"]))
    sets = {name: jaxenv.Dataset.load(folder) for name, folder in job["sets"].items()}
    total = sum(len(boards) for boards in sets.values())
    done = 0
    summary = {}
    for name, boards in sets.items():
        table = _judge(sampler, boards, job, lambda now, _, before=done: report_progress(before + now, total))
        done += len(boards)
        pq.write_table(pa.table(table), out / f"{name}.parquet")
        summary[name] = {
            "boards": len(boards),
            "valid": float(np.mean(table["valid"])),
            "optimal": float(np.mean(table["optimal"])),
            "tokens": float(np.mean(table["tokens"])),
        }
        log_metrics(job["metrics"], stage=job["stage"], kind="evaluate", set=name, **summary[name])
    (out / "summary.json").write_text(json.dumps(summary, indent=2))


def _judge(sampler: Sampler, boards: jaxenv.Dataset, job: dict[str, Any], progress: Any) -> dict[str, Any]:
    """One row per board, as columns."""
    instances, solutions = to_numpy(boards.instances), to_numpy(boards.solutions)
    completions = sampler.generate(
        render(instances, job["style"], objective=job["objective"]),
        max_tokens=int(job["max_tokens"]),
        temperature=0.0,
        seed=int(job["seed"]),
        progress=progress,
    )
    truncated = np.array([completion.truncated for completion in completions])
    verdicts = to_numpy(
        verify_texts(
            instances,
            solutions,
            [completion.text for completion in completions],
            style=job["style"],
            truncated=truncated,
            objective=job["objective"],
        )
    )
    return {
        "board": np.arange(len(boards)),
        "size": instances.size,
        "num_agents": instances.num_agents,
        "needs_wait": solutions.needs_wait,
        "label": verdicts.label,
        "valid": verdicts.valid,
        "optimal": verdicts.optimal,
        "sum_of_costs": verdicts.sum_of_costs,
        "makespan": verdicts.makespan,
        "gap": verdicts.gap,
        "tokens": np.array([completion.tokens for completion in completions]),
        "truncated": truncated,
        "completion": [completion.text for completion in completions],
    }


if __name__ == "__main__":
    main()
