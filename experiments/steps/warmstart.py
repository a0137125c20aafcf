"""The process behind `python -m experiments.run warmstart`: the starter from nothing, phase by phase."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase, Qwen3ForCausalLM

from engineer.synthetic import examples
from experiments.modelcard import model_card
from experiments.stepio import log_metrics, read_job, report_progress
from experiments.warmstart import PHASES, Phase, rounds
from policy.starter import MODELS, encode, new_model, train
from policy.tokenizer import build_tokenizer

SHIPPED_AS = {"format": "starter-format", "teacher": "starter"}  # phase to model
CORPUS = 3_000  # prompts and replies of the engineer that the byte-level part of the tokenizer is trained on


def main() -> None:
    """Job: out, seed, threads, ship. Each phase leaves a model folder; a second call goes on after the last."""
    job = read_job()
    out, seed = Path(job["out"]), int(job["seed"])
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(int(job["threads"]))
    tokenizer = _tokenizer(out / "tokenizer", seed)
    for phase in PHASES:
        folder = out / phase.name
        if (folder / "DONE").exists():
            continue
        model = new_model(seed) if phase.after is None else Qwen3ForCausalLM.from_pretrained(out / phase.after)
        _teach(model, tokenizer, phase, seed=seed, metrics=out / "metrics.jsonl")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        card = model_card(phase, seed=seed, parameters=model.num_parameters())
        (folder / "README.md").write_text(card, encoding="utf-8")
        (folder / "DONE").write_text("")
    if job["ship"]:
        for phase_name, spec in SHIPPED_AS.items():
            shutil.copytree(out / phase_name, MODELS / spec, dirs_exist_ok=True, ignore=shutil.ignore_patterns("DONE"))


def _tokenizer(folder: Path, seed: int) -> PreTrainedTokenizerBase:
    if not folder.exists():
        texts = [text for targets in ("format", "teacher") for pair in examples(seed, CORPUS, targets) for text in pair]
        build_tokenizer(texts).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def _teach(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    phase: Phase,
    *,
    seed: int,
    metrics: Path,
) -> None:
    def encoded() -> Iterator[list[tuple[np.ndarray, int]]]:
        for pairs in rounds(phase, seed):
            yield encode(tokenizer, pairs)

    def report(step: int, loss: float, seconds: float) -> None:
        report_progress(step, phase.schedule.steps, loss=loss)
        log_metrics(metrics, phase=phase.name, step=step, loss=loss, seconds=seconds)

    train(model, encoded(), phase.schedule, pad=int(tokenizer.pad_token_id), seed=seed, report=report)


if __name__ == "__main__":
    main()
