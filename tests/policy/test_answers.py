"""Answers as models write them: read when there is one way to read them, refused with a reason otherwise."""

import random

import pytest

from jaxenv.types import Action, Label
from policy import fulltext
from policy.answers import parse_answer
from policy.errors import StyleError

W, U, D, L, R = Action
TWO = [[R, D], [L, W]]
ASKED = "Agent 0: RIGHT, DOWN\nAgent 1: LEFT, WAIT"

READ = {
    "as asked": (ASKED, TWO),
    "lower case": (ASKED.lower(), TWO),
    "mixed case": ("agent 0: Right, Down\nAGENT 1: Left, Wait", TWO),
    "windows line ends": (ASKED.replace("\n", "\r\n"), TWO),
    "blank lines and trailing blanks": ("\n\nAgent 0: RIGHT, DOWN  \n\nAgent 1: LEFT, WAIT\n\n", TWO),
    "agents in another order": ("Agent 1: LEFT, WAIT\nAgent 0: RIGHT, DOWN", TWO),
    "spaces between": ("Agent 0: RIGHT DOWN\nAgent 1: LEFT WAIT", TWO),
    "semicolons": ("Agent 0: RIGHT; DOWN\nAgent 1: LEFT; WAIT", TWO),
    "ascii arrows between": ("Agent 0: RIGHT -> DOWN\nAgent 1: LEFT -> WAIT", TWO),
    "dashes between": ("Agent 0: RIGHT - DOWN\nAgent 1: LEFT - WAIT", TWO),
    "trailing comma and full stop": ("Agent 0: RIGHT, DOWN,\nAgent 1: LEFT, WAIT.", TWO),
    "letters": ("Agent 0: R, D\nAgent 1: L, W", TWO),
    "packed letters": ("Agent 0: RD\nAgent 1: lw", TWO),
    "words and letters": ("Agent 0: RIGHT, D\nAgent 1: LEFT, W", TWO),
    "arrows": ("Agent 0: → ↓\nAgent 1: ← WAIT", TWO),
    "packed arrows": ("Agent 0: →↓\nAgent 1: ←,W", TWO),
    "emoji arrows": ("Agent 0: ➡️⬇️\nAgent 1: ⬅️ WAIT", TWO),
    "keyboard arrows": ("Agent 0: > v\nAgent 1: < wait", TWO),
    "stay for wait": ("Agent 0: RIGHT, DOWN\nAgent 1: LEFT, STAY", TWO),
    "no-op for wait": ("Agent 0: RIGHT, DOWN\nAgent 1: LEFT, no-op", TWO),
    "brackets": ("Agent 0: [RIGHT, DOWN]\nAgent 1: [LEFT, WAIT]", TWO),
    "quoted words": ("Agent 0: ['RIGHT', 'DOWN']\nAgent 1: [\"LEFT\", \"WAIT\"]", TWO),
    "bold labels": ("**Agent 0:** RIGHT, DOWN\n**Agent 1**: LEFT, WAIT", TWO),
    "bulleted labels": ("- Agent 0: RIGHT, DOWN\n- Agent 1: LEFT, WAIT", TWO),
    "underscored labels": ("agent_0: RIGHT, DOWN\nagent_1: LEFT, WAIT", TWO),
    "labels with a hash": ("Agent #0: RIGHT, DOWN\nAgent #1: LEFT, WAIT", TWO),
    "equals sign": ("agent0 = RIGHT, DOWN\nagent1 = LEFT, WAIT", TWO),
    "possessive labels": ("Agent 0's plan: RIGHT, DOWN\nAgent 1's actions: LEFT, WAIT", TWO),
    "robots": ("Robot 0: RIGHT, DOWN\nRobot 1: LEFT, WAIT", TWO),
    "both on one line": ("Agent 0: RIGHT, DOWN; Agent 1: LEFT, WAIT", TWO),
    "list below its label": ("Agent 0:\nRIGHT, DOWN\nAgent 1:\nLEFT, WAIT", TWO),
    "bullets below the label": ("Agent 0:\n- RIGHT\n- DOWN\n\nAgent 1:\n1. LEFT\n2. WAIT", TWO),
    "list wrapped at a comma": ("Agent 0: RIGHT,\n  DOWN\nAgent 1: LEFT,\n  WAIT", TWO),
    "first agent empty": ("Agent 0:\nAgent 1: LEFT, WAIT", [[], [L, W]]),
    "last agent empty": ("Agent 0: RIGHT, DOWN\nAgent 1:", [[R, D], []]),
    "empty brackets": ("Agent 0: []\nAgent 1: LEFT, WAIT", [[], [L, W]]),
    "none for empty": ("Agent 0: none\nAgent 1: (no actions)", [[], []]),
    "prose before": ("I move agent 0 around the hole first.\n\n" + ASKED, TWO),
    "prose after": (ASKED + "\n\nThe sum of costs is 4, and no agents collide.", TWO),
    "prose about an agent": ("Agent 0: starts at (0, 0).\n" + ASKED, TWO),
    "heading with facts about an agent": ("**Agent 0:**\n- from (0, 0) to (1, 1)\n\n" + ASKED, TWO),
    "fence": (f"```\n{ASKED}\n```", TWO),
    "fence with a language": (f"Here it is:\n```text\n{ASKED}\n```\nDone.", TWO),
    "fence after a draft": (f"Agent 0: DOWN, RIGHT\nThis hits a hole, so:\n```\n{ASKED}\n```", TWO),
    "answer tag": (f"Agent 0: UP, UP\n<answer>\n{ASKED}\n</answer>", TWO),
    "final answer after a draft": (f"Agent 0: UP, UP\nAgent 1: UP, UP\n\n**Final answer:**\n{ASKED}", TWO),
    "answer heading": (f"Agent 0: UP, UP\n### Answer\n{ASKED}", TWO),
    "the whole answer twice": (f"{ASKED}\n\nSo:\n{ASKED}", TWO),
    "boxed": ("\\boxed{Agent 0: RIGHT, DOWN}\n\\boxed{Agent 1: LEFT, WAIT}", TWO),
    "json object": ('{"Agent 0": ["RIGHT", "DOWN"], "Agent 1": ["LEFT", "WAIT"]}', TWO),
    "json object of texts": ('{"agent_0": "RIGHT, DOWN", "agent_1": "LEFT, WAIT"}', TWO),
    "json by number": ('{"0": ["R", "D"], "1": ["L", "W"]}', TWO),
    "json list of lists": ('[["RIGHT", "DOWN"], ["LEFT", "WAIT"]]', TWO),
    "json list of objects": (
        '[{"agent": 1, "actions": ["LEFT", "WAIT"]}, {"agent": 0, "actions": ["RIGHT", "DOWN"]}]',
        TWO,
    ),
    "json below a key": ('{"plans": {"0": ["RIGHT", "DOWN"], "1": ["LEFT", "WAIT"]}, "cost": 4}', TWO),
    "json in a fence": ('```json\n{"0": "RD", "1": "LW"}\n```', TWO),
    "json in prose": ('The plan is {"0": "RD", "1": "LW"}, and it is short.', TWO),
    "json with an empty plan": ('{"0": [], "1": ["LEFT"]}', [[], [L]]),
    "broken json line by line": ("{'Agent 0': ['RIGHT', 'DOWN'],\n 'Agent 1': ['LEFT', 'WAIT'],}", TWO),
    "think block": (f"<think>Agent 0: UP</think>\n{ASKED}", TWO),
    "two think blocks": (f"<think>a</think>Agent 0: UP\n<think>b</think>{ASKED}", TWO),
    "prefilled think tag": (f"maybe Agent 0: UP\n</think>\n{ASKED}", TWO),
}

REFUSED = {
    "empty": ("", "no line names an agent"),
    "prose only": ("There is no solution that I can see.", "no line names an agent"),
    "unknown action": ("Agent 0: RIGHT, JUMP\nAgent 1: LEFT", "agent 0: 'JUMP' is no action"),
    "compass": ("Agent 0: NORTH\nAgent 1: LEFT", "agent 0: 'NORTH' is no action"),
    "compass letters": ("Agent 0: E, S\nAgent 1: W", "agent 0: 'E' is no action"),
    "counts": ("Agent 0: RIGHT x3\nAgent 1: LEFT", "'x3' is no action"),
    "reason behind a list": ("Agent 0: RIGHT (cost 1)\nAgent 1: LEFT", "no action"),
    "coordinates": ("Agent 0: (0,0), (0,1)\nAgent 1: LEFT", "no action"),
    "word arrows": ("Agent 0: RIGHT → DOWN\nAgent 1: LEFT", "separator or an action"),
    "two different plans": ("Agent 0: UP\n" + ASKED, "agent 0 is given more than one plan"),
    "step by step": ("Step 1: Agent 0: RIGHT, Agent 1: LEFT\nStep 2: Agent 0: RIGHT, Agent 1: LEFT", "step by step"),
    "numbered steps": ("1. Agent 0: RIGHT, Agent 1: LEFT\n2. Agent 0: RIGHT, Agent 1: LEFT", "more than one plan"),
    "stray list": ("Agent 0: RIGHT\nDOWN, DOWN\nAgent 1: LEFT", "belong to no agent"),
    "lists without labels": ("RIGHT, DOWN\nLEFT, WAIT", "belong to no agent"),
    "one line for both": (ASKED + "\nAgents 0 and 1: WAIT", "several agents"),
    "json numbers": ('{"0": [4, 2], "1": [3, 0]}', "numbers have no agreed meaning"),
    "json key twice": ('{"0": ["RIGHT"], "0": ["LEFT"], "1": ["UP"]}', "same key twice"),
    "json keys of one agent": ('{"0": ["RIGHT"], "agent 0": ["LEFT"]}', "name the same agent"),
    "json agent twice": ('[{"agent": 0, "actions": "R"}, {"agent": 0, "actions": "L"}]', "more than one plan"),
    "two json plans": ('{"0": "RD", "1": "LW"} or {"0": "DR", "1": "LW"}', "more than one set of plans"),
    "json and lines": ('{"0": "RD", "1": "LW"}\n' + ASKED, "more than one set of plans"),
    "json unknown action": ('{"0": ["FLY"], "1": []}', "'FLY' is no action"),
}

MISMATCHED = {
    "one missing": ("Agent 0: RIGHT", "agent 1 has no plan"),
    "one too many": (ASKED + "\nAgent 2: UP", "agent 2 does not exist"),
    "counted from one": ("Agent 1: RIGHT\nAgent 2: LEFT", "agent 2 does not exist"),
    "json one missing": ('{"agent 1": ["LEFT"]}', "agent 0 has no plan"),
}


@pytest.mark.parametrize("name", READ)
def test_a_usual_variation_is_read(name):
    text, plans = READ[name]
    answer = parse_answer(text, 2)
    assert (answer.actions, answer.error, answer.outcome) == (plans, None, Label.READ)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_ambiguous_or_unknown_is_refused_with_the_reason(name):
    text, reason = REFUSED[name]
    answer = parse_answer(text, 2)
    assert answer.actions is None and answer.outcome == Label.PARSE_ERROR
    assert answer.error is not None and reason in answer.error


@pytest.mark.parametrize("name", MISMATCHED)
def test_other_agents_than_the_board_has_are_a_label_of_their_own(name):
    text, reason = MISMATCHED[name]
    answer = parse_answer(text, 2)
    assert answer.actions is None and answer.outcome == Label.AGENT_MISMATCH
    assert answer.error is not None and reason in answer.error


@pytest.mark.parametrize(
    ("text", "thinking"),
    [
        (f"<think>{ASKED}", False),
        (f"<think>a</think><think>{ASKED}", False),
        (f"let me see {ASKED}", True),
        ([{"role": "assistant", "content": None, "reasoning_content": ASKED}], False),
    ],
)
def test_a_think_block_that_is_never_closed_is_truncated(text, thinking):
    answer = parse_answer(text, 2, thinking=thinking)
    assert answer.actions is None and answer.outcome == Label.TRUNCATED


def test_a_prefilled_think_tag_never_reaches_the_reader():
    # huggingface/trl/issues/6966: the template opens the block, so that the answer holds the closing tag alone.
    answer = parse_answer(f"Agent 0: UP\nAgent 1: UP\n</think>\n\n{ASKED}", 2, thinking=True)
    assert answer.actions == TWO


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": ASKED},
        {"role": "assistant", "content": [{"type": "text", "text": ASKED}]},
        [{"role": "user", "content": "Agent 0: UP"}, {"role": "assistant", "content": ASKED}],
        [{"role": "assistant", "content": "Agent 0: UP"}, {"role": "assistant", "content": ASKED}],
        [{"role": "assistant", "content": ASKED, "reasoning_content": "Agent 0: UP"}],
        [{"role": "assistant", "content": f"<think>x</think>{ASKED}"}],
    ],
)
def test_messages_and_separate_reasoning_are_read_like_text(message):
    assert parse_answer(message, 2).actions == TWO


def test_separate_reasoning_needs_no_tags_even_when_thinking_was_asked_for():
    message = {"role": "assistant", "content": ASKED, "reasoning_content": "x"}
    assert parse_answer(message, 2, thinking=True).actions == TWO


def test_a_conversation_without_the_assistant_is_refused():
    answer = parse_answer([{"role": "user", "content": ASKED}], 2)
    assert answer.outcome == Label.PARSE_ERROR


def test_an_unknown_style_is_refused():
    with pytest.raises(StyleError, match="full, compact"):
        parse_answer(ASKED, 2, style="short")


@pytest.mark.parametrize("style", ["full", "compact"])
def test_garbled_answers_are_read_or_refused_and_never_raise(style):
    generator = random.Random(5)
    pieces = [
        *ASKED.split(),
        *READ["json below a key"][0].split(),
        "\n",
        "Agent",
        "0",
        "1",
        ":",
        ",",
        "[",
        "]",
        "{",
        "}",
        '"',
    ]
    pieces += [
        "```\n",
        "<think>",
        "</think>",
        "→",
        "v",
        "x",
        "\u0130",
        "\udc80",
        "٣",
        "\x00",
        "Final answer:",
        "D>r1c0",
        "W",
    ]
    for _ in range(4000):
        text = generator.choice(["", " "]).join(generator.choices(pieces, k=generator.randrange(40)))
        answer = parse_answer(text, 2, style=style, thinking=generator.random() < 0.2)
        assert (answer.actions is None) == (answer.error is not None) == (answer.outcome != Label.READ)


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "{" * 50_000, '{"a":' * 20_000, "\n" * 50_000, "Agent 0:" * 8_000, " " * 50_000, "_" * 50_000],
)
def test_a_long_useless_answer_is_refused(text):
    assert parse_answer(text, 2).actions is None


def test_an_answer_in_the_very_form_asked_for_is_read_as_the_reader_of_all_forms_reads_it():
    source = random.Random(2)
    pieces = [
        " ",
        ", ",
        ",",
        "\n",
        "\r",
        "\u2028",
        "Agent 1:",
        "Agent 2:",
        "agent",
        "UP",
        "wait",
        "NO-OP",
        "none",
        "R",
        "→",
        "-",
        ".",
    ]
    asked = 0
    for _ in range(20_000):
        agents = source.randint(1, 3)
        lists = [[source.choice(list(Action)).name for _ in range(source.randint(0, 3))] for _ in range(agents)]
        text = "\n".join(f"Agent {agent}: {', '.join(words)}" for agent, words in enumerate(lists))
        for _ in range(source.randint(0, 3)):
            at, past = sorted(source.choices(range(len(text) + 1), k=2))
            text = text[:at] + source.choice(pieces) + text[source.choice([at, at, min(past, at + 3)]) :]
        quick = fulltext._as_asked(text, agents)
        if quick is not None:
            asked += 1
            assert quick == fulltext._freely(fulltext._answer_part(text), agents), repr(text)
    assert asked > 4_000
