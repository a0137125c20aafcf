"""What a recipe will cost, before it runs: `--dry-run`."""

import math

from experiments.recipe import BOARDS, Recipe


def budget(recipe: Recipe) -> list[str]:
    """Lines of plain text: counts that follow from the recipe, upper bounds where a count is the model's to decide."""
    grpo = recipe.grpo
    rollouts = int(grpo.get("per_device_train_batch_size", 8)) * int(grpo.get("gradient_accumulation_steps", 1))
    group = int(grpo.get("num_generations", 8))
    steps = int(grpo.get("max_steps", -1))
    if steps < 0:  # epochs are counted then, one unless told
        steps = math.ceil(float(grpo.get("num_train_epochs", 1)) * recipe.boards_per_stage * group / rollouts)
    sets: dict[str, int] = {
        name: min(BOARDS[name], recipe.evaluation.limit or BOARDS[name]) for name in recipe.evaluation.sets
    }
    judged = recipe.validation.count + sum(sets.values())
    trained = recipe.stages * steps * rollouts
    previewed = (recipe.stages - 1) * recipe.engineer.best_of * recipe.engineer.preview * group
    tokens = (trained + judged * (recipe.stages + 1) + previewed) * recipe.reward.max_tokens
    return [
        "budget:",
        f"  stages                {recipe.stages}, the first on a random config, {recipe.stages - 1} redesigned",
        f"  training boards       {recipe.boards_per_stage} a stage, {recipe.boards_per_stage * recipe.stages} in all",
        f"  GRPO steps            {steps} a stage of {rollouts} completions in groups of {group}",
        f"  training completions  {trained}",
        f"  evaluated completions {judged * (recipe.stages + 1)} ({_listed(sets, recipe)}; starter and each stage)",
        f"  engineer's replies    {(recipe.stages - 1) * recipe.engineer.best_of} to act on (at most 4 tries each), "
        f"{recipe.engineer.samples * (recipe.stages + 1)} to measure the usable share",
        *([f"  previews              {previewed} completions, in groups, to boards of proposals"] if previewed else []),
        f"  answer tokens         at most {tokens}",
    ]


def _listed(sets: dict[str, int], recipe: Recipe) -> str:
    return ", ".join(f"{name} {count}" for name, count in {"validation": recipe.validation.count, **sets}.items())
