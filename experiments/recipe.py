"""Recipes: what a run does, as checked data. A recipe may inherit another; unknown keys are refused with the nearest.

`load("starter")` reads `experiments/recipes/starter.yaml`; a path works as well; overrides are `a.b=c` strings.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from experiments.blocks import (
    OF_BATCH,
    BatchBlock,
    Block,
    LaunchBlock,
    LoraBlock,
    RehearsalBlock,
    RewardBlock,
    SamplerBlock,
    nearest,
)
from experiments.errors import RecipeError
from experiments.grpo_keys import GRPO_KEYS

FOLDER = Path(__file__).resolve().parent / "recipes"
SetName = Literal["learn", "learn3", "quick", "paper", "paper-large"]
# Boards in each, as `jaxenv.benchmarks` makes them; written again, for the driver does not import jax.
BOARDS: dict[SetName, int] = {"learn": 1600, "learn3": 800, "quick": 600, "paper": 3150, "paper-large": 126_000}
# The run itself sets these; a recipe that sets them too would be silently overruled.
_OWNED = {
    "output_dir": "the run folder decides",
    "seed": "set `seed`",
    "data_seed": "set `seed`",
    "max_completion_length": "set `reward.max_tokens`",
    "resume_from_checkpoint": "give --resume",
    "reward_weights": "set `reward`",
    "use_cpu": "the device decides",
    "bf16": "the device decides",
    "fp16": "the device decides",
    "use_vllm": "set `sampler.name`",
    "vllm_mode": "set `sampler.mode`",
    "vllm_server_base_url": "set `sampler.base_url`",
    "vllm_server_host": "set `sampler.base_url`",
    "vllm_server_port": "set `sampler.base_url`",
    "vllm_gpu_memory_utilization": "set `sampler.memory`",
    "chat_template_kwargs": "set `sampler.thinking`",
}
_EXPONENT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+")
_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}


# As `engineer.context.modules` reads it, which the driver does not import.
VARIANT = r"^(V[1-6]|FG?(H0?)?S?(Tf?)?)$"


class EngineerBlock(Block):
    """Who writes the next config, and what it is shown."""

    name: Literal["self", "base", "openai", "curriculum", "rule", "rule-rlve", "teacher", "fixed", "random"] = "self"
    variant: str = Field("V6", pattern=VARIANT, description="V1 to V6, or modules by their letters, such as FGH0STf")
    temperature: float = Field(0.0, ge=0, le=2, description="of the first reply; 0 is greedy")
    retry_temperature: float = Field(0.7, ge=0, le=2, description="of the replies after a refusal, and of the samples")
    max_tokens: int = Field(512, ge=1)
    samples: int = Field(16, ge=0, description="replies a checkpoint is judged by, beside the one that is used")
    constrained: bool = Field(False, description="let models say nothing but JSON of the schema; the samples are free")
    preview: int = Field(0, ge=0, description="boards of a proposal that the checkpoint tries before it is used")
    best_of: int = Field(1, ge=1, description="proposals asked for; the one with most signal in its preview is used")
    model: str | None = Field(None, description="of the engineer `openai`")
    base_url: str | None = Field(None, description="of the engineer `openai`; its key is in OPENAI_API_KEY")

    @model_validator(mode="after")
    def _server_is_named(self) -> "EngineerBlock":
        if self.name == "openai" and (self.model is None or self.base_url is None):
            raise ValueError("the engineer 'openai' needs engineer.model and engineer.base_url")
        return self

    @model_validator(mode="after")
    def _the_best_is_seen_in_a_preview(self) -> "EngineerBlock":
        if self.best_of > 1 and not self.preview:
            raise ValueError("engineer.best_of above 1 needs engineer.preview: boards to compare the proposals on")
        return self


class EvaluationBlock(Block):
    """Which fixed sets the starter and every checkpoint are measured on."""

    sets: tuple[SetName, ...] = ("learn", "learn3")
    limit: int | None = Field(None, ge=1, description="take only the first boards of each set, for quick tests")
    batch: int = Field(256, ge=1)
    samples: int = Field(0, ge=0, description="answers a board that are sampled beside the greedy one")
    temperature: float = Field(1.0, gt=0, le=2, description="of the sampled answers")

    @field_validator("sets")
    @classmethod
    def _named_once(cls, sets: tuple[str, ...]) -> tuple[str, ...]:
        if "learn" not in sets or len(set(sets)) != len(sets):
            raise ValueError("must name each set once, and `learn` among them: the headline is measured on it")
        return sets


class ValidationBlock(Block):
    """The boards behind the engineer's evidence."""

    count: int = Field(480, ge=8)


class Recipe(Block):
    """A whole run."""

    name: str = Field("unnamed", pattern=r"^[A-Za-z0-9_.-]+$")
    model: str = "starter"
    style: Literal["compact", "full"] = "compact"
    seed: int = Field(0, ge=0, lt=2**31)
    stages: int = Field(3, ge=1, le=100)
    num_agents: int = Field(2, ge=1, le=5)
    boards_per_stage: int = Field(2048, ge=8)
    objective: Literal["sum_of_costs", "makespan"] = "sum_of_costs"
    threads: int | None = Field(None, ge=1, description="of torch and the host solver; all cores when null")
    engineer: EngineerBlock = EngineerBlock()
    reward: RewardBlock = RewardBlock()
    sampler: SamplerBlock = SamplerBlock()
    batch: BatchBlock | None = Field(None, description="the batch sizes are those in `grpo`, or TRL's own, when null")
    grpo: dict[str, Any] = Field(default_factory=dict, description="any option of TRL's GRPOConfig")
    lora: LoraBlock | None = Field(None, description="all weights are trained when null")
    launch: LaunchBlock | None = Field(None, description="one process when null")
    rehearsal: RehearsalBlock = RehearsalBlock()
    evaluation: EvaluationBlock = EvaluationBlock()
    validation: ValidationBlock = ValidationBlock()

    @field_validator("grpo")
    @classmethod
    def _known_to_trl(cls, block: dict[str, Any]) -> dict[str, Any]:
        for key in block:
            if key in _OWNED:
                raise ValueError(f"the key {key!r} is not the recipe's to set: {_OWNED[key]}")
            if key not in GRPO_KEYS:
                raise ValueError(f"{key!r} is not a field of TRL's GRPOConfig{nearest(key, GRPO_KEYS)}")
        return block

    def check_trainable(self) -> None:
        """Refuse a recipe that can only be evaluated.

        Raises:
            RecipeError: its sampler takes no weights.
        """
        if self.sampler.name == "openai":
            raise RecipeError("an endpoint cannot be trained: set sampler.name=hf or vllm, or only `evaluate` with it")

    @model_validator(mode="after")
    def _batches_are_whole(self) -> "Recipe":
        if self.batch is None:
            return self
        twice = [key for key in OF_BATCH if key in self.grpo]
        if twice:
            raise ValueError(f"grpo.{twice[0]} follows from `batch`; set it there, or leave `batch` out")
        answers, together = self.batch.prompts * self.batch.group, self.batch.micro * self.processes
        if answers % together:
            raise ValueError(
                f"batch: {self.batch.prompts} boards of {self.batch.group} answers are {answers}, which "
                f"{self.processes} x {self.batch.micro} answers at a time (processes x batch.micro) do not divide"
            )
        if self.batch.prompts > self.boards_per_stage:
            raise ValueError(
                f"batch.prompts is {self.batch.prompts}, more than the {self.boards_per_stage} boards of a stage"
            )
        return self

    @property
    def processes(self) -> int:
        """That train together."""
        return 1 if self.launch is None else self.launch.processes

    def trl(self) -> dict[str, Any]:
        """The options of TRL's GRPOConfig: the block `grpo`, and what follows from `batch`."""
        if self.batch is None:
            return dict(self.grpo)
        answers = self.batch.prompts * self.batch.group
        return {
            **self.grpo,
            "num_generations": self.batch.group,
            "per_device_train_batch_size": self.batch.micro,
            "gradient_accumulation_steps": answers // (self.batch.micro * self.processes),
        }

    def warnings(self) -> list[str]:
        """What may be done and is seldom meant."""
        return [
            f"grpo.{key} is {self.grpo[key]}, not {usual}: it biases the importance ratio"
            for key, usual in _SAMPLING.items()
            if self.grpo.get(key, usual) != usual
        ]

    def to_yaml(self) -> str:
        """The resolved recipe, every value written out."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

    def content_hash(self) -> str:
        """Of the values, whatever the order or the file they came from."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def names() -> list[str]:
    """The recipes that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(source: str, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe by name or path, apply the overrides, check every value."""
    values = _read(source, ())
    for override in overrides:
        _override(values, override)
    return check(values)


def check(values: dict[str, Any]) -> Recipe:
    """The recipe with these values; the first fault is one clear line."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise RecipeError(_one_line(error)) from None


def _read(source: str, seen: Sequence[Path]) -> dict[str, Any]:
    path = _find(source, seen[-1].parent if seen else Path())
    if path in seen:
        raise RecipeError(f"recipe {source!r} inherits itself: {' -> '.join(p.stem for p in [*seen, path])}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RecipeError(f"recipe {path} cannot be read: {' '.join(str(error).split())}") from error
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise RecipeError(f"recipe {path} must be a mapping of keys to values")
    parent = values.pop("inherits", None)
    if parent is not None and not isinstance(parent, str):
        raise RecipeError(f"recipe {path}: inherits must be the name or the path of one recipe")
    base = _read(parent, [*seen, path]) if parent is not None else {}
    return _merge(base, {"name": path.stem, **_numbers(values)})


def _find(source: str, beside: Path) -> Path:
    shipped = FOLDER / f"{source}.yaml"
    if shipped.is_file():
        return shipped.resolve()
    path = Path(source)
    if path.suffix in (".yaml", ".yml") or "/" in source:
        for candidate in (beside / path, path):
            if candidate.is_file():
                return candidate.resolve()
        raise RecipeError(f"there is no recipe file {source}")
    raise RecipeError(f"there is no recipe {source!r}{nearest(source, names())}; shipped are {', '.join(names())}")


def _merge(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """Blocks are merged key by key, everything else is replaced."""
    merged = dict(base)
    for key, value in top.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _override(values: dict[str, Any], override: str) -> None:
    dotted, equals, text = override.partition("=")
    keys = dotted.strip().split(".")
    if not equals or not all(keys):
        raise RecipeError(f"--set {override}: write it as key=value, for instance --set grpo.learning_rate=1e-5")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RecipeError(f"--set {override}: the value cannot be read") from error
    block = values
    for key in keys[:-1]:
        inner = block.setdefault(key, {})
        if not isinstance(inner, dict):
            raise RecipeError(f"--set {override}: {key} is a value, not a block")
        block = inner
    block[keys[-1]] = _numbers(value)


def _numbers(value: Any) -> Any:
    """The value with text such as 1e-5 as a number: YAML 1.1 wants 1.0e-5 and reads the other as text."""
    if isinstance(value, dict):
        return {key: _numbers(inner) for key, inner in value.items()}
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        return float(value)
    return value


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        *above, key = (str(part) for part in first["loc"])
        block: type[BaseModel] = Recipe
        for part in above:
            annotation = block.model_fields[part].annotation
            kinds = [kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)]
            block = next(kind for kind in kinds if issubclass(kind, BaseModel))
        where = f"in the block {'.'.join(above)}" if above else "in the recipe"
        return f"unknown key {key!r} {where}{nearest(key, block.model_fields)}"
    message = first["msg"].removeprefix("Value error, ")
    shown = "" if first["type"] == "value_error" else f" (it is {first['input']!r})"
    return f"recipe: {place}: {message[:1].lower()}{message[1:]}{shown}"
