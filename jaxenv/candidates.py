"""Random boards to choose from, drawn by JAX: candidate i is a pure function of (key, index, class parameters).

One jitted function draws a chunk of candidates at the largest shape; size, holes and agents are traced, so neither a
new config nor another size compiles. Only integers are used: every backend draws the same boards. The batch is the last
axis and a map is a column of row bit masks, which keeps a flood fill to a few shifts. `jaxenv.propose` draws the same
boards by code compiled for the CPU.

Holes are a uniform subset of the map (selection sampling, cell by cell). Agents are placed one after another: a start
uniform among free cells that have a free neighbour, a goal uniform among the other cells of its component.

Two ways of proposing boards that need a wait are added for classes where they are rare (`rare`), on alternate indices:
- race (even): agents 0 and 1 start on one diagonal, go the same two ways across it and have to change sides. Step by
  step they are on one diagonal, so on an open map they meet in one cell, and one of them has to wait. All such races
  that fit the map are equally likely, as they are under plain drawing; on open maps with two agents more than nine in
  ten of the boards that need a wait are races, on 10x10 maps with a tenth of holes one in three.
- company (odd): all agents start in the component of agent 0, which is what counts where holes are many.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxenv.types import Instances

CHUNK = 2048  # candidates drawn at once; one compilation per number
DRAWS_BESIDE = 5  # words before those of the cells: the rounding of holes, then the four of a race


def _below(bits: jax.Array, n: jax.Array) -> jax.Array:
    """Uniform in 0 .. n - 1: the high word of bits x n, put together from 16-bit halves for want of 64-bit numbers."""
    n = n.astype(jnp.uint32)
    half = jnp.uint32(0xFFFF)
    low = (bits & half) * (n >> 16) + (((bits & half) * (n & half)) >> 16)  # below 2^32 for n < 2^31
    middle = (bits >> 16) * (n & half) + low
    carry = (middle < low).astype(jnp.uint32) << 16
    word: jax.Array = ((bits >> 16) * (n >> 16) + (middle >> 16) + carry).astype(jnp.int32)
    return word


def _fill_row(seed: jax.Array, free: jax.Array) -> jax.Array:
    """All runs of `free` bits that hold a bit of `seed`, for at most 16 columns."""
    filled = free & (~(free + seed) | seed)  # the carry runs from the lowest seed to the end of its run
    through = free
    for shift in (1, 2, 4, 8):
        filled |= through & (filled >> shift)
        through &= through >> shift
    return filled


def _component(seed: jax.Array, free: jax.Array) -> jax.Array:
    """All cells of `free` that `seed` reaches, u32[S, C]: sweeps down and up until nothing is added."""

    def step(above: jax.Array, rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        found, open_cells = rows
        found = _fill_row((found | above) & open_cells, open_cells)
        return found, found

    def grow(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        start = jnp.zeros_like(free[0])
        _, down = jax.lax.scan(step, start, (state[0], free))
        _, up = jax.lax.scan(step, start, (down, free), reverse=True)
        return up, jnp.any(up != state[0])

    return jax.lax.while_loop(lambda state: state[1], grow, (seed & free, jnp.bool_(True)))[0]


def _count(rows: jax.Array) -> jax.Array:
    return jax.lax.population_count(rows).sum(0).astype(jnp.int32)


def _member(rows: jax.Array, rank: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Row and column of the set cell number `rank` (from 0, row by row)."""
    height = rows.shape[0]
    per_row = jax.lax.population_count(rows).astype(jnp.int32)

    def find_row(r: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        row, before, seen = state
        here = (seen <= rank) & (rank < seen + per_row[r])
        return jnp.where(here, r, row), jnp.where(here, seen, before), seen + per_row[r]

    zero = jnp.zeros_like(rank)
    row, before, _ = jax.lax.fori_loop(0, height, find_row, (zero, zero, zero))
    line = jnp.take_along_axis(rows, row[None], 0)[0]

    def find_col(c: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        col, seen = state
        bit = ((line >> c.astype(jnp.uint32)) & 1).astype(jnp.int32)
        return jnp.where((bit == 1) & (seen == rank), c, col), seen + bit

    return row, jax.lax.fori_loop(0, height, find_col, (zero, before))[0]


def _mask(row: jax.Array, col: jax.Array, height: int) -> jax.Array:
    """Row masks of one cell; none is set for a cell past the end."""
    bit = jnp.where(col < height, jnp.uint32(1) << jnp.minimum(col, 31).astype(jnp.uint32), jnp.uint32(0))
    return jnp.where(jnp.arange(height)[:, None] == row, bit, jnp.uint32(0))


def _race(bits: jax.Array, size: jax.Array, longest: int) -> tuple[jax.Array, jax.Array]:
    """Starts and goals i32[2 agents, 2, C] of two agents in a race (see above); past the end where none crosses.

    Drawn for ways down and to the right, then mirrored. The pair of starts is drawn in proportion to the number of
    pairs of goals it has.
    """
    side = jnp.arange(longest)
    apart = jnp.concatenate([jnp.arange(1 - longest, 0), jnp.arange(1, longest)])
    row, col, k = (axis.reshape(-1) for axis in jnp.meshgrid(side, side, apart, indexing="ij"))
    pairs = jnp.stack([jnp.stack([row, col]), jnp.stack([row + k, col - k])])  # agent, row or col, pair of starts
    ahead = (size - pairs[:, 0]) * (size - pairs[:, 1]) - 1  # cells an agent may go to
    inside = jnp.all((pairs >= 0) & (pairs < size), axis=(0, 1))
    cumulative = jnp.cumsum(jnp.where(inside, ahead[0] * ahead[1], 0))
    pick = jnp.searchsorted(cumulative, _below(bits[0], cumulative[-1]), side="right")
    starts = pairs[:, :, pick]
    wide = size - starts[:, 1]
    step = 1 + _below(bits[1:3], ahead[:, pick])
    goals = starts + jnp.stack([step // wide, step % wide], 1)
    side_of = goals[:, 1] - goals[:, 0]
    crosses = jnp.where(k[pick] > 0, side_of[0] <= side_of[1], side_of[0] >= side_of[1])
    mirror = jnp.stack([bits[3] & 1, (bits[3] >> 1) & 1]) == 1
    return tuple(  # type: ignore[return-value]
        jnp.where(crosses, jnp.where(mirror, size - 1 - cells, cells), longest) for cells in (starts, goals)
    )


@partial(jax.jit, static_argnames=("chunk", "max_size", "max_agents", "mesh"))
def draw(
    key: jax.Array,
    first: jax.Array,
    size: jax.Array,
    holes_low: jax.Array,
    holes_more: jax.Array,
    num_agents: jax.Array,
    rare: jax.Array,
    *,
    chunk: int,
    max_size: int,
    max_agents: int,
    mesh: Mesh | None = None,
) -> tuple[Instances, jax.Array]:
    """Candidates first .. first + chunk - 1 of the class with this key, and whether each could be placed (bool[C]).

    A board gets `holes_low` holes, or one more with probability `holes_more` / 2^32 (u32). With a `mesh` of one axis
    the batch is spread over its devices, which have to divide `chunk`.
    """
    cells = max_size * max_size
    index = first.astype(jnp.uint32) + jnp.arange(chunk, dtype=jnp.uint32)
    if mesh is not None:
        spread = NamedSharding(mesh, PartitionSpec(mesh.axis_names[0]))  # type: ignore[no-untyped-call]
        index = jax.lax.with_sharding_constraint(index, spread)  # type: ignore[no-untyped-call]
    words = DRAWS_BESIDE + cells + 2 * max_agents
    bits = jax.vmap(lambda i: jax.random.bits(jax.random.fold_in(key, i), (words,), jnp.uint32))(index).T
    beside, hole_bits, agent_bits = jnp.split(bits, [DRAWS_BESIDE, DRAWS_BESIDE + cells])
    agent_bits = agent_bits.reshape(max_agents, 2, chunk)

    side = jnp.arange(max_size)
    inside = ((side[:, None] < size) & (side[None, :] < size)).reshape(cells)
    left = jnp.cumsum(inside[::-1].astype(jnp.int32))[::-1]  # cells of the map from this one on

    def choose(wanted: jax.Array, cell: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        is_inside, remaining, random = cell
        hole = is_inside & (_below(random, remaining) < wanted)
        return wanted - hole, hole

    wanted = holes_low + (beside[0] < holes_more)
    _, chosen = jax.lax.scan(choose, wanted, (inside, left, hole_bits))
    holes = (chosen | ~inside[:, None]).reshape(max_size, max_size, chunk)
    free = jnp.sum(jnp.where(holes, 0, jnp.uint32(1) << side.astype(jnp.uint32)[None, :, None]), 1, dtype=jnp.uint32)

    race = rare & (index % 2 == 0)
    company = rare & (index % 2 == 1)
    race_starts, race_goals = _race(beside[1:], size, max_size)
    # A cell counts as neighbour of another, not of itself: spread the others' masks without the cell's own.
    empty = jnp.zeros_like(free[:1])
    beside_free = (free << 1) | (free >> 1) | jnp.concatenate([free[1:], empty]) | jnp.concatenate([empty, free[:-1]])
    roomy = free & beside_free

    def place(agent: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        starts, goals, start_mask, goal_mask, home, placed = state
        racing = race & (agent < 2)
        which = jnp.minimum(agent, 1)

        allowed = roomy & ~start_mask
        allowed = jnp.where(company & (agent > 0), allowed & home, allowed)
        row, col = _member(allowed, _below(agent_bits[agent, 0], _count(allowed)))
        row = jnp.where(racing, race_starts[which, 0], row)
        col = jnp.where(racing, race_starts[which, 1], col)
        mine = _mask(row, col, max_size)
        placed &= jnp.any(mine & allowed, 0)
        starts = starts.at[agent].set(jnp.stack([row, col]))
        start_mask |= mine

        reached = _component(mine, free)
        home = jnp.where(agent == 0, reached, home)
        allowed = reached & ~mine & ~goal_mask
        row, col = _member(allowed, _below(agent_bits[agent, 1], _count(allowed)))
        row = jnp.where(racing, race_goals[which, 0], row)
        col = jnp.where(racing, race_goals[which, 1], col)
        mine = _mask(row, col, max_size)
        placed &= jnp.any(mine & allowed, 0)
        return starts, goals.at[agent].set(jnp.stack([row, col])), start_mask, goal_mask | mine, home, placed

    nowhere = jnp.full((max_agents, 2, chunk), max_size, jnp.int32)
    none = jnp.zeros_like(free)
    state = (nowhere, nowhere, none, none, none, jnp.ones(chunk, bool))
    starts, goals, _, _, _, placed = jax.lax.fori_loop(0, num_agents, place, state)
    boards = Instances(
        size=jnp.full(chunk, size, jnp.int32),
        num_agents=jnp.full(chunk, num_agents, jnp.int32),
        holes=holes.transpose(2, 0, 1),
        starts=starts.transpose(2, 0, 1),
        goals=goals.transpose(2, 0, 1),
    )
    return boards, placed
