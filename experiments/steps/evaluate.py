"""The process of one evaluation: a policy answers every board of some sets, and each answer is judged.

Job: out, model, sampler (the recipe's block), sets (name to folder), style, objective, max_tokens, batch, samples,
temperature, seed, stage, metrics, threads.

Of each set `NAME.parquet`, a row for the greedy answer to each board, and with `samples` also `samples/NAME.parquet`,
that many rows more for each board, sampled. Everything else is derived from these; `summary.json` for a first look.
What a paid endpoint's answers cost is in `costs.jsonl`.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import jaxenv
from experiments.chunks import Chunks, parts
from experiments.plan import derive_seed
from experiments.runfolder import digest_of
from experiments.stepio import log_metrics, read_job, report_progress
from jaxenv.batches import take, to_numpy
from policy.prompts import render
from policy.samplers import load_sampler
from policy.sampling import Sampler, SamplerSettings
from policy.texts import verify_texts

_BATCHES = 2  # in a chunk
# Of the sampler's settings, what changes no answer.
_ANSWERS_STAY = ("memory", "requests_per_minute", "input_price", "output_price", "budget")


def main() -> None:
    """Answer and judge what is not there yet."""
    job = read_job()
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(int(job["threads"]))
    sets = {name: jaxenv.Dataset.load(folder) for name, folder in job["sets"].items()}
    chunks = Chunks(out, _owner(job, sets))
    sampler = cache(lambda: _sampler(job, out))
    passes = 1 + int(job["samples"])
    total = passes * sum(len(boards) for boards in sets.values())
    done = 0

    def progress(now: int, _: int) -> None:
        report_progress(done + now, total)

    summary = {}
    for name, boards in sets.items():
        prompts = render(to_numpy(boards.instances), job["style"], objective=job["objective"])
        # Prompts of similar length share a batch.
        order = np.argsort([len(prompt) for prompt in prompts], kind="stable")
        names: list[list[str]] = [[] for _ in range(passes)]
        for number in range(passes):
            for index, rows in enumerate(parts(order, _BATCHES * int(job["batch"]))):
                chunk = f"{name}-{number}-{index}"
                names[number].append(chunk)
                if not chunks.has(chunk):
                    answers = _ask(sampler(), [prompts[row] for row in rows], job, chunk, number, progress)
                    chunks.write(chunk, _judge(boards, rows, answers, job, number))
                done += len(rows)
                report_progress(done, total)
        summary[name] = _finish(out, name, chunks, names)
        log_metrics(job["metrics"], stage=job["stage"], kind="evaluate", set=name, **summary[name])
    (out / "summary.json").write_text(json.dumps(summary, indent=2))
    chunks.remove()


def _owner(job: dict[str, Any], sets: dict[str, jaxenv.Dataset]) -> dict[str, Any]:
    """What the answers depend on."""
    keys = ("model", "style", "objective", "max_tokens", "batch", "samples", "temperature", "seed")
    weights = digest_of(Path(job["model"])) if Path(job["model"]).is_dir() else None
    content = {name: boards.content_hash for name, boards in sets.items()}
    sampler = {key: value for key, value in job["sampler"].items() if key not in _ANSWERS_STAY}
    return {**{key: job[key] for key in keys}, "sampler": sampler, "weights": weights, "sets": content}


def _sampler(job: dict[str, Any], out: Path) -> Sampler:
    settings = SamplerSettings(**job["sampler"])
    return load_sampler(job["model"], batch=int(job["batch"]), settings=settings, log=out / "costs.jsonl")


def _ask(
    sampler: Sampler,
    prompts: list[str],
    job: dict[str, Any],
    chunk: str,
    number: int,
    progress: Callable[[int, int], None],
) -> list[Any]:
    """The answers of one chunk; the first pass is greedy. Each has its own seed, so that it may run at any time."""
    return sampler.generate(
        prompts,
        max_tokens=int(job["max_tokens"]),
        temperature=float(job["temperature"]) if number else 0.0,
        seed=derive_seed(int(job["seed"]), chunk),
        progress=progress,
    )


def _judge(
    boards: jaxenv.Dataset, rows: "np.ndarray[Any, Any]", answers: list[Any], job: dict[str, Any], number: int
) -> dict[str, Any]:
    """One row per answer, as columns."""
    instances, solutions = (take(to_numpy(part), rows) for part in (boards.instances, boards.solutions))
    truncated = np.array([answer.truncated for answer in answers])
    texts = [answer.text for answer in answers]
    verdicts = to_numpy(
        verify_texts(
            instances,
            solutions,
            texts,
            style=job["style"],
            truncated=truncated,
            thinking=job["sampler"]["thinking"],
            objective=job["objective"],
        )
    )
    return {
        "board": np.asarray(rows),
        "sample": np.full(len(rows), number),
        "size": instances.size,
        "num_agents": instances.num_agents,
        "needs_wait": solutions.needs_wait,
        "label": verdicts.label,
        "valid": verdicts.valid,
        "optimal": verdicts.optimal,
        "sum_of_costs": verdicts.sum_of_costs,
        "makespan": verdicts.makespan,
        "gap": verdicts.gap,
        "tokens": np.array([answer.tokens for answer in answers]),
        "truncated": truncated,
        "completion": texts,
    }


def _finish(out: Path, name: str, chunks: Chunks, names: list[list[str]]) -> dict[str, float]:
    """Write a set's tables, by board; returns what a first look wants."""
    greedy = _by_board(chunks.read(names[0]))
    pq.write_table(pa.table(greedy), out / f"{name}.parquet")
    summary = {"boards": len(greedy["board"]), **_means(greedy, "")}
    if len(names) > 1:
        sampled = _by_board(chunks.read([chunk for later in names[1:] for chunk in later]))
        (out / "samples").mkdir(exist_ok=True)
        pq.write_table(pa.table(sampled), out / "samples" / f"{name}.parquet")
        summary |= _means(sampled, "mean_")
        for column in ("valid", "optimal"):
            best = sampled[column].reshape(len(greedy["board"]), -1).any(axis=1)
            summary[f"best_{column}"] = float(best.mean())
    return summary


def _by_board(table: dict[str, Any]) -> dict[str, Any]:
    order = np.lexsort((table["sample"], table["board"]))
    return {name: column[order] for name, column in table.items()}


def _means(table: dict[str, Any], prefix: str) -> dict[str, float]:
    return {f"{prefix}{name}": float(np.mean(table[name])) for name in ("valid", "optimal", "tokens")}


if __name__ == "__main__":
    main()
