"""What a recipe will cost, before it runs: `--dry-run`."""

import math
from dataclasses import dataclass

from experiments.memory import memory
from experiments.recipe import BOARDS, Recipe


@dataclass(frozen=True)
class Counts:
    """How much of everything one run does."""

    stages: int
    steps: int  # of the optimiser, a stage
    rollouts: int  # sampled answers a step
    group: int
    boards: int  # a stage
    evaluated: int  # answers of one checkpoint to all sets, validation among them
    replies: int  # of the engineer, to measure the usable share
    proposals: int  # of the engineer, to act on
    previewed: int  # sampled answers to boards of proposals
    max_tokens: int

    @property
    def trained(self) -> int:
        """Training completions in all."""
        return self.stages * self.steps * self.rollouts

    @property
    def judged(self) -> int:
        """Evaluated completions in all: of the starter and after each stage."""
        return self.evaluated * (self.stages + 1)

    @property
    def tokens(self) -> int:
        """Answer tokens at most."""
        return (self.trained + self.judged + self.previewed) * self.max_tokens

    def told(self) -> str:
        """In one line."""
        return (
            f"{self.stages} stages of {self.steps} steps of {self.rollouts} answers, {self.boards} boards a stage, "
            f"{self.evaluated} answers a checkpoint"
        )


def counts(recipe: Recipe) -> Counts:
    """What follows from a recipe; where a count is the model's to decide, its upper bound."""
    grpo = recipe.trl()
    rollouts = int(grpo.get("per_device_train_batch_size", 8)) * int(grpo.get("gradient_accumulation_steps", 1))
    rollouts *= recipe.processes
    group = int(grpo.get("num_generations", 8))
    steps = int(grpo.get("max_steps", -1))
    if steps < 0:  # epochs are counted then, one unless told; what is left of each after whole batches is not used
        one = recipe.boards_per_stage * group // rollouts
        steps = math.ceil(float(grpo.get("num_train_epochs", 1)) * one)
    return Counts(
        stages=recipe.stages,
        steps=steps,
        rollouts=rollouts,
        group=group,
        boards=recipe.boards_per_stage,
        evaluated=(sum(_sets(recipe).values()) + recipe.validation.count) * (1 + recipe.evaluation.samples),
        replies=recipe.engineer.samples * (recipe.stages + 1),
        proposals=(recipe.stages - 1) * recipe.engineer.best_of,
        previewed=(recipe.stages - 1) * recipe.engineer.best_of * recipe.engineer.preview * group,
        max_tokens=recipe.reward.max_tokens,
    )


def budget(recipe: Recipe) -> list[str]:
    """Lines of plain text."""
    count = counts(recipe)
    listed = ", ".join(f"{name} {n}" for name, n in {"validation": recipe.validation.count, **_sets(recipe)}.items())
    samples = f", {recipe.evaluation.samples} more sampled for each" if recipe.evaluation.samples else ""
    told = f"  previews              {count.previewed} completions, in groups, to boards of proposals"
    previews = [told] if count.previewed else []
    return [
        "budget:",
        f"  stages                {count.stages}, the first on a random config, {count.stages - 1} redesigned",
        f"  training boards       {count.boards} a stage, {count.boards * count.stages} in all",
        f"  GRPO steps            {count.steps} a stage of {count.rollouts} completions in groups of {count.group}",
        f"  training completions  {count.trained}",
        f"  evaluated completions {count.judged} ({listed}{samples}; starter and each stage)",
        f"  engineer's replies    {count.proposals} to act on (at most 4 tries each), "
        f"{count.replies} to measure the usable share",
        *previews,
        *memory(recipe, count.rollouts),
        f"  answer tokens         at most {count.tokens}",
    ]


def _sets(recipe: Recipe) -> dict[str, int]:
    """The evaluation sets with their boards."""
    limit = recipe.evaluation.limit
    return {name: min(BOARDS[name], limit or BOARDS[name]) for name in recipe.evaluation.sets}
