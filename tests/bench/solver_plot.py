"""Throughput of the solver's engines over boards in a call and over agents, drawn from the benchmark's rows.

python -m tests.bench.solver_plot ROWS.jsonl PICTURE.svg      (needs the `plot` extra)
"""

import sys
from pathlib import Path

import matplotlib

from tests.slow import rows as store

matplotlib.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"host": "#1f6feb", "device": "#d2691e"}


def draw(rows, path):
    """One picture with both curves; the peer's speed on the boards that both solve is drawn over the agents."""
    plt.rcParams.update({"svg.hashsalt": "lakeloop", "font.size": 9})
    figure, (over_batch, over_agents) = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for engine, colour in COLOURS.items():
        for alone, style in ((True, "-"), (False, "--")):
            name = f"{engine}, {'sum of costs alone' if alone else 'all labels'}"
            mine = [r for r in rows if r["bench"] == "throughput" and r["engine"] == engine]
            mine = [r for r in mine if ("makespan" not in r["labels"]) == alone]
            for axes, field, fixed in ((over_batch, "batch", ("agents", 3)), (over_agents, "agents", ("batch", 4096))):
                points = sorted((r[field], r["boards_per_second"]) for r in mine if r[fixed[0]] == fixed[1])
                axes.plot(*zip(*points, strict=True), style, marker="o", markersize=3, color=colour, label=name)
    peer = {r["agents"]: r["peer_boards_per_second"] for r in rows if r["bench"] == "against_peer"}
    over_agents.plot(list(peer), list(peer.values()), ":", marker="x", color="#666", label="peer, where both solve")
    over_batch.set(xscale="log", yscale="log", xlabel="boards in a call (3 agents)", ylabel="boards per second")
    over_agents.set(xlabel="agents (4,096 boards in a call)", xticks=[2, 3, 4, 5])
    for axes in (over_batch, over_agents):
        axes.grid(alpha=0.3)
    over_agents.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(store.read(Path(sys.argv[1])), sys.argv[2])
