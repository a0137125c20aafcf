"""What is drawn, before any solver sees it: against a plain Python flood fill and exact counts."""

from collections import Counter
from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxenv.candidates import CHUNK, draw

KEY = 7


def drawn(size, holes, agents, *, first=0, count=CHUNK, chunk=CHUNK, rare=False, more=0.0, seed=KEY):
    """`count` candidates from `first` on, `chunk` at a time."""
    pieces = [
        draw(
            jax.random.key(seed),
            jnp.uint32(at),
            jnp.int32(size),
            jnp.int32(holes),
            jnp.uint32(int(more * 2**32)),
            jnp.int32(agents),
            jnp.bool_(rare),
            chunk=chunk,
            max_size=10,
            max_agents=5,
        )
        for at in range(first, first + count, chunk)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *pieces)


def component(holes, cell):
    """Cells reachable from one, by plain search."""
    found, todo = {cell}, [cell]
    while todo:
        row, col = todo.pop()
        for near in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
            if min(near) >= 0 and max(near) < len(holes) and not holes[near] and near not in found:
                found.add(near)
                todo.append(near)
    return found


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize(("size", "holes", "agents"), [(3, 2, 2), (5, 12, 3), (7, 20, 4), (10, 50, 5), (10, 0, 5)])
def test_every_placed_board_keeps_the_rules_of_placing(size, holes, agents, rare):
    boards, placed = drawn(size, holes, agents, rare=rare)
    assert placed.mean() > 0.02
    outside = 100 - size * size
    assert (boards.holes.sum((1, 2)) == holes + outside).all()
    assert boards.holes[:, size:].all() and boards.holes[:, :, size:].all()
    for b in np.flatnonzero(placed)[:200]:
        starts = [tuple(cell) for cell in boards.starts[b, :agents].tolist()]
        goals = [tuple(cell) for cell in boards.goals[b, :agents].tolist()]
        assert len(set(starts)) == len(set(goals)) == agents
        for start, goal in zip(starts, goals, strict=True):
            assert not boards.holes[b][start] and start != goal
            assert goal in component(boards.holes[b], start)
    assert (boards.starts[placed][:, agents:] == 10).all() and (boards.goals[placed][:, agents:] == 10).all()


def test_a_candidate_depends_on_its_index_alone():
    whole, placed = drawn(6, 7, 3)
    part, part_placed = drawn(6, 7, 3, first=300, count=100, chunk=50)
    assert np.array_equal(placed[300:400], part_placed)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        assert np.array_equal(one[300:400], other)
    assert not np.array_equal(whole.holes[:100], part.holes)


def test_holes_starts_and_goals_are_uniform_over_the_map():
    boards, placed = drawn(4, 4, 1, count=16384)
    inside = (slice(None), slice(0, 4), slice(0, 4))
    expected, n = 4 / 16, len(placed)
    spread = np.sqrt(expected * (1 - expected) / n)
    assert np.abs(boards.holes[inside].mean(0) - expected).max() < 5 * spread
    pairs = (boards.holes[:, 0, 0] & boards.holes[:, 3, 3]).mean()
    assert abs(pairs - 4 * 3 / (16 * 15)) < 5 * np.sqrt(0.05 * 0.95 / n)
    open_boards, _ = drawn(4, 0, 1, count=16384)
    for cells in (open_boards.starts[:, 0], open_boards.goals[:, 0]):
        counts = np.bincount(cells[:, 0] * 4 + cells[:, 1], minlength=16)
        assert np.abs(counts / n - 1 / 16).max() < 5 * np.sqrt(1 / 16 / n)


def test_the_number_of_holes_is_rounded_up_as_often_as_the_fraction_says():
    boards, _ = drawn(3, 1, 2, more=0.8, count=8192)
    holes = boards.holes.sum((1, 2)) - 91
    assert set(holes.tolist()) == {1, 2}
    assert abs((holes == 2).mean() - 0.8) < 5 * np.sqrt(0.16 / 8192)


def is_race(starts, goals):
    """By the definition: for some mirroring, starts on one diagonal, both ways down and right, sides changed."""
    for turn in product((1, -1), repeat=2):
        (s, t), (g, h) = ([(row * turn[0], col * turn[1]) for row, col in cells] for cells in (starts, goals))
        ways = all(end[k] >= start[k] for start, end in ((s, g), (t, h)) for k in (0, 1))
        before, after = (s[1] - s[0]) - (t[1] - t[0]), (g[1] - g[0]) - (h[1] - h[0])
        if ways and sum(s) == sum(t) and before * after <= 0:
            return True
    return False


def test_races_are_all_those_of_the_definition_and_equally_likely():
    cells = list(product(range(3), repeat=2))
    races = {
        (starts, goals)
        for starts, goals in product(permutations(cells, 2), repeat=2)
        if starts[0] != goals[0] and starts[1] != goals[1] and is_race(starts, goals)
    }
    boards, placed = drawn(3, 0, 2, rare=True, count=65536)
    seen = Counter()
    for b in np.flatnonzero(placed[::2]) * 2:
        starts, goals = (tuple(map(tuple, ends[b, :2].tolist())) for ends in (boards.starts, boards.goals))
        seen[starts, goals] += 1
    assert set(seen) == races
    mean = seen.total() / len(races)
    distance = sum((count - mean) ** 2 / mean for count in seen.values())
    assert abs(distance - len(races)) < 5 * np.sqrt(2 * len(races))


def test_company_starts_all_agents_in_one_component():
    boards, placed = drawn(6, 14, 4, rare=True)
    for b in np.flatnonzero(placed)[np.flatnonzero(placed) % 2 == 1][:200]:
        starts = [tuple(cell) for cell in boards.starts[b, :4].tolist()]
        assert set(starts) <= component(boards.holes[b], starts[0])


def test_sizes_holes_agents_and_proposals_share_one_trace():
    drawn(3, 1, 1)
    before = draw._cache_size()
    for size, holes, agents, rare in [(4, 2, 2, False), (10, 50, 5, True), (7, 0, 3, False)]:
        drawn(size, holes, agents, rare=rare, more=0.3, first=5)
    assert draw._cache_size() == before


def test_a_map_with_too_few_free_cells_places_nobody():
    # Five agents need five starts; four free cells of a 3x3 map do not hold them.
    _, placed = drawn(3, 5, 5)
    assert not placed.any()


def test_no_key_is_used_twice():
    # Known report xland-minigrid#42.
    with jax.debug_key_reuse(True):
        drawn(5, 4, 2, count=32, chunk=32)
