"""The runs of the study: what each engineer gained, and how the gain goes with the boards it asked for.

python -m tests.bench.study_plot PICTURE.svg      (needs the `plot` extra)
"""

import statistics
import sys

import matplotlib

from tests.bench.study import ROWS
from tests.slow import rows as store

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {
    "fixed": "#666666",
    "curriculum": "#8250df",
    "rule": "#2da44e",
    "teacher": "#1f6feb",
    "self": "#d2691e",
    "base": "#bf3989",
}


def draw(rows, path):
    """Left: the gain of every run and the mean of each engineer. Right: the same gains over the share of waits."""
    plt.rcParams.update({"svg.hashsalt": "lakeloop", "font.size": 9})
    figure, (by_engineer, by_waits) = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for place, (engineer, colour) in enumerate(COLOURS.items()):
        own = [row for row in rows if row["engineer"] == engineer]
        gains = [100 * row["gain_valid"] for row in own]
        by_engineer.plot([place] * len(own), gains, "o", color=colour, markersize=5, alpha=0.7)
        by_engineer.hlines(statistics.mean(gains), place - 0.3, place + 0.3, color=colour, linewidth=2)
        by_waits.plot([100 * row["waits"] for row in own], gains, "o", color=colour, markersize=5, label=engineer)
    by_engineer.set(xticks=range(len(COLOURS)), xticklabels=list(COLOURS), ylabel="points of valid rate gained")
    by_engineer.set_ylim(0, None)
    by_waits.set(xlabel="boards asked for that need a wait, % (stages 1 and 2)")
    for axes in (by_engineer, by_waits):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    by_waits.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(store.read(ROWS), sys.argv[1])
