"""Boards and plans as text: golden messages, and answers that the reader reads back."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

import jaxenv
from jaxenv.types import Action, Instances, Plans
from policy.answers import parse_answer
from policy.errors import StyleError
from policy.prompts import canonical_answer, render, through_template
from policy.samplers import resolve_model

GOLDEN = Path(__file__).parent / "golden"
STYLES = ("full", "compact")


@pytest.fixture(scope="module")
def boards():
    return jaxenv.make_instances(
        [
            ["..H", "...", "..."],
            ["....", ".H..", "..H.", "...."],
            ["..."] * 3,
            ["H....", ".....", "..H..", ".....", "....H"],
            ["." * 10] * 9 + ["." * 9 + "H"],
        ],
        starts=[
            [(0, 0), (2, 2)],
            [(0, 0), (3, 3), (0, 3)],
            [(0, 0), (1, 1)],
            [(0, 1), (1, 0), (4, 3), (3, 4)],
            [(0, 0), (0, 9), (9, 0), (8, 9), (5, 5)],
        ],
        goals=[
            [(2, 2), (0, 0)],
            [(3, 0), (0, 0), (3, 3)],
            [(0, 1), (2, 2)],
            [(4, 3), (3, 4), (0, 1), (1, 0)],
            [(8, 9), (9, 0), (0, 9), (0, 0), (4, 5)],
        ],
    )


@pytest.mark.parametrize("style", STYLES)
def test_the_message_of_each_style_is_the_golden_text(boards, style):
    golden = (GOLDEN / f"{style}.txt").read_text()
    assert "\n=====\n".join(render(boards, style)) + "\n" == golden


def test_the_message_names_the_objective(boards):
    assert "the sum of the agents' costs" in render(boards, "full")[0]
    assert "the largest of the agents' costs" in render(boards, "full", objective="makespan")[0]


def test_the_message_does_not_depend_on_the_padding_or_on_the_other_boards(boards):
    alone = jaxenv.make_instances([["..."] * 3], starts=[[(0, 0), (1, 1)]], goals=[[(0, 1), (2, 2)]])
    for style in STYLES:
        assert render(alone, style) == render(boards, style)[2:3]


# ChatML as Qwen3 has it: thinking is the model's own, and an empty block in the prompt keeps it from that.
QWEN3 = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{% endif %}"
)
# And one that opens the block itself (huggingface/trl/issues/6966).
PREFILLED = QWEN3.partition("{% if enable_thinking")[0] + "{{ '<think>\n' }}{% endif %}"


@pytest.fixture
def tokenizer():
    return AutoTokenizer.from_pretrained(resolve_model("starter"))


def test_through_the_template_each_style_is_the_golden_text_with_and_without_thinking(boards, tokenizer):
    shown = []
    for style, name, template in (
        ("compact", "the starter's", tokenizer.chat_template),
        ("full", "ChatML that can be told not to think", QWEN3),
        ("full", "ChatML that opens the think block", PREFILLED),
    ):
        tokenizer.chat_template = template
        for thinking in (False, True):
            (text,) = through_template(tokenizer, render(boards, style)[:1], thinking=thinking)
            shown.append(f"##### {style}, {name}, thinking {thinking}\n{text}#####\n")
    assert "".join(shown) == (GOLDEN / "chat.txt").read_text()


def test_an_exchange_goes_through_the_template_message_by_message(tokenizer):
    exchange = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert through_template(tokenizer, [exchange, "a"], thinking=False) == [
        "<|user|>a<|assistant|>b<|end|><|user|>c<|assistant|>",
        "<|user|>a<|assistant|>",
    ]


def plans_of(lists):
    """A batch of one plan as plain arrays, without the constructor under test elsewhere."""
    actions = np.zeros((1, 5, 32), np.int8)
    lengths = np.zeros((1, 5), np.int32)
    for agent, listed in enumerate(lists):
        actions[0, agent, : len(listed)] = listed
        lengths[0, agent] = len(listed)
    return Plans(actions=actions, lengths=lengths, outcome=np.zeros(1, np.int32))


def board_of(num_agents):
    """One board with agents in the first column; plans need not be legal to be written down."""
    cells = np.full((1, 5, 2), 10, np.int32)
    cells[0, :num_agents] = [(row, 0) for row in range(num_agents)]
    holes = np.ones((1, 10, 10), bool)
    holes[0, :5, :5] = False
    return Instances(size=np.array([5]), num_agents=np.array([num_agents]), holes=holes, starts=cells, goals=cells)


def test_the_canonical_answers_are_the_golden_ones():
    plans = plans_of([[Action.RIGHT, Action.DOWN], []])
    assert canonical_answer(plans, board_of(2), "full") == ["Agent 0: RIGHT, DOWN\nAgent 1:"]
    assert canonical_answer(plans, board_of(2), "compact") == [" R>r0c1 W>r1c0 D>r1c1 W>r1c0"]


def unpadded(listed):
    """A list without the waits at its end: they mean the same, and the compact style writes them."""
    end = len(listed)
    while end and listed[end - 1] == Action.WAIT:
        end -= 1
    return listed[:end]


@given(st.lists(st.lists(st.sampled_from(list(Action)), max_size=32), min_size=2, max_size=5))
def test_every_canonical_answer_is_read_back_as_the_plan(lists):
    plans = plans_of(lists)
    full = parse_answer(canonical_answer(plans, board_of(len(lists)), "full")[0], len(lists), style="full")
    assert full.actions == lists
    compact = parse_answer(canonical_answer(plans, board_of(len(lists)), "compact")[0], len(lists), style="compact")
    assert compact.actions is not None
    assert list(map(unpadded, compact.actions)) == list(map(unpadded, lists))


@pytest.mark.parametrize(
    "call", [lambda boards: render(boards, "long"), lambda _: canonical_answer(plans_of([]), board_of(2), "")]
)
def test_an_unknown_style_is_refused(boards, call):
    with pytest.raises(StyleError, match="full, compact"):
        call(boards)
