"""`engineer`: what any engineers would propose on the recorded evidence of a stage, side by side, without training."""

import argparse
from pathlib import Path
from typing import Any

from experiments.errors import RunFolderError
from experiments.plan import resolve, stage_folder, steps_of
from experiments.recipe import Recipe, check, load
from experiments.runfolder import RECIPE
from experiments.standalone import run_and_tell

_PREVIEW = 24  # boards, where neither the command nor the run's recipe says how many


def options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--run", metavar="RUN", type=Path, required=True, help="a run folder")
    parser.add_argument("--stage", metavar="K", type=int, required=True, help="a stage of it that is evaluated")
    parser.add_argument("--engineer", metavar="E", nargs="+", help="engineers to ask (default: the run's)")
    parser.add_argument(
        "--variant", metavar="V", nargs="+", help="context variants, each with every model that is asked"
    )
    parser.add_argument("--preview", metavar="N", type=int, help="boards that the stage's checkpoint tries of each")
    parser.add_argument("--set", metavar="a.b=c", action="append", default=[], help="change a value of the recipe")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="keep prompts, replies, logs and previews")


def main(parsed: argparse.Namespace) -> int:
    """Run the replay and print its table."""
    run = parsed.run.absolute()
    if not (run / RECIPE).is_file():
        raise RunFolderError(f"there is no run in {parsed.run}")
    asked_preview = [] if parsed.preview is None else [f"engineer.preview={parsed.preview}"]
    recipe = load(str(run / RECIPE), [*parsed.set, *asked_preview])
    if not (run / stage_folder(parsed.stage) / "eval").is_dir():
        raise RunFolderError(f"stage {parsed.stage} of {parsed.run} has not been evaluated; choose another --stage")
    preview = recipe.engineer.preview if asked_preview else recipe.engineer.preview or _PREVIEW
    asked = [
        _with(recipe, name=name, variant=variant, preview=preview, samples=0)
        for name in parsed.engineer or [recipe.engineer.name]
        for variant in (parsed.variant or [recipe.engineer.variant])
    ]
    jobs = [resolve(job_of(one, parsed.stage), run) for one in asked]
    return run_and_tell("replay", parsed.out, {"jobs": jobs}, lambda out: False)


def job_of(recipe: Recipe, stage: int) -> dict[str, Any]:
    """The job of a redesign after this stage; after the last one as if one more were to follow."""
    recipe = recipe.model_copy(update={"stages": max(recipe.stages, stage + 2)})
    steps = {step.out: step for step in steps_of(recipe)}
    return steps[f"{stage_folder(stage)}/engineer"].job


def _with(recipe: Recipe, **values: Any) -> Recipe:
    """The recipe with other values of its block `engineer`, checked."""
    plain = recipe.model_dump(mode="json")
    return check({**plain, "engineer": {**plain["engineer"], **values}})
