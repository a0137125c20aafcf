"""Invented answers to boards: the asked form, what models make of it, and rubbish; mutated, spliced and cut."""

import json
import random

from jaxenv.types import Label
from policy.answers import STYLES, parse_answer
from policy.compact import vocabulary

WORDS = [
    "RIGHT",
    "left",
    "Up",
    "DOWN",
    "WAIT",
    "stay",
    "no-op",
    "R",
    "u",
    "LL",
    "→",
    "⬆️",
    "v",
    "<",
    "NORTH",
    "x3",
    "(0,1)",
]
JOINTS = [", ", " ", "; ", " -> ", " → ", "/", " | ", ",\n", "\n- ", " then ", ""]
PIECES = [
    *(
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "```",
        "```json\n",
        "\n```\n",
        "**Final answer:**\n",
        "### Answer\n",
    ),
    *(
        "Step 1: ",
        "t=2 ",
        "Agents 0 and 1: ",
        "Agent",
        "agent_",
        "Robot #",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        ":",
        "=",
        "\\boxed{",
    ),
    *(
        "\x00",
        "\u0130",
        "\udc80",
        "\u0663",
        "\ufe0f",
        "\u2028",
        "\r",
        "\t",
        " " * 50,
        "NaN",
        "-1",
        "99999999999999999999",
    ),
    *("The plan is safe.\n", "so agent 1 waits: ", "cost 4\n", "Infinity", "null", "\\n", "\\u", "0" * 300),
]
BOARD_WORDS = vocabulary()
MOVES = [word for word in BOARD_WORDS if ">" in word]


def _list(draw):
    return draw.choice(JOINTS[: draw.choice([4, 4, 4, len(JOINTS)])]).join(
        draw.choices(WORDS[: draw.choice([5, 5, 5, 9, len(WORDS)])], k=draw.randrange(9))
    )


def _lines(draw, agents):
    label = draw.choice(
        ["Agent {}: ", "**Agent {}:** ", "agent_{} = ", "- Robot {}: ", "{}. ", "Agent {}'s plan: ", "Agent {}:\n"]
    )
    shown = list(range(draw.choice([0] * 9 + [1]), agents + draw.choice([0] * 8 + [-1, 1])))
    if draw.random() < 0.1:
        draw.shuffle(shown)
    return draw.choice(["\n", "\n", "\r\n", "; "]).join(label.format(agent) + _list(draw) for agent in shown)


def _json(draw, agents):
    words = WORDS[: draw.choice([7, 7, 9, len(WORDS)])]
    lists = [draw.choices(words, k=draw.randrange(5)) for _ in range(agents)]
    shapes = [
        lists,
        {str(agent): listed for agent, listed in enumerate(lists)},
        {f"Agent {agent}": ", ".join(listed) for agent, listed in enumerate(lists)},
        [{"agent": agent, "actions": listed} for agent, listed in enumerate(lists)],
        {"plans": lists, "cost": 4},
        {"0": [1, None, {}], "1": lists},
    ]
    return json.dumps(draw.choice(shapes), ensure_ascii=draw.random() < 0.5)


def _compact(draw, agents):
    if draw.random() < 0.3:
        return "".join(draw.choices(BOARD_WORDS, k=draw.randrange(40)))
    return "".join(draw.choices(MOVES, k=agents * draw.randrange(12) + draw.choice([0, 0, 0, 1])))


def _rubbish(draw, agents):
    return "".join(draw.choices([*PIECES, *WORDS, *JOINTS], k=draw.randrange(60)))


def _deep(draw, agents):
    return draw.choice(["[", "{", '{"0":', "<think>", "Agent 0:", "\n", "_", "```\n"]) * draw.randrange(1, 3000)


KINDS = {"lines": _lines, "json": _json, "compact": _compact, "rubbish": _rubbish, "deep": _deep}
_OFTEN = (8, 4, 4, 4, 1)


def invented(draw):
    """The kind of an answer, the answer, the board's agents, the style and whether thinking was asked for."""
    agents, kind = draw.randrange(1, 6), draw.choices(list(KINDS), _OFTEN)[0]
    text = KINDS[kind](draw, agents)
    for _ in range(draw.choice([0, 0, 0, 0, 1, 1, 2, 6])):
        at = draw.randrange(len(text) + 1)
        how = draw.randrange(5)
        if how == 0:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif how == 1:
            text = text[:at] + text[at + draw.randrange(1, 6) :]
        elif how == 2:
            text = text[:at]
        elif how == 3:
            text = text[:at] + KINDS[draw.choice(list(KINDS)[:4])](draw, agents) + text[at:]
        else:
            text = f"<think>{text[:at]}</think>{text[at:]}"
    own = "compact" if kind == "compact" else "full"
    style = own if draw.random() < 0.85 else draw.choice(STYLES)
    return kind, text, agents, style, draw.random() < 0.1


def read(text, agents, style, thinking):
    """What the reader makes of an answer, held against what it promises of every one."""
    answer = parse_answer(text, agents, style=style, thinking=thinking)
    assert (answer.actions is None) == (answer.error is not None) == (answer.outcome != Label.READ)
    if answer.actions is None:
        assert answer.outcome in (Label.TRUNCATED, Label.PARSE_ERROR, Label.AGENT_MISMATCH) and answer.error.strip()
        assert len(answer.error) < 300
    else:
        assert len(answer.actions) == agents
        assert all(0 <= action <= 4 for listed in answer.actions for action in listed)
        # What was read does not depend on how the answer comes.
        message = [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]
        assert parse_answer(message, agents, style=style, thinking=thinking) == answer
    return answer


def counted(seed, count):
    """How often what became of which kind; an exception is the caller's to see, with its answer."""
    draw, outcomes = random.Random(seed), {}
    for _ in range(count):
        kind, *asked = invented(draw)
        label = read(*asked).outcome.name.lower()
        outcomes.setdefault(kind, {}).setdefault(label, 0)
        outcomes[kind][label] += 1
    return outcomes
