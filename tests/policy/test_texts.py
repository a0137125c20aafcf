"""Completions to verdicts: reader's labels first, the verifier's for the rest, and a stop when a label is wrong."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import jaxenv
from jaxenv.types import Label, Limits
from policy import texts
from policy.errors import PolicyError, SolverFaultError
from policy.prompts import canonical_answer
from policy.texts import read_texts, verify_texts


@pytest.fixture(scope="module")
def board():
    """Two agents cross a 3x3 map without holes: four steps each, and none needs to wait."""
    return jaxenv.make_instances([["..."] * 3], starts=[[(0, 0), (2, 2)]], goals=[[(2, 2), (0, 0)]])


@pytest.fixture(scope="module")
def solution(board):
    return jaxenv.solve(board)


def repeated(tree, count):
    return jax.tree.map(lambda field: np.repeat(np.asarray(field), count, axis=0), tree)


GOOD = "Agent 0: RIGHT, RIGHT, DOWN, DOWN\nAgent 1: LEFT, LEFT, UP, UP"
LONGER = "Agent 0: WAIT, RIGHT, RIGHT, DOWN, DOWN\nAgent 1: LEFT, LEFT, UP, UP"
CASES = [
    (GOOD, False, Label.OPTIMAL),
    (LONGER, False, Label.SUBOPTIMAL),
    ("Agent 0: UP\nAgent 1:", False, Label.OFF_MAP),
    ("Agent 0:\nAgent 1:", False, Label.GOAL_NOT_REACHED),
    ("Agent 0: RIGHT, DOWN\nAgent 1: LEFT, UP", False, Label.VERTEX_CONFLICT),
    ("Agent 0: RIGHT", False, Label.AGENT_MISMATCH),
    ("no idea", False, Label.PARSE_ERROR),
    (GOOD, True, Label.TRUNCATED),
    ("<think>" + GOOD, False, Label.TRUNCATED),
    (f"Agent 0:{' WAIT,' * 65}\nAgent 1:", False, Label.TOO_LONG),
    (f"Agent 0:{' WAIT,' * 64}\nAgent 1:", False, Label.GOAL_NOT_REACHED),
]


def test_every_completion_gets_its_label(board, solution):
    completions, truncated, labels = zip(*CASES, strict=True)
    count = len(CASES)
    verdicts = verify_texts(
        repeated(board, count), repeated(solution, count), completions, style="full", truncated=truncated
    )
    assert [Label(int(label)) for label in verdicts.label] == list(labels)
    assert np.asarray(verdicts.valid).tolist() == [label in (Label.OPTIMAL, Label.SUBOPTIMAL) for label in labels]
    assert float(verdicts.gap[0]) == 0 and float(verdicts.gap[1]) == pytest.approx(1 / 8)


@pytest.mark.parametrize("style", ["full", "compact"])
def test_the_solvers_own_plan_in_canonical_words_is_optimal(board, solution, style):
    answers = canonical_answer(solution.plans, board, style)
    verdicts = verify_texts(board, solution, answers, style=style, truncated=[False])
    assert int(verdicts.label[0]) == Label.OPTIMAL


def test_chat_messages_are_verified_like_text(board, solution):
    message = [{"role": "assistant", "content": GOOD}]
    verdicts = verify_texts(board, solution, [message], style="full", truncated=[False])
    assert bool(verdicts.optimal[0])


def test_batches_of_different_sizes_share_their_shapes(board, solution, monkeypatch):
    shapes = set()
    verify = jaxenv.verify

    def spy(boards, labels, plans, **options):
        shapes.add((boards.size.shape, plans.actions.shape))
        return verify(boards, labels, plans, **options)

    monkeypatch.setattr(texts.jaxenv, "verify", spy, raising=False)
    for count in (1, 3, 16):
        verdicts = verify_texts(
            repeated(board, count), repeated(solution, count), [GOOD] * count, style="full", truncated=[False] * count
        )
        assert len(verdicts) == count
    assert shapes == {((16,), (16, 5, 64))}


def test_a_valid_plan_below_the_label_stops_everything(board, solution):
    # A label of ten for a board that takes eight: the plan is right, so the label is wrong.
    wrong = replace(solution, sum_of_costs=np.asarray(solution.sum_of_costs) + 2)
    with pytest.raises(SolverFaultError, match=r"starts \[\[0, 0\], \[2, 2\]\]"):
        verify_texts(board, wrong, [GOOD], style="full", truncated=[False])


def test_columns_that_do_not_go_together_are_refused(board, solution):
    with pytest.raises(PolicyError, match="do not go together"):
        verify_texts(board, solution, [GOOD, GOOD], style="full", truncated=[False, False])
    with pytest.raises(PolicyError, match="no completions"):
        verify_texts(repeated(board, 0), repeated(solution, 0), [], style="full", truncated=[])


def test_the_width_of_the_plans_follows_the_limit_and_not_the_answers():
    plans = read_texts([GOOD], [2], style="full", truncated=[False], limits=Limits(horizon=100))
    assert plans.actions.shape == (1, 5, 128)
    assert plans.lengths.tolist() == [[4, 4, 0, 0, 0]]
