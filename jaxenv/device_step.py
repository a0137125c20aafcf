"""One choice of one search: agent `agent` of the step at hand takes its next open option, or the search backs up.

What is searched, in which order, and why backing up is sound: `jaxenv.host_search`. Everything here is a pure function
of searches side by side (lanes), element by element; `jaxenv.device_search` runs them. Which cost is searched, and
whether waits are allowed, is data of the lane.

An option is a key, 0 for none: 1 + (cost << 3 | kind), so that the cheapest come first; the cost is the excess that the
option spends: 0 for a finish or a step toward the goal, 1 for a wait, 2 for a step away.
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxenv.device_graph import BLOCKED

# What a lane does next.
CHOOSE, REACHED, REFUTED, SOLVED, EXHAUSTED, GAVE_UP, IDLE = range(7)

FINISHED = 128  # bit of a position: the agent has finished, on its goal
CELL = FINISHED - 1

_FINISH = 1
_WAIT = 1 + (1 << 3 | 5)
_NONE = 63
_KEY_BITS = 6
_COSTLY = 8  # keys above it spend excess

Agents = tuple[jax.Array, ...]  # one for each agent; not one array, for a short axis makes poor loops


class Lane(NamedTuple):
    """One search; every field i32[lanes]."""

    left: jax.Array  # what is left of the budget at the start of the step
    time: jax.Array  # steps completed
    agent: jax.Array  # whose turn it is in the step
    made: jax.Array  # choices made since the last bookkeeping
    mode: jax.Array
    by_time: jax.Array  # 1: the budget is time, 0: excess
    no_wait: jax.Array  # 1: waits are forbidden
    position: Agents  # cell, with FINISHED
    chosen: Agents  # position after the step, of those who have chosen
    key: Agents  # the option chosen last
    reason: Agents  # bit set of the agents that closed options of this one


class Packed(NamedTuple):
    """A Lane in N + 1 words: a loop that carries few arrays is a few kernels, each of which does much."""

    control: jax.Array  # u32[lanes]
    agents: Agents  # u32[lanes]


# 26 bits and 27 bits: a word has 32.
_CONTROL_BITS = (8, 7, 3, 3, 3, 1, 1)  # of left, time, agent, made, mode, by_time, no_wait
_AGENT_BITS = (8, 8, 6, 5)  # of position, chosen, key, reason
MODE_BIT = sum(_CONTROL_BITS[:4])  # from which on the word `control` holds the mode


def _join(values: Iterable[jax.Array], bits: tuple[int, ...]) -> jax.Array:
    word: jax.Array = jnp.zeros((), jnp.uint32)
    low = 0
    for value, width in zip(values, bits, strict=True):
        word = word | value.astype(jnp.uint32) << low
        low += width
    return word


def _split(word: jax.Array, bits: tuple[int, ...]) -> list[jax.Array]:
    values, low = [], 0
    for width in bits:
        values.append((word >> low & (1 << width) - 1).astype(jnp.int32))
        low += width
    return values


def pack(lane: Lane) -> Packed:
    """The same search in few words; every field has to fit in its bits."""
    control = (lane.left, lane.time, lane.agent, lane.made, lane.mode, lane.by_time, lane.no_wait)
    agents = zip(lane.position, lane.chosen, lane.key, lane.reason, strict=True)
    return Packed(_join(control, _CONTROL_BITS), tuple(_join(agent, _AGENT_BITS) for agent in agents))


def unpack(packed: Packed) -> Lane:
    """What `pack` packed."""
    left, time, agent, made, mode, by_time, no_wait = _split(packed.control, _CONTROL_BITS)
    agents = [_split(word, _AGENT_BITS) for word in packed.agents]
    position, chosen, key, reason = (tuple(values[k] for values in agents) for k in range(len(_AGENT_BITS)))
    return Lane(left, time, agent, made, mode, by_time, no_wait, position, chosen, key, reason)


def pick(values: Agents, index: jax.Array) -> jax.Array:
    """`values[index]` by selects: a gather would cost more."""
    found = values[0]
    for j in range(1, len(values)):
        found = jnp.where(index == j, values[j], found)
    return found


def highest(agents: jax.Array, n: int) -> jax.Array:
    """The last agent of a bit set (0 for the empty one)."""
    found = jnp.zeros_like(agents)
    for j in range(1, n):
        found = jnp.where(agents >> j & 1 == 1, j, found)
    return found


def spent(lane: Lane, key: jax.Array) -> jax.Array:
    """What the option `key` takes from the shared budget; time is not shared."""
    return jnp.where((key > _COSTLY) & (lane.by_time == 0), key - 1 >> 3, 0)


def spenders(lane: Lane) -> jax.Array:
    """Bit set of the agents that spent some of the shared budget in this step."""
    found = jnp.zeros_like(lane.agent)
    for j, key in enumerate(lane.key):
        found |= ((key > _COSTLY) & (lane.by_time == 0)).astype(jnp.int32) << j
    return found


def after(lane: Lane, position: jax.Array, key: jax.Array, width: int) -> jax.Array:
    """Where the option `key` leads to.

    In a search by time the finish is a stay: nothing is paid for leaving later, unless waits are forbidden.
    """
    kind = key - 1 & 7
    offset = jnp.where(kind == 1, -width, jnp.where(kind == 2, width, jnp.where(kind == 3, -1, 0)))
    offset = jnp.where(kind == 4, 1, offset)
    final = jnp.where((lane.by_time == 0) | (lane.no_wait == 1), FINISHED, 0)
    return jnp.where(key == 0, position, jnp.where(key == _FINISH, position | final, position + offset))


def decide(lane: Lane, words: Agents, width: int) -> jax.Array:
    """The next open option of the agent whose turn it is, and the agents that closed others.

    Args: `words` i32[lanes], for each agent the options in its cell (`device_graph.option_words`); `width` of the map.
    Returns i32[lanes], the option (_NONE: there is none) in the lowest six bits and the agents above them: one array,
    for each would be a kernel that computes both.
    """
    n = len(lane.position)
    i = lane.agent
    position, last = pick(lane.position, i), pick(lane.key, i)
    cell = position & CELL
    finished = position >= FINISHED
    word = pick(words, i)
    home = word >> 8 == 0

    zero = jnp.zeros_like(i)
    costs = [jnp.where(i > j, spent(lane, lane.key[j]), 0) for j in range(n - 1)]
    budget = lane.left - sum(costs, zero)
    payers = sum(((cost > 0).astype(jnp.int32) << j for j, cost in enumerate(costs)), zero)
    # By time an option is too much where the distance after it, h - 1 + cost, does not fit in the time after the step.
    slack = jnp.where(lane.by_time == 1, lane.left - (word >> 8), budget)
    # The cells that each earlier agent closes: where it goes, and, for those who would exchange, where it came from.
    taken = [jnp.where(i > j, lane.chosen[j] & CELL, -1) for j in range(n - 1)]
    left_by = [jnp.where(taken[j] == cell, lane.position[j] & CELL, -1) for j in range(n - 1)]

    best = jnp.full_like(i, _NONE)
    options = []
    for kind, offset in enumerate((0, -width, width, -1, 1, 0)):
        if kind == 0:
            key = jnp.where(finished | home, _FINISH, _NONE)
        elif kind == 5:
            # By time a wait on the goal is what the finish is already.
            closed = finished | (lane.no_wait == 1) | ((lane.by_time == 1) & home)
            key = jnp.where(closed, _NONE, _WAIT)
        else:
            cost = word >> (2 * (kind - 1)) & 3
            key = jnp.where(finished | (cost == BLOCKED), _NONE, (cost << 3) + kind + 1)
        target = cell + offset
        blockers = zero
        for j in range(n - 1):
            blockers |= ((taken[j] == target) | (left_by[j] == target)).astype(jnp.int32) << j
        is_open = (key > last) & (key < _NONE)
        too_much = key - 1 >> 3 > slack
        best = jnp.where(is_open & ~too_much & (blockers == 0), jnp.minimum(best, key), best)
        options.append((key, is_open, too_much, blockers))
    why = pick(lane.reason, i) | 1 << i
    for key, is_open, too_much, blockers in options:
        passed = is_open & (key < best)
        why |= jnp.where(passed, jnp.where(too_much, payers, blockers & -blockers), 0)
    return best | why << _KEY_BITS


def advance(lane: Lane, decision: jax.Array, width: int) -> Lane:
    """Take the option decided upon (as `decide` returns it), or go back to the agent that the dead end depends on.

    Only a lane in mode CHOOSE is advanced.
    """
    n = len(lane.position)
    i = lane.agent
    best, why = decision & _NONE, decision >> _KEY_BITS
    active = lane.mode == CHOOSE
    found = active & (best < _NONE)
    failed = active & (best == _NONE)
    target = after(lane, pick(lane.position, i), best, width)
    complete = i == n - 1
    earlier = why & (1 << i) - 1
    back = failed & (earlier != 0)
    refuted = failed & (earlier == 0)
    jump = highest(earlier, n)
    keys, chosen, reasons = [], [], []
    for j in range(n):
        mine = i == j
        enters = found & ~complete & (i + 1 == j)
        keys.append(jnp.where(enters, 0, jnp.where(found & mine, best, lane.key[j])))
        chosen.append(jnp.where(found & mine, target, lane.chosen[j]))
        reason = jnp.where((found | refuted) & mine, why, lane.reason[j])
        reason = jnp.where(back & (jump == j), reason | why, reason)
        reasons.append(jnp.where(enters, 0, reason))
    return lane._replace(
        agent=jnp.where(found & ~complete, i + 1, jnp.where(back, jump, i)),
        mode=jnp.where(found & complete, REACHED, jnp.where(refuted, REFUTED, lane.mode)),
        made=lane.made + active.astype(jnp.int32),
        key=tuple(keys),
        chosen=tuple(chosen),
        reason=tuple(reasons),
    )
