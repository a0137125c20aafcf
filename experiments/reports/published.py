"""Rows of the published study, to be laid beside ours and never taken for ours.

"From Trainee to Trainer: LLM-Designed Training Environment for RL with Multi-Agent Reasoning" (Chen, Li, Li, Liu, Guo;
arXiv 2606.17682, CC BY 4.0): 150 boards a cell, its own boards, Qwen3-4B unless another model is named. It gives no
intervals and no rows per size that we know of.
"""

CITATION = (
    "Rows in italics are published ones (arXiv 2606.17682, its tables): another model, other boards, one seed, no "
    "intervals given. They show the layout and the scale, and no difference from ours can be read off them."
)
AGENTS = (3, 4, 5)
# acc and opt in percent for 3, 4 and 5 agents
HEADLINE: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = (
    ("GPT-5.4", ((32.50, 20.58), (17.05, 10.86), (9.11, 6.00))),
    ("Grok-4.2", ((33.42, 21.00), (23.43, 15.33), (12.89, 8.78))),
    ("Gemini-3.1-Pro", ((24.50, 15.33), (12.95, 10.10), (4.78, 3.56))),
    ("Kimi-K2.5", ((46.17, 29.25), (26.95, 17.90), (13.47, 8.78))),
    ("Qwen3-4B", ((14.83, 14.00), (3.43, 3.05), (1.44, 1.22))),
    ("Qwen3-4B + GRPO, fixed random config", ((40.42, 26.08), (26.67, 16.10), (15.11, 9.11))),
    ("Qwen3-4B + GRPO, base model as engineer", ((45.21, 30.00), (27.62, 19.62), (16.00, 10.89))),
    ("Qwen3-4B + GRPO, checkpoint as engineer (V6)", ((51.67, 31.67), (33.14, 21.33), (18.67, 11.00))),
)
# variant, its modules, and the valid rate in percent at wait ratios .25, .50 and .75, all agents and sizes together
VARIANTS: tuple[tuple[str, str, tuple[float, float, float]], ...] = (
    ("V1", "F", (25.2, 18.4, 14.9)),
    ("V2", "F G", (36.6, 26.9, 19.7)),
    ("V3", "F G H, round 0 included", (38.8, 31.0, 23.9)),
    ("V4", "F G H", (41.4, 33.6, 25.2)),
    ("V5", "F G H S", (32.6, 24.6, 19.7)),
    ("V6", "F G H T (bookkeeping)", (45.2, 35.7, 27.3)),
)


def both(values: tuple[tuple[float, float], ...], agents: int) -> str:
    """acc and opt of a published row for so many agents; nothing where none are published."""
    if agents not in AGENTS:
        return ""
    acc, opt = values[AGENTS.index(agents)]
    return f"{acc:.2f} / {opt:.2f}"
