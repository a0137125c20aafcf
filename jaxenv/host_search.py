"""Exact search for the cheapest joint plan: iterative deepening with backjumping and nogoods.

**What is deepened.** For the sum of costs, the *excess*: the cost above the sum of the single shortest distances h. A
step of an agent costs 1 + h(after) - h(before): 0 toward its goal, 1 when it waits, 2 away from it. Standing on the
goal without having finished is a wait and costs 1; "finish" is free and final, and a finished agent stays for nothing.
So the total spent is exactly the sum of costs less the sum of h, and the first budget with a plan is the optimum. A
step in which nobody spends brings every unfinished agent nearer or finishes it, so every budget is searched in
finite time. For the makespan, the *time* is deepened: an option is open while its h fits in the time left.

**Operator decomposition.** Within a step the agents choose one after another; agent i sees the choices of agents
below i. An option is blocked by an agent j < i that goes to the same cell, or comes the other way.

**Why backjumping is sound.** Every failure carries a set S of agents with this meaning: *the agents in S alone, all
others taken off the map, cannot complete from here with what is left of the budget, as long as those of S that have
chosen in this step keep their choices.* By induction:

- Agent i without an open option: each option is blocked by some j < i (j goes into S), or costs more than is left (all
  who spent something in this step go into S: without them more would be left), or led to a failure whose set is merged
  into S. With i itself in S, every way on for S is closed.
- If an option of agent i leads to a failure whose set lacks i, the choice of i does not matter: the failure holds for
  each of its options. So the search jumps back to the last agent in S that chose, over all others.
- A failed next step with set S, seen from this step: those who spent something in this step join S.

**Why nogoods are sound.** When all choices of a step are exhausted, S depends on no choice in it: the agents of S, from
their positions, cannot complete within the budget left. Agents outside S can only get in the way, so this holds
wherever they stand. (positions of S, budget) is remembered; it refutes every state in which the agents of S stand there
with no more budget. (For the makespan too: whoever can be home by some time can stay there until a later one.) Entries
compare the whole key, so a hash collision can lose a nogood, never invent one. Nogoods hold for later budgets, and
those found with waits allowed hold when waits are forbidden.

**Pair bounds** (`host_pairs`), where given, are exact costs of two agents alone: a lower bound for any set with both.
"""

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS
from jaxenv.host_pairs import FINISHED, PAIR, pair_bound

MAX_DEPTH = 512  # steps a search may reach into the future; beyond it the search gives up
SOLVED = 1
EXHAUSTED = 0
GAVE_UP = -1

_FINISH_SLOT = 0
_WAIT_SLOT = 5
_SLOTS = 10  # finish, four moves toward the goal, wait, four moves away

_LOW_BYTES = np.array(
    [sum(0xFF << (8 * i) for i in range(MAX_AGENTS) if s >> i & 1) for s in range(1 << MAX_AGENTS)], np.uint64
)
_HIGHEST = np.array([max(s.bit_length() - 1, 0) for s in range(1 << MAX_AGENTS)], np.int64)


@njit(nogil=True, inline="always")
def _slot_of(key, shift):  # type: ignore[no-untyped-def]
    return (key * np.uint64(0x9E3779B97F4A7C15)) >> shift


@njit(nogil=True)
def search(  # type: ignore[no-untyped-def]
    board, by_time, no_wait, low, high, max_steps, nogoods, pairs, with_pairs, work
):
    """Search budgets `low`..`high` in turn; returns (outcome, budget, depth).

    SOLVED: a plan within `budget` lies in the positions `work[0][:depth + 1]`. EXHAUSTED: no plan within `high`.
    GAVE_UP: out of steps at `budget`, so no plan below `budget`. `by_time`: the budget is the makespan, else the
    excess of the sum of costs. `no_wait`: only plans without a wait. `nogoods` has a power of two of entries.
    """
    neighbours, distance, starts, _, n, finished = board
    position, cursor, reason, spent, left = work
    full = (1 << n) - 1
    bits = 0
    while 1 << bits < nogoods.shape[0]:
        bits += 1
    shift = np.uint64(64 - bits)
    steps = 0
    seen = 0
    for s in range(nogoods.shape[0]):
        if nogoods[s]:  # kept from an earlier search of the same board
            seen = -1
            break
    use_finish = no_wait or not by_time

    for budget in range(low, high + 1):
        for i in range(n):
            position[0, i] = starts[i]
        left[0] = budget
        t = 0
        i = 0
        entering = True
        failed = False
        while not failed:
            conflict = 0
            if entering:
                entering = False
                done = True
                word = np.uint64(0)
                for j in range(n):
                    code = position[t, j]
                    word |= np.uint64(code) << np.uint64(8 * j)
                    done = done and distance[j, code & 127] == 0
                if done:  # those on their goals who have not finished would, for nothing
                    return SOLVED, budget, t
                rest = left[t * n]
                if seen:
                    for s in range(3, full + 1):
                        if seen >> s & 1:
                            key = (word & _LOW_BYTES[s]) | (np.uint64(s) << np.uint64(40))
                            entry = nogoods[_slot_of(key, shift)]
                            if entry >> np.uint64(16) == key and np.int64(entry & np.uint64(0xFFFF)) >= rest:
                                conflict = s
                                break
                if with_pairs and conflict == 0:
                    if by_time:
                        if t == 0:
                            for a in range(n):
                                for b in range(a):
                                    if pairs[PAIR[a, b], position[0, a], position[0, b]] > rest:
                                        conflict = 1 << a | 1 << b
                    else:
                        bound, who = pair_bound(position[t], n, pairs, finished)
                        if bound > rest:
                            conflict = who
                if conflict == 0:
                    if t + 1 >= MAX_DEPTH:
                        return GAVE_UP, budget, 0
                    i = 0
                    frame = t * n
                    cursor[frame] = 0
                    reason[frame] = 1
            if conflict == 0:
                # Agent i takes its next open option.
                steps += 1
                if steps > max_steps:
                    return GAVE_UP, budget, 0
                frame = t * n + i
                code = position[t, i]
                cell = code & 127
                rest = left[frame]
                here = distance[i, cell]
                why = reason[frame]
                spenders = 0
                if not by_time:
                    for j in range(i):
                        if spent[t * n + j]:
                            spenders |= 1 << j
                found = False
                slot = cursor[frame]
                while slot < _SLOTS:
                    this = slot
                    slot += 1
                    target = cell
                    target_code = cell
                    cost = 0
                    if code >= FINISHED:
                        target_code = code
                        slot = _SLOTS
                    elif this == _FINISH_SLOT:
                        if here != 0:
                            continue
                        if use_finish:
                            target_code = cell | FINISHED
                    elif this == _WAIT_SLOT:
                        if no_wait or (here == 0 and not use_finish):
                            continue
                        cost = 1
                    else:
                        toward = this < _WAIT_SLOT
                        target = neighbours[cell, this - 1 if toward else this - 6]
                        if target < 0 or (distance[i, target] < here) != toward:
                            continue
                        target_code = target
                        cost = 0 if toward else 2
                    if by_time:
                        cost = 0
                        if distance[i, target] > rest - 1:
                            continue  # i alone is the reason, and is in the set already
                    elif cost > rest:
                        why |= spenders
                        slot = _SLOTS  # the options after it cost no less
                        break
                    blocker = 0
                    for j in range(i):
                        other = position[t + 1, j]
                        other_cell = other & 127
                        if other_cell == target or (other_cell == cell and position[t, j] & 127 == target):
                            blocker = 1 << j
                            break
                        if with_pairs:
                            if by_time:
                                if pairs[PAIR[i, j], target, other_cell] > rest - 1:
                                    blocker = 1 << j
                                    break
                            else:
                                a = finished if target_code >= FINISHED else target
                                b = finished if other >= FINISHED else other_cell
                                if pairs[PAIR[i, j], a, b] + cost > rest:
                                    blocker = 1 << j | spenders
                                    break
                    if blocker:
                        why |= blocker
                        continue
                    found = True
                    break
                reason[frame] = why
                cursor[frame] = slot
                if found:
                    position[t + 1, i] = target_code
                    spent[frame] = cost
                    if by_time:
                        left[frame + 1] = rest - 1 if i == n - 1 else rest
                    else:
                        left[frame + 1] = rest - cost
                    if i < n - 1:
                        i += 1
                        cursor[frame + 1] = 0
                        reason[frame + 1] = 1 << i
                    else:
                        t += 1
                        entering = True
                    continue
                earlier = why & ((1 << i) - 1)
                if earlier:
                    i = _HIGHEST[earlier]
                    reason[t * n + i] |= why
                    continue
                # The whole step is exhausted, and `why` depends on no choice in it: a nogood.
                word = np.uint64(0)
                for j in range(n):
                    word |= np.uint64(position[t, j]) << np.uint64(8 * j)
                key = (word & _LOW_BYTES[why]) | (np.uint64(why) << np.uint64(40))
                nogoods[_slot_of(key, shift)] = key << np.uint64(16) | np.uint64(left[t * n])
                seen |= 1 << why
                conflict = why
            # The state at t is refuted for the agents in `conflict`: back into the step that led to it.
            t -= 1
            if t < 0:
                failed = True
            else:
                for j in range(n):
                    if spent[t * n + j]:
                        conflict |= 1 << j
                i = _HIGHEST[conflict]
                reason[t * n + i] |= conflict
    return EXHAUSTED, high, 0


@njit(nogil=True)
def new_work():  # type: ignore[no-untyped-def]
    """Stack of one search: positions per step; cursor, conflict set, excess spent and budget per step and agent."""
    frames = MAX_DEPTH * MAX_AGENTS + 1
    return (
        np.empty((MAX_DEPTH + 1, MAX_AGENTS), np.int64),
        np.empty(frames, np.int64),
        np.empty(frames, np.int64),
        np.zeros(frames, np.int64),
        np.empty(frames, np.int64),
    )
