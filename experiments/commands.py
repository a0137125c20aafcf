"""The commands behind `python -m experiments.run`: thin, each reads its options and calls one thing."""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from experiments import evaluate_command, generating, replay, report_command
from experiments.ablate import command as ablate_command
from experiments.errors import ExperimentError, RecipeError
from experiments.options import recipe_of, recipe_options
from experiments.profile import options as _profile_options
from experiments.profile import profile as _profile
from experiments.recipe import load
from experiments.run import COMMANDS
from experiments.show_command import options as _show_options
from experiments.show_command import show as _show
from experiments.standalone import run_alone, run_and_tell
from experiments.stepio import explain


def main(command: str, argv: Sequence[str]) -> int:
    """Run a command; what the user can mend is one line on stderr and exit code 2."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.run {command}", description=COMMANDS[command])
    options, function = _COMMANDS[command]
    options(parser)
    parsed = parser.parse_args(list(argv))
    try:
        return function(parsed) or 0
    except KeyboardInterrupt:
        print("Interrupted. A run goes on with --resume.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ExperimentError, OSError) as error:
        line = explain(error)
        if line is None:
            raise
        print(f"error: {line}", file=sys.stderr)
        return 2


def _loop_options(parser: argparse.ArgumentParser) -> None:
    recipe_options(parser)
    parser.add_argument("--run", metavar="FOLDER", type=Path, help="the run folder (default: a new one under runs/)")
    parser.add_argument("--resume", action="store_true", help="go on with the run (default: the latest under runs/)")
    parser.add_argument("--dry-run", action="store_true", help="print the resolved recipe and its budget, do nothing")


def _loop(parsed: argparse.Namespace) -> None:
    from experiments.runfolder import RECIPE, RunFolder

    folder: Path | None = parsed.run or (_latest() if parsed.resume else None)
    if parsed.resume and folder is not None and parsed.recipe is None and (folder / RECIPE).is_file():
        recipe = load(str(folder / RECIPE), parsed.set)
    else:
        recipe = recipe_of(parsed)
    if parsed.dry_run:
        from experiments.budget import budget

        print(recipe.to_yaml())
        for line in (*budget(recipe), *(f"warning: {warning}" for warning in recipe.warnings())):
            print(line)
        return
    from experiments.driver import run_loop

    if folder is None:
        folder = Path("runs") / f"{recipe.name}-{recipe.seed}-{time.strftime('%Y%m%d-%H%M%S')}"
    console = Console()
    console.print(f"The run folder is {folder}", markup=False, highlight=False, soft_wrap=True)
    with contextlib.closing(RunFolder.open(folder, resume=parsed.resume)) as run:
        report = run_loop(recipe, run, console)
    print(report)


def _latest() -> Path:
    """The run under runs/ that was begun or gone on with last."""
    from experiments.runfolder import MANIFEST

    found = sorted(Path("runs").glob(f"*/{MANIFEST}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise RecipeError("there is no run under runs/; name one with --run")
    return found[-1].parent


def _solve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "boards",
        metavar="FILE",
        type=Path,
        help="a set made by `generate` (folder or .parquet), .json, .txt as boards are drawn, or a MovingAI .scen",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="keep the solutions, a JSON line a board")
    parser.add_argument("--objective", default="sum_of_costs", choices=("sum_of_costs", "makespan"))
    parser.add_argument("--engine", default="auto", choices=("auto", "host", "device"))
    parser.add_argument("--max-steps", type=int, help="of each search; a board not done by then is left undetermined")
    parser.add_argument("--draw", type=int, default=3, help="boards to draw with their plans (default: %(default)s)")
    parser.add_argument("--num-agents", type=int, default=2, help="agents a board of a scenario (default: %(default)s)")


def _solve(parsed: argparse.Namespace) -> int:
    """1 when a board is left undetermined."""
    keys = ("objective", "engine", "max_steps", "draw", "num_agents")
    job = {"boards": str(parsed.boards.absolute()), **{key: getattr(parsed, key) for key in keys}}

    def undetermined(out: Path) -> bool:
        lines = (out / "solutions.jsonl").read_text(encoding="utf-8").splitlines()
        return any(json.loads(line)["status"] == "undetermined" for line in lines)

    return run_and_tell("solve", parsed.out, job, undetermined)


def _train_options(parser: argparse.ArgumentParser) -> None:
    recipe_options(parser)
    parser.add_argument("--data", metavar="FOLDER", type=Path, required=True, help="a set made by `generate`")
    parser.add_argument("--model", metavar="SPEC", help="shipped name, folder or hub id (default: the recipe's)")
    parser.add_argument("--prior-valid", type=float, default=0.5, help="valid rate of the model before the stage")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)


def _train(parsed: argparse.Namespace) -> None:
    from experiments.plan import steps_of

    recipe = recipe_of(parsed)
    recipe.check_trainable()
    job = next(step.job for step in steps_of(recipe) if step.kind == "train_stage")
    changed = {"data": str(parsed.data), "model": parsed.model or recipe.model, "prior_valid": parsed.prior_valid}
    run_alone("train_stage", parsed.out, {**job, **changed, "resume": False}, recipe.threads)


def _run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")


def _gains_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="finished run folders")
    parser.add_argument("--out", metavar="FILE", type=Path, help="JSON lines to add to (default: print them)")


def _gains(parsed: argparse.Namespace) -> None:
    from experiments.gains import gain_of_run, merge_rows

    rows = [gain_of_run(run) for run in parsed.runs]
    if parsed.out is None:
        print("".join(json.dumps(row) + "\n" for row in rows), end="")
    else:
        merge_rows(parsed.out, rows)


def _watch(parsed: argparse.Namespace) -> None:
    from experiments.watch import watch

    watch(parsed.run, Console())


def _reverify_options(parser: argparse.ArgumentParser) -> None:
    _run_options(parser)
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="keep the changes, a JSON line each")


def _reverify(parsed: argparse.Namespace) -> int:
    """1 when an answer is judged otherwise than it was."""
    from experiments.errors import RunFolderError
    from experiments.plan import SETS
    from experiments.runfolder import RECIPE

    run = parsed.run.absolute()
    if not (run / RECIPE).is_file():
        raise RunFolderError(f"there is no run in {parsed.run}")
    recipe = load(str(run / RECIPE))
    job = {
        "run": str(run),
        "sets": str(run / SETS),
        "style": recipe.style,
        "thinking": recipe.sampler.thinking,
        "objective": recipe.objective,
    }
    return run_and_tell("reverify", parsed.out, job, lambda out: bool((out / "changes.jsonl").stat().st_size))


def _warmstart_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        default=Path("runs/warmstart"),
        help="goes on with what it holds already (default: %(default)s)",
    )
    parser.add_argument("--ship", action="store_true", help="put the finished models into the package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)


def _warmstart(parsed: argparse.Namespace) -> None:
    job = {"seed": parsed.seed, "ship": parsed.ship}
    run_alone("warmstart", parsed.out, job, parsed.threads, fresh=False)


_COMMANDS = {
    "stage_loop": (_loop_options, _loop),
    "generate": (generating.options, generating.run),
    "solve": (_solve_options, _solve),
    "train_stage": (_train_options, _train),
    "evaluate": (evaluate_command.options, evaluate_command.run),
    "ablate": (ablate_command.options, ablate_command.run),
    "engineer": (replay.options, replay.main),
    "report": (report_command.options, report_command.run),
    "gains": (_gains_options, _gains),
    "reverify": (_reverify_options, _reverify),
    "profile": (_profile_options, _profile),
    "show": (_show_options, _show),
    "watch": (_run_options, _watch),
    "warmstart": (_warmstart_options, _warmstart),
}
