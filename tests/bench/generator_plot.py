"""Seconds to label and store a set, over its number of boards, drawn from the benchmark's rows.

python -m tests.bench.generator_plot ROWS.jsonl PICTURE.svg      (needs the `plot` extra)
"""

import sys
from pathlib import Path

import matplotlib

from tests.slow import rows as store

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {2: "#1f6feb", 3: "#2da44e", 4: "#d2691e", 5: "#8250df"}


def draw(rows, path):
    """Both axes logarithmic: what is linear in the count goes along the dotted lines."""
    plt.rcParams.update({"svg.hashsalt": "lakeloop", "font.size": 9})
    figure, (time, memory) = plt.subplots(1, 2, figsize=(9, 3.4))
    for agents, colour in COLOURS.items():
        mine = sorted((row["count"], row) for row in rows if row["agents"] == agents)
        if not mine:
            continue
        counts = [count for count, _ in mine]
        time.plot(counts, [row["seconds"] for _, row in mine], "o-", color=colour, label=f"{agents} agents")
        last = mine[-1][1]["seconds"] / counts[-1]
        time.plot(counts, [last * count for count in counts], ":", color=colour)
        memory.plot(counts, [row["peak_mib"] / 1024 for _, row in mine], "o-", color=colour)
    time.set(xscale="log", yscale="log", xlabel="boards", ylabel="seconds (dotted: proportional)")
    memory.set(xscale="log", ylim=(0, 4), xlabel="boards", ylabel="peak of resident memory, GiB")
    for axes in (time, memory):
        axes.grid(alpha=0.3)
    time.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(store.read(Path(sys.argv[1])), sys.argv[2])
