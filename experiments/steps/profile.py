"""Throughput of the world on this machine's device, beside what the machine allows.

Job: kinds, largest (power of two of the largest batch), trace (bool), out: a folder with `points.jsonl`, a line each,
`shown.txt`, a table for people, `throughput.svg` where matplotlib is installed, and on request `trace/`, a trace of one
call each for the JAX profiler's viewers.
"""

import json
from pathlib import Path
from typing import Any

import jax

from experiments.profiling import Row, measure, points
from experiments.stepio import read_job, report_progress, write_text

_TRACED = 1 << 14


def main() -> None:
    """Measure every point; lines are written as they come, so that a stopped sweep has not been for nothing."""
    job = read_job()
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    chosen = [(kind, point) for kind in job["kinds"] for point in points(kind, int(job["largest"]))]
    rows: list[Row] = []
    with (out / "points.jsonl").open("w", encoding="utf-8") as file:
        for number, (kind, point) in enumerate(chosen):
            for row in measure(kind, [point]):
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
            report_progress(number + 1, len(chosen))
    if job["trace"]:
        smallest = {kind: point for kind, point in reversed(chosen) if point[0] <= _TRACED}
        with jax.profiler.trace(str(out / "trace")):
            for kind, point in smallest.items():
                list(measure(kind, [point]))
    told = [*table(rows), ""]
    if not plot(rows, out / "throughput.svg"):
        told.append("no plot: install matplotlib (the extra `plot`) for throughput.svg")
    write_text(out / "shown.txt", "\n".join([*told, ""]))


def table(rows: list[Row]) -> list[str]:
    """A line a point: rates a second, the compilation, and the share of the bound."""
    lines = [
        f"{rows[0]['device']} ({rows[0]['platform']}), {rows[0]['cores']} cores, JAX {rows[0]['versions']['jax']}",
        f"{'what':<9}{'batch':>9}{'agents':>7}{'horizon':>8}{'median/s':>13}{'worst/s':>13}{'compile':>9}{'bound/s':>13}"
        f"{'share':>7}",
    ]
    for row in rows:
        bound = f"{row['bound_per_second']:>13,.0f}{row['share_of_copy']:>7.2f}" if "bound_per_second" in row else ""
        lines.append(
            f"{row['what']:<9}{row['batch']:>9,}{row['agents']:>7}{row['horizon']:>8}"
            f"{row['per_second_median']:>13,.0f}{row['per_second_worst']:>13,.0f}{row['compile_seconds']:>8.1f}s{bound}"
        )
    return lines


def plot(rows: list[Row], file: Path) -> bool:
    """Throughput against batch, the bound dashed, at the largest number of agents; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    most = max(row["agents"] for row in rows)
    for what, horizon in dict.fromkeys((row["what"], row["horizon"]) for row in rows):
        line: list[dict[str, Any]] = [
            row for row in rows if (row["what"], row["horizon"], row["agents"]) == (what, horizon, most)
        ]
        batches = [row["batch"] for row in line]
        name = f"{what}, {horizon} steps" if what == "verify" else what
        (drawn,) = axes.plot(batches, [row["per_second_median"] for row in line], marker="o", label=name)
        if what == "verify":
            bounds = [row["bound_per_second"] for row in line]
            axes.plot(batches, bounds, linestyle="--", color=drawn.get_color(), label=f"copy of its bytes, {horizon}")
    axes.set(xscale="log", yscale="log", xlabel="batch", ylabel="boards a second", title=rows[0]["device"])
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(file)
    return True


if __name__ == "__main__":
    main()
