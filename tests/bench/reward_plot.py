"""The reward's surface: over the answer's length and the plan's cost, at three abilities, and the length weight.

python -m tests.bench.reward_plot docs/reward.svg      (needs the `plot` extra)
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from policy.reward import SCHEDULES, compute_reward, length_weight

matplotlib.use("svg")
import matplotlib.pyplot as plt

LIMIT, FREE = 200, 50
ABILITIES = (0.1, 0.4, 0.7)
GAPS = {"optimal": 0.0, "gap 0.25": 0.25, "gap 1 or more": 1.0}


def draw(path):
    """Reward against tokens for each kind of answer at each ability; last, each schedule's length weight."""
    plt.rcParams.update({"svg.hashsalt": "lakeloop", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(1, len(ABILITIES) + 1, figsize=(11, 3.2), layout="constrained")
    tokens = np.array([0, FREE, LIMIT])  # straight between them
    none = np.zeros(len(tokens))
    for panel, ability in zip(axes, ABILITIES, strict=False):
        for name, gap in GAPS.items():
            reward = compute_reward(none + 1, none + gap, tokens, none, FREE, LIMIT, ability)
            panel.plot(tokens, reward, label=f"valid, {name}")
        panel.plot(tokens, compute_reward(none, none + np.nan, tokens, none, FREE, LIMIT, ability), label="invalid")
        cut = compute_reward([0], [np.nan], [LIMIT], [1], FREE, LIMIT, ability)
        panel.plot([LIMIT], cut, "x", color="#666", label="cut off")
        panel.axvline(FREE, color="#999", linestyle=":", linewidth=1)
        panel.set(title=f"ability {ability}", xlabel="tokens (limit 200, free 50)", ylim=(-0.2, 1))
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("reward")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=5, fontsize=8, frameon=False)
    abilities = np.linspace(0, 1, 61)
    for schedule in SCHEDULES:
        axes[-1].plot(abilities, [length_weight(ability, schedule) for ability in abilities], label=schedule)
    axes[-1].set(title="length weight", xlabel="ability")
    axes[-1].grid(alpha=0.3)
    axes[-1].set_ylim(-0.02, 0.42)
    axes[-1].legend(fontsize=8, frameon=False, loc="upper center", ncols=2)
    figure.savefig(path, metadata={"Date": None})
    path.write_text("".join(f"{line.rstrip()}\n" for line in path.read_text().splitlines()))


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
