"""The steps of a run, as data: what each makes, from what, in which order, and how much work it is."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.recipe import Recipe

SETS, START, VALIDATION = "sets", "start", "validation"
_ROOT = "RUN"  # stands for the run folder in hashes, so that a run may be moved
# Of a job, what does not change the result.
_IRRELEVANT = ("out", "metrics", "threads", "resume", "name")

Late = Callable[[Path], dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """One output of a run. Paths are relative to the run folder."""

    out: str
    kind: str  # the module under experiments.steps
    job: dict[str, Any]
    reads: tuple[str, ...] = ()  # outputs of earlier steps, or files in them
    weight: float = 1.0  # share of the work, for the overall bar
    keep_part: bool = False  # the step can go on with what an interrupted call left
    late: Late | None = field(default=None, compare=False)  # values of the job that earlier outputs hold

    @property
    def stage(self) -> str | None:
        """The stage's folder, None for what belongs to the whole run."""
        head = self.out.partition("/")[0]
        return head if head.startswith("stage_") else None


def stage_folder(stage: int) -> str:
    return f"stage_{stage}"


def derive_seed(seed: int, *names: str | int) -> int:
    """A seed for one use of randomness; different names never share one."""
    text = json.dumps([seed, *names])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") >> 1


def steps_of(recipe: Recipe) -> list[Step]:
    """All steps of a run, in order. Values that are paths in the run folder start with `RUN/`."""
    steps = [_sets(recipe), _first_config(recipe), _evaluate(recipe, None), _usable(recipe, None)]
    for stage in range(recipe.stages):
        if stage:
            steps.append(_next_config(stage))
        steps += [_data(recipe, stage), _train(recipe, stage), _evaluate(recipe, stage)]
        last = stage == recipe.stages - 1
        steps.append(_usable(recipe, stage) if last else _engineer(recipe, stage))
    return steps


def inputs_hash(step: Step, job: dict[str, Any], digests: dict[str, str]) -> str:
    """What the output depends on: the job, and the content of what it reads."""
    relevant = {key: value for key, value in job.items() if key not in _IRRELEVANT}
    text = json.dumps([step.kind, relevant, digests], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def resolve(value: Any, run: Path) -> Any:
    """A job with `RUN/...` turned into paths."""
    if isinstance(value, dict):
        return {key: resolve(inner, run) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(inner, run) for inner in value]
    if isinstance(value, str) and value.startswith(f"{_ROOT}/"):
        return str(run / value.removeprefix(f"{_ROOT}/"))
    return value


def _path(*parts: str) -> str:
    return "/".join((_ROOT, *parts))


def _model(recipe: Recipe, stage: int | None) -> str:
    """The checkpoint after a stage; the recipe's model before all of them."""
    return recipe.model if stage is None or stage < 0 else _path(stage_folder(stage), "policy")


def _folder(stage: int | None) -> str:
    return START if stage is None else stage_folder(stage)


def _policy_reads(stage: int | None) -> tuple[str, ...]:
    return () if stage is None or stage < 0 else (f"{stage_folder(stage)}/policy",)


def _sets(recipe: Recipe) -> Step:
    wanted: dict[str, dict[str, Any]] = {
        VALIDATION: {"count": recipe.validation.count, "num_agents": recipe.num_agents},
        **{name: {"limit": recipe.evaluation.limit} for name in recipe.evaluation.sets},
    }
    return Step(SETS, "generate", {"sets": wanted}, weight=4)


def _first_config(recipe: Recipe) -> Step:
    job = {"num_agents": recipe.num_agents, "seed": derive_seed(recipe.seed, "config")}
    return Step(f"{stage_folder(0)}/config.json", "first_config", job, weight=1)


def _next_config(stage: int) -> Step:
    """Copied by the driver out of the proposal."""
    proposal = f"{stage_folder(stage - 1)}/engineer/proposal.json"
    return Step(f"{stage_folder(stage)}/config.json", "", {"proposal": _path(proposal)}, reads=(proposal,), weight=0)


def _data(recipe: Recipe, stage: int) -> Step:
    config = f"{stage_folder(stage)}/config.json"
    job = {
        "config": _path(config),
        "num_agents": recipe.num_agents,
        "count": recipe.boards_per_stage,
        "split": "train",
        "seed": derive_seed(recipe.seed, "boards"),
        "stage": stage,
        "objective": recipe.objective,
    }
    return Step(f"{stage_folder(stage)}/data", "generate", job, reads=(config,), weight=2)


def _train(recipe: Recipe, stage: int) -> Step:
    before = stage - 1 if stage else None
    evaluation = f"{_folder(before)}/eval"
    data = f"{stage_folder(stage)}/data"
    job = {
        "model": _model(recipe, stage - 1),
        "data": _path(data),
        "stage": stage,
        "seed": derive_seed(recipe.seed, "train", stage),
        "style": recipe.style,
        "objective": recipe.objective,
        "num_agents": recipe.num_agents,
        "reward": {**recipe.reward.model_dump(mode="json"), "thinking": recipe.sampler.thinking},
        "grpo": {**recipe.sampler.trl(), **recipe.trl()},
        "launch": None if recipe.launch is None else recipe.launch.model_dump(mode="json"),
        "lora": None if recipe.lora is None else recipe.lora.model_dump(mode="json"),
        "rehearsal": recipe.rehearsal.model_dump(mode="json"),
    }

    def late(run: Path) -> dict[str, Any]:
        from experiments.tables import read_table  # pyarrow, only when a run needs it

        valid = read_table(run / evaluation / f"{VALIDATION}.parquet")["valid"]
        return {"prior_valid": float(valid.mean())}

    reads = (data, *_policy_reads(before), f"{evaluation}/{VALIDATION}.parquet")
    return Step(f"{stage_folder(stage)}/policy", "train_stage", job, reads, weight=30, keep_part=True, late=late)


def _evaluate(recipe: Recipe, stage: int | None) -> Step:
    names = (VALIDATION, *recipe.evaluation.sets)
    job = {
        "model": _model(recipe, stage),
        "sampler": recipe.sampler.model_dump(mode="json"),
        "sets": {name: _path(SETS, name) for name in names},
        "style": recipe.style,
        "objective": recipe.objective,
        "max_tokens": recipe.reward.max_tokens,
        "batch": recipe.evaluation.batch,
        "samples": recipe.evaluation.samples,
        "temperature": recipe.evaluation.temperature,
        "seed": derive_seed(recipe.seed, "evaluate"),
        "stage": -1 if stage is None else stage,
    }
    reads = (SETS, *_policy_reads(stage))
    return Step(f"{_folder(stage)}/eval", "evaluate", job, reads, weight=8, keep_part=True)


def _engineer(recipe: Recipe, stage: int) -> Step:
    here = stage_folder(stage)
    history = [
        {
            "stage": earlier,
            "config": _path(stage_folder(earlier), "config.json"),
            "evidence": _path(stage_folder(earlier), "engineer", "evidence.json"),
            "proposal": _path(stage_folder(earlier), "engineer", "proposal.json"),
        }
        for earlier in range(stage)
    ]
    job = {
        **_asking(recipe, stage),
        "usable_only": False,
        "rollouts": _path(here, "policy", "rollouts.parquet"),
        "history": history,
        "data": _path(here, "data"),
        # of the boards that the proposal will be filled with
        "count": recipe.boards_per_stage,
        "boards_seed": derive_seed(recipe.seed, "boards"),
        "objective": recipe.objective,
        # of the answers that a preview samples, as training would
        "group": recipe.trl().get("num_generations", 8),
        "answer_tokens": recipe.reward.max_tokens,
        "preview_seed": derive_seed(recipe.seed, "preview", stage),
    }
    reads = (
        f"{here}/config.json",
        f"{here}/data",
        f"{here}/policy",
        f"{here}/eval/{VALIDATION}.parquet",
        *(f"{stage_folder(i)}/{name}" for i in range(stage) for name in ("config.json", "engineer")),
    )
    return Step(f"{here}/engineer", "engineer", job, reads, weight=5)


def _usable(recipe: Recipe, stage: int | None) -> Step:
    """How many replies are usable where no proposal is asked for: before the first stage, after the last."""
    job = {**_asking(recipe, stage), "usable_only": True}
    reads: tuple[str, ...] = (f"{stage_folder(stage or 0)}/config.json", f"{_folder(stage)}/eval/{VALIDATION}.parquet")
    if stage is not None:
        job["rollouts"] = _path(stage_folder(stage), "policy", "rollouts.parquet")
        reads = (*reads, f"{stage_folder(stage)}/policy")
    return Step(f"{_folder(stage)}/usable", "engineer", job, reads, weight=3)


def _asking(recipe: Recipe, stage: int | None) -> dict[str, Any]:
    """What the engineer's step needs to build a prompt and to get replies."""
    model = None if recipe.engineer.name == "base" else stage
    return {
        "model": _model(recipe, model),
        "checkpoint": _model(recipe, stage),
        "engineer": recipe.engineer.model_dump(mode="json"),
        "sampler": recipe.sampler.model_dump(mode="json"),
        "style": recipe.style,
        "epochs": math.ceil(recipe.grpo.get("num_train_epochs", 1)),
        "stage": -1 if stage is None else stage,
        "stages": recipe.stages,
        "config": _path(stage_folder(stage or 0), "config.json"),
        "validation": _path(_folder(stage), "eval", f"{VALIDATION}.parquet"),
        "num_agents": recipe.num_agents,
        "seed": derive_seed(recipe.seed, "engineer", -1 if stage is None else stage),
        # Only where they are told: what an engineer never reads must not make its step out of date.
        "details": _details(recipe) if "Tf" in recipe.engineer.variant else {},
    }


def _details(recipe: Recipe) -> dict[str, str]:
    """What an engineer is told of the training where it asks for everything (module `Tf`)."""
    reward, grpo = recipe.reward, recipe.trl()
    return {
        "training": f"GRPO, groups of {grpo.get('num_generations', 8)} answers, learning rate "
        f"{grpo.get('learning_rate', 1e-6):g}, advantages scaled by {grpo.get('scale_rewards', 'batch')}",
        "optimum": recipe.objective.replace("_", " "),
        "reward": f"accuracy, less {reward.rho:g} at a gap of {reward.gap_max:g} or more, and brevity within "
        f"{reward.max_tokens} tokens, weighed {reward.schedule}",
    }
