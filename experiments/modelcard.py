"""The card beside a starter: what it is and exactly what it was trained on, from the constants that trained it."""

from experiments.warmstart import CONFIGS_PER_ROUND, HOLE_RANGE, MAX_STEPS, PHASES, SMALLEST, Phase, shares_of_agents

_TARGETS = {
    "format": "drawn at random, independently of the evidence in the prompt: they teach a reply's form, no judgement",
    "teacher": "by the rule `teacher` (`engineer/teacher.py`) on the evidence in the prompt: this model's redesigns "
    "may be that rule, distilled. Compare with the engineer `teacher`, and with the control `starter-format`",
}
_TITLES = {"boards": "starter, boards only", "format": "starter-format", "teacher": "starter"}


def model_card(phase: Phase, *, seed: int, parameters: int) -> str:
    """The card's Markdown."""
    past = [one for one in PHASES if one.name in (phase.after, phase.name)]
    agents = ", ".join(
        f"{number} agents {share:.0%} (sizes {SMALLEST[number]} to 10)"
        for number, share in shares_of_agents(seed).items()
    )
    lines = [
        f"# {_TITLES[phase.name]}",
        "",
        f"A Qwen3-architecture model of {parameters:,} parameters with a tokenizer of its own, trained from nothing by",
        "",
        "```",
        f"python -m experiments.run warmstart --seed {seed}",
        "```",
        "",
        "No RL, no pretrained weights and no outside data went into it. It answers boards in the style `compact` and "
        "the engineer's prompts, and nothing else. In its tokenizer each word of a board, each whole number up to 100, "
        "each ratio of two decimals and each phrase that the engineer's prompts and replies repeat is one token.",
        "",
        "## Trained on",
        "",
        f"Boards of the training split: {agents}; holes uniform in {HOLE_RANGE[0]:.0%} to "
        f"{HOLE_RANGE[1]:.0%} of the cells; solved by `jaxenv.solve` (at most {MAX_STEPS:,} steps; boards it left open "
        "are not used). Two thirds of the draws propose agents that meet, and of the boards that need no wait only as "
        "many are kept as of those that do, or an eighth of the draws. Each is turned by a random symmetry, its agents "
        "in random order.",
        "",
        "Some answers are the solver's optimal plans, waits included (coordinated). In the others each agent takes a "
        "random shortest path **as if alone**; they may collide. So it has seen agents share the ice, and mostly acts "
        "as if they did not: that is the room RL has.",
        "",
        "| phase | steps | tokens a batch | peak rate | coordinated answers | config targets |",
        "|---|---|---|---|---|---|",
    ]
    for one in past:
        schedule = one.schedule
        lines.append(
            f"| {one.name} | {schedule.steps:,} | {schedule.batch_tokens:,} | {schedule.peak_rate:g} | "
            f"{one.coordinated:.0%} | {one.configs or 'none'} |"
        )
    taught = [one.configs for one in past if one.configs]
    if taught:
        lines += [
            "",
            f"Config-writing examples ({CONFIGS_PER_ROUND:,} a round of boards) answer invented evidence:",
            "",
        ]
        lines += [f"- `{name}`: {_TARGETS[name]}." for name in taught]
    return "\n".join([*lines, "", "Licence: Apache-2.0.", ""])
