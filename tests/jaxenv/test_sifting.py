"""Compiled candidates against those drawn by JAX, and boards labelled without a search against the solver."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxenv.bitmap import beside, cell_of, count, holds, last_cell_of, member, only
from jaxenv.candidates import draw
from jaxenv.judging import UNHEARD_OF, Fate, Kind, choose, insert, look_up, new_table
from jaxenv.labelling import Labeller, Range
from jaxenv.multihost import Hosts
from jaxenv.propose import threefry
from jaxenv.quotas import Part
from jaxenv.sifting import Source, sift, sift_by_jax
from jaxenv.solve import solve
from jaxenv.types import Label, Limits, Plans, Status
from jaxenv.verify import verify

NONE = new_table(1)
LIMITS = Limits()
CASES = [
    # agents, size, hole ratio, rare
    (1, 3, "0.2", False),
    (2, 3, "0.5", True),
    (2, 10, "0", True),
    (2, 10, "0.237", False),
    (3, 6, "0.1", True),
    (4, 7, "0.35", False),
    (5, 5, "0.2", False),
    (5, 10, "0.5", True),
]


def source_of(agents, size, ratio, rare, limits=LIMITS):
    part = Part(agents, size, False, Fraction(ratio), 1)
    return Source.of(jax.random.key(agents), part, "train", limits, rare)


def blocks(agents, size, ratio, rare, count=1500, first=700, limits=LIMITS):
    source = source_of(agents, size, ratio, rare, limits)
    return sift(source, first, count, True, NONE), sift_by_jax(source, first, count, NONE, count, None)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # the known answers that come with Random123
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_random_words_are_those_of_the_published_cipher_whatever_a_release_of_jax_does(key, counter, expected):
    # Known report jax#13346: a release changed the default random bits.
    assert threefry(*map(np.uint32, (*key, *counter))) == expected


@pytest.mark.parametrize("case", CASES)
def test_compiled_code_draws_the_very_boards_that_jax_draws(case):
    fast, slow = blocks(*case)
    judged = np.where(fast.kind == Kind.NEEDS_NO_WAIT, Kind.OPEN, fast.kind)
    assert np.array_equal(judged, slow.kind) and (slow.kind == Kind.OPEN).sum() > 20
    assert np.array_equal(fast.hash, slow.hash) and np.array_equal(fast.row, slow.row)
    for one, other in zip(jax.tree.leaves(fast.boards), jax.tree.leaves(slow.boards), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


def test_smaller_limits_draw_other_words_in_both():
    fast, slow = blocks(2, 4, "0.2", False, limits=Limits(max_size=5, max_agents=2))
    assert np.array_equal(fast.boards.holes, slow.boards.holes) and np.array_equal(fast.hash, slow.hash)


@pytest.mark.parametrize("objective", ["sum_of_costs", "makespan"])
@pytest.mark.parametrize("case", CASES)
def test_a_board_found_easy_has_the_labels_of_the_solver_and_a_plan_that_verifies(case, objective):
    fast, _ = blocks(*case)
    labeller = Labeller(objective, "host", 64, Hosts.alone())
    [[made]] = labeller.label([Range(source_of(*case), 700, 1500, with_easy=True)], NONE)
    easy = fast.easy
    assert easy.sum() > 10 and np.array_equal(made.block.easy, easy)
    boards, ours = jax.tree.map(lambda leaf: leaf[easy], (made.block.boards, made.solutions))
    solved = solve(boards, engine="host", objective=objective)
    for name in ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound", "needs_wait", "interacts"):
        assert np.array_equal(getattr(solved, name), getattr(ours, name)), name
    verdicts = verify(
        boards, solved, Plans(*(jnp.asarray(leaf) for leaf in jax.tree.leaves(ours.plans))), objective=objective
    )
    assert (np.asarray(verdicts.label) == Label.OPTIMAL).all()


def test_most_open_boards_of_two_agents_that_need_no_wait_are_found_easy():
    fast, slow = blocks(2, 10, "0.1", False)
    solved = solve(slow.boards, engine="host")
    no_wait = (np.asarray(solved.status) == Status.OPTIMAL) & ~np.asarray(solved.needs_wait)
    found = (fast.kind == Kind.NEEDS_NO_WAIT).sum()
    assert 0.95 * no_wait.sum() < found <= no_wait.sum()


def test_what_the_set_tells_of_a_board_is_not_looked_for_again():
    source, table = source_of(2, 3, "0.2", False), new_table(2000)
    first = sift(source, 0, 500, True, table)
    boards = np.flatnonzero(first.hash != 0)
    waits = {int(value): k % 2 for k, value in enumerate(sorted(set(first.hash[boards])))}
    for value, needs_wait in waits.items():
        insert(table, np.uint64(value), needs_wait)
    expected = [Kind.NEEDS_WAIT if waits[int(value)] else Kind.NEEDS_NO_WAIT for value in first.hash[boards]]
    for again in (sift(source, 0, 500, True, table), sift_by_jax(source, 0, 500, table, 500, None)):
        assert again.kind[boards].tolist() == expected and len(again.boards) == 0


def test_easy_boards_are_kept_only_where_they_are_asked_for_and_their_kind_is_known_either_way():
    source = source_of(3, 6, "0.2", False)
    every, hard = (sift(source, 0, 500, with_easy, NONE) for with_easy in (True, False))
    assert np.array_equal(every.kind, hard.kind) and every.easy.sum() > 50 and not hard.easy.any()
    assert len(hard.boards) == (~every.easy).sum() == (hard.kind == Kind.OPEN).sum()
    assert np.array_equal(hard.boards.holes, every.boards.holes[~every.easy])


def test_rare_proposals_have_no_word_in_common_with_other_candidates():
    plain, rare = (source_of(3, 5, "0.2", rare) for rare in (False, True))
    assert plain.key.tolist() != rare.key.tolist()
    assert plain.key.tolist() == source_of(3, 5, "0.3", False).key.tolist()  # holes are no part of the key


def test_bit_maps_agree_with_sets_of_cells():
    rng = np.random.default_rng(0)
    for _ in range(100):
        cells = sorted(set((rng.integers(0, 10, 9) * 11 + rng.integers(0, 10, 9)).tolist()))
        low, high = np.uint64(0), np.uint64(0)
        for cell in cells:
            more_low, more_high = only(cell)
            low, high = np.uint64(low | more_low), np.uint64(high | more_high)
        assert count(low, high) == len(cells)
        assert [member(low, high, rank) for rank in range(len(cells))] == cells
        assert (cell_of(low, high), last_cell_of(low, high)) == (cells[0], cells[-1])
        assert [cell for cell in range(110) if holds(low, high, cell)] == cells
        near_low, near_high = (np.uint64(word) for word in beside(low, high))
        near = {cell + step for cell in cells for step in (-11, -1, 1, 11)}
        assert {cell for cell in range(121) if holds(near_low, near_high, cell)} == {c for c in near if c >= 0}


def test_the_table_of_boards_is_a_set():
    rng = np.random.default_rng(1)
    # Hashes that collide, with one of 0 among them.
    values = rng.integers(0, 60, 400).astype(np.uint64) << np.uint64(58)
    table, known = new_table(len(values)), {}
    for value, needs_wait in zip(values, rng.integers(0, 2, len(values)).tolist(), strict=True):
        assert look_up(table, value) == known.get(int(value), UNHEARD_OF)
        assert insert(table, value, needs_wait) == (int(value) not in known)
        known.setdefault(int(value), needs_wait)


@pytest.mark.parametrize("needs_wait", [False, True])
def test_choosing_takes_the_first_of_the_class_and_nothing_twice(needs_wait):
    own, other = (Kind.NEEDS_WAIT, Kind.NEEDS_NO_WAIT) if needs_wait else (Kind.NEEDS_NO_WAIT, Kind.NEEDS_WAIT)
    kind = np.array([own, other, own, Kind.UNPLACED, own, own, Kind.UNSOLVABLE], np.int8)
    hashes = np.array([20, 22, 20, 0, 24, 26, 28], np.uint64)
    table, fates, chosen = new_table(5), np.zeros(7, np.int8), np.zeros(3, np.int64)
    insert(table, np.uint64(22), not needs_wait)  # by the filler of the other class
    assert choose(kind, hashes, table, needs_wait, 2, fates, chosen) == (5, 2)
    assert chosen[:2].tolist() == [0, 4]
    assert fates[:5].tolist() == [Fate.TAKEN, Fate.OTHER_CLASS, Fate.DUPLICATE, Fate.UNPLACED, Fate.TAKEN]


def test_a_cell_in_a_hole_is_never_a_start_or_a_goal_though_few_are_free():
    # Known report Craftax_Baselines#11: a choice among too few allowed cells silently gave forbidden ones.
    numbers = (jnp.uint32(0), jnp.int32(3), jnp.int32(4), jnp.uint32(1 << 31), jnp.int32(5), jnp.bool_(False))
    boards, placed = draw(jax.random.key(1), *numbers, chunk=20000, max_size=10, max_agents=5)
    boards, placed = jax.tree.map(np.asarray, (boards, placed))
    assert 0 < placed.sum() < len(placed)
    rows = np.flatnonzero(placed)[:, None]
    for ends in (boards.starts, boards.goals):
        cells = ends[placed]
        assert not boards.holes[rows, cells[..., 0], cells[..., 1]].any()
