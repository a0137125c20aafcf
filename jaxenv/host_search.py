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
  who spent something in this step go into S: without them more would be left), or completes a nogood (its agents go
  into S, and again who spent), or led to a failure whose set is merged into S. With i itself in S, every way on for S
  is closed.
- If an option of agent i leads to a failure whose set lacks i, the choice of i does not matter: the failure holds for
  each of its options. So the search jumps back to the last agent in S that chose, over all others.
- A failed next step with set S, seen from this step: those who spent something in this step join S.

**Why nogoods are sound.** When all choices of a step are exhausted, S depends on no choice in it: the agents of S, from
their positions, cannot complete within the budget left. Agents outside S can only get in the way, so this holds
wherever they stand. (positions of S, budget) is remembered; it refutes every state in which the agents of S stand there
with no more budget, as soon as the last of S has chosen. (For the makespan too: whoever can be home by some time can
stay there until a later one.) Entries compare the whole key, so a hash collision can lose a nogood, never invent one.
Nogoods hold for later budgets, and those found with waits allowed hold when waits are forbidden.

**Pair bounds** (`host_pairs`), where given, are exact costs of two agents alone: a lower bound for any set with both.
"""

import numpy as np
from numba import njit

from jaxenv.host_graph import MAX_AGENTS, MAX_CELLS
from jaxenv.host_pairs import FINISHED, PAIR, pair_bound

MAX_DEPTH = 512  # steps a search may reach into the future; beyond it the search gives up
SOLVED = 1
EXHAUSTED = 0
GAVE_UP = -1

# A joint state is one word, a byte for each agent: its cell, and FINISHED where it has.
_BYTES = np.array([8 * i for i in range(MAX_AGENTS)], np.uint64)
_BYTE = np.uint64(0xFF)
_CELL = np.uint64(FINISHED - 1)
_SETS = 1 << MAX_AGENTS
_LOW_BYTES = np.array([sum(0xFF << (8 * i) for i in range(MAX_AGENTS) if s >> i & 1) for s in range(_SETS)], np.uint64)
_HIGHEST = np.array([max(s.bit_length() - 1, 0) for s in range(_SETS)], np.int64)
# An agent's open options are one word too, the next in the lowest bits: the byte it would have, and 1 + what it spends.
_OPTION_BITS = np.uint64(10)
_OPTION = np.uint64((1 << 10) - 1)


@njit(nogil=True)
def new_work():  # type: ignore[no-untyped-def]
    """Stack of one search. By step: the state, and the set of agents who spent excess on the way to it.

    By step and agent, of the agent's turn: the bytes and the spenders of the agents before it, its options left, its
    conflict set, and the budget. Then the options of each agent in each cell, and room for the bytes of a state.
    """
    frames = MAX_DEPTH * MAX_AGENTS + 1
    return (
        np.zeros(MAX_DEPTH + 1, np.uint64),
        np.zeros(MAX_DEPTH + 1, np.int64),
        np.zeros(frames, np.uint64),
        np.zeros(frames, np.int64),
        np.zeros(frames, np.uint64),
        np.zeros(frames, np.int64),
        np.zeros(frames, np.int64),
        np.zeros((MAX_AGENTS, MAX_CELLS), np.uint64),
        np.zeros(MAX_AGENTS, np.int64),
    )


@njit(nogil=True)
def unpack(state, n, codes):  # type: ignore[no-untyped-def]
    """Write the byte of each agent in the word `state` to `codes`."""
    for i in range(n):
        codes[i] = np.int64(state >> _BYTES[i] & _BYTE)


@njit(nogil=True)
def _options(neighbours, distance, cell, no_wait, use_finish):  # type: ignore[no-untyped-def]
    """What an agent may do in `cell`, the cheapest first: finish, go nearer, wait, go away."""
    here = distance[cell]
    packed = np.uint64(0)
    shift = np.uint64(0)
    if here == 0:
        packed = np.uint64(cell | FINISHED if use_finish else cell) | np.uint64(1 << 8)
        shift += _OPTION_BITS
    for cost in (0, 1, 2):
        if cost == 1:
            if not no_wait and (here != 0 or use_finish):
                packed |= (np.uint64(cell) | np.uint64(2 << 8)) << shift
                shift += _OPTION_BITS
            continue
        for d in range(4):
            target = neighbours[cell, d]
            if target >= 0 and (distance[target] < here) == (cost == 0):
                packed |= (np.uint64(target) | np.uint64((cost + 1) << 8)) << shift
                shift += _OPTION_BITS
    return packed


@njit(nogil=True, inline="always")
def _slot_of(key, shift):  # type: ignore[no-untyped-def]
    return (key * np.uint64(0x9E3779B97F4A7C15)) >> shift


@njit(nogil=True, inline="always")
def _is_nogood(nogoods, shift, state, s, rest):  # type: ignore[no-untyped-def]
    """Whether the agents of set `s`, at their places in `state`, are known not to complete with `rest`."""
    key = (state & _LOW_BYTES[s]) | (np.uint64(s) << np.uint64(40))
    entry = nogoods[_slot_of(key, shift)]
    return entry >> np.uint64(16) == key and np.int64(entry & np.uint64(0xFFFF)) >= rest


@njit(nogil=True)
def search(  # type: ignore[no-untyped-def]
    board, by_time, no_wait, low, high, max_steps, nogoods, pairs, with_pairs, work
):
    """Search budgets `low`..`high` in turn; returns (outcome, budget, depth).

    SOLVED: a plan within `budget` lies in the states `work[0][:depth + 1]`. EXHAUSTED: no plan within `high`.
    GAVE_UP: out of steps at `budget`, so no plan below `budget`. `by_time`: the budget is the makespan, else the
    excess of the sum of costs. `no_wait`: only plans without a wait. `nogoods` has a power of two of entries.
    """
    neighbours, _, distance, starts, _, n, finished = board
    states, spent, before, spenders, options, reason, left, table, codes = work
    bits = 0
    while 1 << bits < nogoods.shape[0]:
        bits += 1
    shift = np.uint64(64 - bits)
    steps = 0
    seen = 0  # bit s: there may be a nogood of set s
    for s in range(nogoods.shape[0]):
        if nogoods[s]:  # kept from an earlier search of the same board
            seen = -1
            break
    use_finish = no_wait or not by_time
    states[0] = 0
    for i in range(n):
        states[0] |= np.uint64(starts[i]) << _BYTES[i]
        for k in range(finished):
            table[i, k] = 0

    for budget in range(low, high + 1):
        left[0] = budget
        spent[0] = 0
        t = 0
        i = 0
        entering = True
        failed = False
        while not failed:
            conflict = 0
            if entering:
                entering = False
                state = states[t]
                done = True
                for j in range(n):
                    done = done and distance[j, state >> _BYTES[j] & _CELL] == 0
                if done:  # those on their goals who have not finished would, for nothing
                    return SOLVED, budget, t
                rest = left[t * n]
                # Those who spent after a set had chosen left it less than it was checked for.
                for s in range(3, 1 << _HIGHEST[spent[t]]):
                    if seen >> s & 1 and _is_nogood(nogoods, shift, state, s, rest):
                        conflict = s
                        break
                if with_pairs and conflict == 0:
                    unpack(state, n, codes)
                    if by_time:
                        if t == 0:
                            for a in range(n):
                                for b in range(a):
                                    if pairs[PAIR[a, b], codes[a], codes[b]] > rest:
                                        conflict = 1 << a | 1 << b
                    else:
                        bound, who = pair_bound(codes, n, pairs, finished, rest)
                        if bound > rest:
                            conflict = who
                if conflict == 0:
                    if t + 1 >= MAX_DEPTH:
                        return GAVE_UP, budget, 0
                    i = 0
                    before[t * n] = 0
                    spenders[t * n] = 0
                    reason[t * n] = 0
            if conflict == 0:
                # Agent i takes its next open option.
                steps += 1
                if steps > max_steps:
                    return GAVE_UP, budget, 0
                frame = t * n + i
                state = states[t]
                code = np.int64(state >> _BYTES[i] & _BYTE)
                cell = code & np.int64(_CELL)
                why = reason[frame]
                ways = options[frame]
                if why == 0:  # its turn begins
                    why = 1 << i
                    if code >= FINISHED:
                        ways = np.uint64(code) | np.uint64(1 << 8)
                    else:
                        if table[i, cell] == 0:
                            table[i, cell] = _options(neighbours, distance[i], cell, no_wait, use_finish)
                        ways = table[i, cell]
                rest = left[frame]
                others = before[frame]
                payers = spenders[frame]
                known = seen >> (1 << i) & ((1 << (1 << i)) - 1)  # sets whose highest agent is i
                found = False
                while ways:
                    target_code = np.int64(ways & _BYTE)
                    cost = np.int64((ways & _OPTION) >> np.uint64(8)) - 1
                    ways >>= _OPTION_BITS
                    target = target_code & np.int64(_CELL)
                    if by_time:
                        cost = np.int64(0)
                        after = rest - 1
                        if distance[i, target] > after:
                            continue  # i alone is the reason, and is in the set already
                    else:
                        after = rest - cost
                        if after < 0:
                            why |= payers
                            ways = np.uint64(0)  # the options after it cost no less
                            break
                    blocker = 0
                    for j in range(i):
                        other = np.int64(others >> _BYTES[j] & _BYTE)
                        other_cell = other & np.int64(_CELL)
                        if other_cell == target or (
                            other_cell == cell and np.int64(state >> _BYTES[j] & _CELL) == target
                        ):
                            blocker = 1 << j
                            break
                        if with_pairs:
                            if by_time:
                                if pairs[PAIR[i, j], target, other_cell] > after:
                                    blocker = 1 << j
                                    break
                            else:
                                place = finished if target_code >= FINISHED else target
                                other_place = finished if other >= FINISHED else other_cell
                                if pairs[PAIR[i, j], place, other_place] > after:
                                    blocker = 1 << j | payers
                                    break
                    if blocker == 0 and known:
                        word = others | np.uint64(target_code) << _BYTES[i]
                        for s in range((1 << i) + 1, 2 << i):
                            if seen >> s & 1 and _is_nogood(nogoods, shift, word, s, after):
                                blocker = s | payers
                                break
                    if blocker:
                        why |= blocker
                        continue
                    found = True
                    break
                reason[frame] = why
                options[frame] = ways
                if found:
                    others |= np.uint64(target_code) << _BYTES[i]
                    payers |= (cost > 0) << i
                    left[frame + 1] = rest - cost
                    reason[frame + 1] = 0
                    if i < n - 1:
                        i += 1
                        before[frame + 1] = others
                        spenders[frame + 1] = payers
                    else:
                        t += 1
                        states[t] = others
                        spent[t] = payers
                        left[frame + 1] = after
                        entering = True
                    continue
                earlier = why & ((1 << i) - 1)
                if earlier:
                    i = int(_HIGHEST[earlier])
                    reason[t * n + i] |= why
                    continue
                # The whole step is exhausted, and `why` depends on no choice in it: a nogood.
                key = (state & _LOW_BYTES[why]) | (np.uint64(why) << np.uint64(40))
                nogoods[_slot_of(key, shift)] = key << np.uint64(16) | np.uint64(left[t * n])
                seen |= 1 << why
                conflict = why
            # The state at t is refuted for the agents in `conflict`: back into the step that led to it.
            conflict |= spent[t]
            t -= 1
            if t < 0:
                failed = True
            else:
                i = int(_HIGHEST[conflict])
                reason[t * n + i] |= conflict
    return EXHAUSTED, high, 0
