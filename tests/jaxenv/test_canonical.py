"""Identity of boards, against a plain Python oracle that follows the written definition."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxenv.canonical import SPLITS, board_hash, canonical_hash, encode, in_split, split_of
from jaxenv.errors import JaxenvError
from jaxenv.types import Instances

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def make(size, holes, starts, goals, max_size=10, max_agents=5):
    """One board from sets of cells."""
    grid = np.ones((1, max_size, max_size), bool)
    grid[0, :size, :size] = False
    for row, col in holes:
        grid[0, row, col] = True
    ends = np.full((2, 1, max_agents, 2), max_size, np.int32)
    ends[0, 0, : len(starts)], ends[1, 0, : len(goals)] = starts, goals
    return Instances(np.array([size], np.int32), np.array([len(starts)], np.int32), grid, ends[0], ends[1])


def turned(cell, size, symmetry):
    row, col = cell
    for _ in range(symmetry % 4):
        row, col = col, size - 1 - row
    return (row, size - 1 - col) if symmetry >= 4 else (row, col)


def oracle_words(size, holes, starts, goals):
    """The words of one board, agents sorted, in plain Python."""
    cells = sum(1 << (row * size + col) for row, col in holes)
    words = [size + 256 * len(starts)]
    words += [(cells >> (64 * k)) & MASK for k in range((size * size + 63) // 64)]
    number = [row * size + col for row, col in [*starts, *goals]]
    return words + sorted(s + 65536 * g for s, g in zip(number[: len(starts)], number[len(starts) :], strict=True))


def oracle_hash(words):
    state = GOLDEN
    for word in words:
        x = state ^ word
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        state = ((x ^ (x >> 31)) + GOLDEN) & MASK
    return state


@st.composite
def boards(draw):
    size = draw(st.integers(3, 10))
    cells = [(row, col) for row in range(size) for col in range(size)]
    agents = draw(st.integers(1, 5))
    picked = st.lists(st.sampled_from(cells), min_size=agents, max_size=agents, unique=True)
    starts, goals = draw(picked), draw(picked)
    holes = draw(st.sets(st.sampled_from(cells), max_size=size)) - set(starts) - set(goals)
    return size, holes, starts, goals


@settings(max_examples=60, deadline=None)
@given(boards())
def test_both_hashes_are_those_of_the_written_definition(board):
    size, holes, starts, goals = board
    forms = [
        oracle_words(size, *([turned(cell, size, k) for cell in cells] for cells in (holes, starts, goals)))
        for k in range(8)
    ]
    assert board_hash(make(*board)).tolist() == [oracle_hash(forms[0])]
    assert canonical_hash(make(*board)).tolist() == [oracle_hash(min(forms))]


@settings(max_examples=40, deadline=None)
@given(boards(), st.integers(0, 7), st.randoms(use_true_random=False))
def test_a_symmetric_copy_with_other_order_of_agents_stays_in_its_split(board, symmetry, random):
    size, holes, starts, goals = board
    order = list(range(len(starts)))
    random.shuffle(order)
    copy = make(
        size,
        [turned(cell, size, symmetry) for cell in holes],
        [turned(starts[k], size, symmetry) for k in order],
        [turned(goals[k], size, symmetry) for k in order],
    )
    assert canonical_hash(copy) == canonical_hash(make(*board))
    assert split_of(copy) == split_of(make(*board))


def test_the_board_hash_keeps_symmetric_copies_apart_and_joins_orders_of_agents():
    starts, goals = [(0, 0), (0, 1), (2, 2)], [(1, 1), (2, 0), (0, 2)]
    same = {
        int(board_hash(make(3, [(1, 0)], [starts[k] for k in order], [goals[k] for k in order]))[0])
        for order in permutations(range(3))
    }
    assert len(same) == 1
    flipped = make(3, [turned((1, 0), 3, 4)], [turned(c, 3, 4) for c in starts], [turned(c, 3, 4) for c in goals])
    assert int(board_hash(flipped)[0]) not in same


def test_a_swap_of_two_agents_goals_is_another_board():
    one, other = make(3, [], [(0, 0), (0, 2)], [(2, 0), (2, 2)]), make(3, [], [(0, 0), (0, 2)], [(2, 2), (2, 0)])
    assert canonical_hash(one) != canonical_hash(other)


def test_hashes_do_not_see_padding():
    board = (4, [(1, 1)], [(0, 0), (3, 3)], [(3, 0), (0, 3)])
    small, large = make(*board, max_size=4, max_agents=2), make(*board)
    assert canonical_hash(small) == canonical_hash(large)
    assert np.array_equal(encode(small), encode(large))


def test_hashes_are_stable_between_versions():
    # Stored sets and splits rely on these numbers; they must never change.
    board = make(10, [(0, 9), (5, 5)], [(0, 0), (9, 9)], [(9, 0), (0, 1)])
    assert board_hash(board).tolist() == [7590809337455473315]
    assert canonical_hash(board).tolist() == [16346016521031208961]


def test_the_splits_cover_all_buckets_once():
    hashes = np.arange(1000, dtype=np.uint64)
    shares = {split: in_split(hashes, split) for split in SPLITS}
    assert sum(shares.values()).tolist() == [1] * 1000
    assert {split: int(found.sum()) for split, found in shares.items()} == {
        "evaluation": 100,
        "validation": 100,
        "train": 800,
    }
    assert shares["evaluation"][:10].all() and shares["validation"][10:20].all()


def test_an_unknown_split_is_refused_with_the_names_there_are():
    with pytest.raises(JaxenvError, match="evaluation, validation, train"):
        in_split(np.zeros(1, np.uint64), "test")
