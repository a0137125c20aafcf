"""How long a recipe will take, from what finished runs took."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.budget import Counts, counts
from experiments.errors import RunFolderError
from experiments.recipe import load
from experiments.runfolder import METRICS, RECIPE, read_metrics

SHIPPED = Path(__file__).resolve().parents[1] / "results" / "rates.json"


@dataclass(frozen=True)
class Rates:
    """Seconds of one of each, as measured, with the process that each step is; the report is not among them."""

    training_answer: float
    evaluated_answer: float
    reply: float
    board: float
    fixed: float  # a run: fixed sets, first config
    threads: int
    source: str  # what was measured

    def seconds(self, count: Counts) -> float:
        """What a run of these counts takes."""
        return (
            self.training_answer * count.trained
            + self.evaluated_answer * count.judged
            + self.reply * _replies(count)
            + self.board * count.boards * count.stages
            + self.fixed
        )

    def beginning(self, count: Counts) -> float:
        """What comes before the first redesign takes: the fixed sets, two evaluations, one stage."""
        one = count.steps * count.rollouts
        return (
            self.training_answer * one
            + self.evaluated_answer * 2 * count.evaluated
            + self.board * count.boards
            + self.fixed
        )


def measure(runs: Sequence[Path], threads: int) -> Rates:
    """The rates of finished runs, all their seconds over all their work.

    Raises:
        RunFolderError: a folder holds no finished run.
    """
    spent = dict.fromkeys(("policy", "eval", "replies", "data", "fixed"), 0.0)
    done = dict.fromkeys(spent, 0)
    names = []
    for run in runs:
        if not (run / RECIPE).is_file():
            raise RunFolderError(f"there is no run in {run}")
        recipe = load(str(run / RECIPE))
        count = counts(recipe)
        names.append(run.name)
        # Of a step that was done again the last time counts.
        seconds = {row["of"]: row["seconds"] for row in read_metrics(run / METRICS) if row.get("job") == "driver"}
        if f"stage_{recipe.stages - 1}/eval" not in seconds:
            raise RunFolderError(f"{run} has not come to its end; go on with --resume")
        for of, took in seconds.items():
            kind = of.rpartition("/")[2]
            kind = "replies" if kind in ("usable", "engineer") else kind
            spent[kind if kind in spent else "fixed"] += took
        work = {"policy": count.trained, "eval": count.judged, "replies": _replies(count), "fixed": 1}
        work["data"] = count.boards * count.stages
        for kind, amount in work.items():
            done[kind] += amount
    each = {kind: round(spent[kind] / done[kind], 6) for kind in spent}
    return Rates(
        each["policy"], each["eval"], each["replies"], each["data"], each["fixed"], threads, ", ".join(sorted(names))
    )


def shipped(threads: int | None) -> Rates:
    """Those that come with the package, of runs with so many threads, or the nearest."""
    found = [Rates(**row) for row in json.loads(SHIPPED.read_text(encoding="utf-8"))]
    return min(found, key=lambda rates: abs(rates.threads - (threads or max(r.threads for r in found))))


def save(path: Path, rates: Sequence[Rates]) -> None:
    """As they are shipped."""
    path.write_text(json.dumps([asdict(one) for one in rates], indent=1) + "\n", encoding="utf-8")


def _replies(count: Counts) -> int:
    return count.replies + count.stages - 1
