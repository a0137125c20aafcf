"""What is drawn, before any solver sees it: against a plain Python flood fill and exact counts."""

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


def test_crossings_meet_in_one_cell_at_one_time_and_are_equally_likely():
    boards, placed = drawn(4, 0, 2, rare=True, count=32768)
    even = np.flatnonzero(placed)[np.flatnonzero(placed) % 2 == 0]
    seen = {}
    for b in even.tolist():
        (a, c), (d, e) = boards.starts[b, :2].tolist(), boards.goals[b, :2].tolist()
        ways = [(a, d), (c, e)]
        level = [start[0] == goal[0] for start, goal in ways]
        assert sorted(level) == [False, True]
        row = ways[level.index(True)][0][0]
        col = ways[level.index(False)][0][1]
        times = []
        for start, goal in ways:
            times.append(abs(start[0] - row) + abs(start[1] - col))
            beyond = abs(goal[0] - row) + abs(goal[1] - col)
            assert times[-1] + beyond == abs(start[0] - goal[0]) + abs(start[1] - goal[1])
        assert times[0] == times[1] >= 1
        way = str(ways)
        seen[way] = seen.get(way, 0) + 1
    # 4x4: m = 3, 2, 1 for times 1, 2, 3; per line m (m + 1) / 2 places; 8 senses and orders; both stopping there left out.
    crossings = 8 * sum((m * (m + 1) // 2) ** 2 - m * m for m in (3, 2, 1))
    assert len(seen) == crossings
    counts = np.array(list(seen.values()))
    mean = counts.mean()
    assert ((counts - mean) ** 2 / mean).sum() < crossings + 5 * np.sqrt(2 * crossings)


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
    with jax.debug_key_reuse(True):
        drawn(5, 4, 2, count=32, chunk=32)
