"""What the first offending step of a board breaks: each rule for each agent or pair, laid out as in `jaxenv.lanes`."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxenv import lanes
from jaxenv.types import Label

NEVER = 255  # no step, no rule


class World(NamedTuple):
    """Boards in the layout of `jaxenv.lanes`, and what the plans are at first sight."""

    size: jax.Array  # u8[N, K]
    blocked: jax.Array  # u8[N, bytes, K] the table of `lanes.look_up`
    here: jax.Array  # u8[N, A, K] all ones for an agent that the board has, else 0
    start: jax.Array  # u8[N, A, K]
    goal: jax.Array  # u8[N, A, K]
    outcome: jax.Array  # i32[B] READ, or why the plans are none


class Stop(NamedTuple):
    """Each board at its first offending step; at any where it has none."""

    step: jax.Array  # u8[N, K] index of the offending action, NEVER without one
    before: jax.Array  # u8[N, A, K] codes before that step
    now: jax.Array  # u8[N, A, K] codes after it
    end: jax.Array  # u8[N, A, K] codes after the last step of all
    cost: jax.Array  # u8[N, A, K] steps after which the agent has been on its goal ever since


class Rule(NamedTuple):
    """What an agent, or a pair of agents, can break at one step."""

    label: Label
    first: int
    second: int  # -1 for an agent alone


def rules_of(agents: int) -> list[Rule]:
    """All rules, the first label's first and within a label the smallest agents' first."""
    alone, pairs = [(a, -1) for a in range(agents)], pairs_of(agents)
    kinds = {
        Label.OFF_MAP: alone,
        Label.HOLE: alone,
        Label.VERTEX_CONFLICT: pairs,
        Label.SWAP_CONFLICT: pairs,
        Label.GOAL_NOT_REACHED: alone,
    }
    return [Rule(label, *names) for label, all_names in kinds.items() for names in all_names]


@partial(jax.jit, static_argnames="side")
def offences_of(stop: Stop, world: World, *, side: int) -> tuple[jax.Array, jax.Array]:
    """u8[N, K] each: the first broken rule (NEVER without one), and bit label - OFF_MAP for every broken one."""
    agents = range(world.goal.shape[1])
    before, now, here = ([codes[:, a] for a in agents] for codes in (stop.before, stop.now, world.here))
    went = stop.step != NEVER
    off = [(here[a] != 0) & ((before[a] == lanes.OUT) | lanes.is_off(now[a], world.size, side)) for a in agents]

    def breaks(rule: Rule) -> jax.Array:
        i, j = rule.first, rule.second
        match rule.label:
            case Label.OFF_MAP:
                return went & off[i]
            case Label.HOLE:
                return went & ~off[i] & lanes.is_high(lanes.look_up(world.blocked, now[i]) & here[i])
            case Label.VERTEX_CONFLICT:
                # The end of a row and the beginning of the next share their codes beyond the map.
                return went & (now[i] == now[j]) & ~(off[i] & off[j] & (before[i] != before[j]))
            case Label.SWAP_CONFLICT:
                return went & swap(before, now, i, j)
            case _:
                return ~went & (stop.end[:, i] != world.goal[:, i])

    first, broken = jnp.full_like(stop.step, NEVER), jnp.zeros_like(stop.step)
    for index, rule in reversed(list(enumerate(rules_of(len(agents))))):
        hit = breaks(rule)
        first = jnp.where(hit, jnp.uint8(index), first)
        broken |= jnp.where(hit, jnp.uint8(1 << (rule.label - Label.OFF_MAP)), jnp.uint8(0))
    return first, broken


def pairs_of(agents: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(agents) for j in range(i + 1, agents)]


def swap(before: Sequence[jax.Array], now: Sequence[jax.Array], i: int, j: int) -> jax.Array:
    """Whether two agents exchange their cells."""
    return (now[i] == before[j]) & (now[j] == before[i])
