"""The loop's driver: runs the steps of a recipe in a run folder, each heavy one as a process. Light by itself."""

import json
import signal
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console

from experiments.errors import StepError
from experiments.manifest import manifest
from experiments.plan import Step, derive_seed, inputs_hash, resolve, steps_of
from experiments.process import cores, run_step
from experiments.progress import Display, duration
from experiments.recipe import Recipe
from experiments.runfolder import LOGS, MANIFEST, RECIPE, RunFolder, digest_of
from experiments.stepio import log_metrics, write_json, write_text

STEPS = "experiments.steps"
REPORT = "report"
_SOURCE = Path(__file__).resolve().parent.parent


def run_loop(recipe: Recipe, folder: RunFolder, console: Console, *, package: str = STEPS) -> Path:
    """Do what is not done yet and write the report; returns the report's path.

    `package` holds the steps' modules, so that tests can put light ones in their place.
    """
    recipe.check_trainable()
    _write_heads(recipe, folder)
    steps = steps_of(recipe)
    previous = signal.signal(signal.SIGTERM, _stop)
    try:
        with Display(console, sum(step.weight for step in steps) + 1) as display:
            for warning in recipe.warnings():
                display.say(f"warning: {warning}")
            for index, step in enumerate(steps):
                _do(step, recipe, folder, display, package)
                if step.stage is not None and (index + 1 == len(steps) or steps[index + 1].stage != step.stage):
                    write_text(folder.path / step.stage / "DONE", "")
            display.start(REPORT, 1)
            path = make_report(folder, display, package=package)
            display.finish("done", ran=True)
    finally:
        signal.signal(signal.SIGTERM, previous)
    return path


def make_report(folder: RunFolder, display: Display, *, package: str = STEPS) -> Path:
    """Write the report anew from what the folder holds; in a process of its own, for it draws boards."""
    job = {"name": REPORT, "run": str(folder.path), "out": str(folder.part(REPORT))}
    folder.begin(REPORT, "", keep=False)
    _spawn(job, REPORT, f"{package}.report", folder, 1, display)
    folder.commit(REPORT, "")
    return folder.path / REPORT / "report.md"


def _write_heads(recipe: Recipe, folder: RunFolder) -> None:
    path = folder.path / MANIFEST
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    named = ("config", "boards", "evaluate")
    seeds = {"run": recipe.seed, **{name: derive_seed(recipe.seed, name) for name in named}}
    for stage in range(recipe.stages):
        seeds |= {f"{name}/{stage}": derive_seed(recipe.seed, name, stage) for name in ("train", "engineer")}
    write_json(path, manifest(recipe, seeds, earlier))
    write_text(folder.path / RECIPE, recipe.to_yaml())


def _do(step: Step, recipe: Recipe, folder: RunFolder, display: Display, package: str) -> None:
    """Make one output, unless it is there already, made from the same inputs."""
    display.start(step.out, step.weight)
    late = step.late(folder.path) if step.late is not None else {}
    digests = {read: digest_of(folder.path / read) for read in step.reads}
    # A shipped model, or one in a folder, is an input as well, though its name does not say which one it is.
    weights = _SOURCE / "policy" / "models" / recipe.model / "model.safetensors"
    if recipe.model in (step.job.get("model"), step.job.get("checkpoint")) and weights.is_file():
        digests["model"] = digest_of(weights)
    inputs = inputs_hash(step, {**step.job, **late}, digests)
    if folder.is_done(step.out, inputs):
        display.finish("kept", ran=False)
        return
    if step.stage is not None:
        (folder.path / step.stage / "DONE").unlink(missing_ok=True)
    kept = folder.begin(step.out, inputs, keep=step.keep_part)
    if not step.kind:
        _copy_config(step, folder)
        folder.commit(step.out, inputs)
        display.finish("done", ran=True)
        return
    if not kept:
        folder.drop_metrics(step.out)
    job = {
        "name": step.out,
        "out": str(folder.part(step.out)),
        "metrics": str(folder.metrics),
        "threads": max(1, (recipe.threads or cores()) // _processes(step.job)),
        **({"resume": kept} if step.keep_part else {}),
        **resolve({**step.job, **late}, folder.path),
    }
    facts = _spawn(job, step.out, f"{package}.{step.kind}", folder, recipe.threads, display)
    if not folder.part(step.out).exists():
        raise StepError(f"the step {step.out} ended without its output; this is a fault of the program")
    folder.commit(step.out, inputs, **facts)
    log_metrics(folder.metrics, job="driver", of=step.out, **facts)
    display.finish(f"done in {duration(facts['seconds'])}, {facts['peak_memory'] / 2**20:.0f} MiB", ran=True)


def _spawn(
    job: dict[str, Any], name: str, module: str, folder: RunFolder, threads: int | None, display: Display
) -> dict[str, Any]:
    stem = name.replace("/", "-").removesuffix(".json")
    job_file = folder.path / LOGS / f"{stem}.json"
    write_json(job_file, job)
    usage = run_step(
        module,
        job_file,
        folder.path / LOGS / f"{stem}.log",
        threads=threads,
        launch=job.get("launch"),
        inherit=(folder.lock_descriptor,),
        on_progress=display.update,
        on_tick=display.tick,
    )
    return {
        "seconds": round(usage.seconds, 3),
        "cpu_seconds": round(usage.cpu_seconds, 3),
        "peak_memory": usage.peak_memory,
    }


def _copy_config(step: Step, folder: RunFolder) -> None:
    proposal = json.loads((folder.path / step.reads[0]).read_text(encoding="utf-8"))
    write_json(folder.part(step.out), proposal["config"])


def _processes(job: dict[str, Any]) -> int:
    launch: dict[str, Any] | None = job.get("launch")
    return 1 if launch is None else int(launch["processes"])


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
