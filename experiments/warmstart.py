"""What the starter is taught before any RL, and in which order. Composed here, so that `policy` need not know how.

`boards`: boards of the training split with plans, most of which walk as if alone (`experiments.boardtext`). Two phases
go on from its end, each with boards and contexts, on the same prompts and for as many steps:
`teacher`: configs by the rule `teacher` on the evidence shown. Its end is the model `starter`.
`format`: configs drawn independently of the evidence: the reply's format and no judgement. Its end is the model
`starter-format`, the control.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import jaxenv
from engineer.synthetic import examples
from experiments.boardtext import board_pairs
from jaxenv.batches import take, to_numpy
from jaxenv.candidates import CHUNK, draw
from jaxenv.canonical import canonical_hash, in_split
from jaxenv.types import Limits
from policy.starter import Pair, Schedule

# Candidates of each size in a round by number of agents: RL trains on 2, the others make their words known.
BOARDS = {2: 1600, 3: 200, 4: 60, 5: 40}
SMALLEST = {2: 3, 3: 3, 4: 4, 5: 5}  # the smallest size on which the evaluations use so many agents
CONFIGS_PER_ROUND = 2_000  # contexts beside the boards in the phases that teach configs
HOLE_RANGE = (0.0, 0.35)
MAX_STEPS = 20_000  # of the solver: the hardest boards of many agents are left out


@dataclass(frozen=True)
class Phase:
    """One part of the warm start, and what its configs are taught from."""

    name: str
    after: str | None  # the phase whose model it goes on with
    configs: str | None  # None, "format" or "teacher"
    coordinated: float  # share of the answers that are the solver's optimal plan; in the others agents walk as if alone
    schedule: Schedule


PHASES = (
    Phase("boards", None, None, 0.5, Schedule(steps=6500, peak_rate=2e-3, warmup_steps=300, batch_tokens=3072)),
    Phase("teacher", "boards", "teacher", 0.35, Schedule(steps=1400, peak_rate=1e-3, batch_tokens=4096)),
    Phase("format", "boards", "format", 0.35, Schedule(steps=1400, peak_rate=1e-3, batch_tokens=4096)),
)


def rounds(phase: Phase, seed: int) -> Iterator[list[Pair]]:
    """Pairs for ever; round i is a function of (seed, i), of what is taught, and of nothing else."""
    number = int(phase.configs is not None)  # the two phases with configs share their boards and prompts
    index = 0
    while True:
        pairs = board_round(seed, number, index, phase.coordinated)
        if phase.configs is not None:
            # examples() seeds on one integer: keep the phases and rounds apart in it
            pairs += examples((2 * seed + number) * 100_000 + index, CONFIGS_PER_ROUND, phase.configs)
        yield pairs
        index += 1


def shares_of_agents(seed: int) -> dict[int, float]:
    """The share of the boards with each number of agents, in the first rounds of the first phase."""
    pairs = [pair for index in range(4) for pair in board_round(seed, 0, index, PHASES[0].coordinated)]
    counts = {agents: sum(f" agents{agents} " in prompt for prompt, _ in pairs) for agents in BOARDS}
    return {agents: count / len(pairs) for agents, count in counts.items()}


def board_round(seed: int, phase: int, index: int, coordinated: float) -> list[Pair]:
    """Boards of every size and number of agents from the training split.

    Those that need no wait are thinned out to as many as need one, or to an eighth of the candidates if that is more.
    """
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), phase), index)
    random = np.random.default_rng((seed, phase, index))
    pairs: list[Pair] = []
    for agents, wanted in BOARDS.items():
        for size in range(SMALLEST[agents], Limits().max_size + 1):
            boards = _candidates(jax.random.fold_in(key, agents * 100 + size), size, agents, wanted, random)
            solutions = jaxenv.solve(boards, max_steps=MAX_STEPS)
            solved = np.flatnonzero(np.asarray(solutions.status) == jaxenv.Status.OPTIMAL)
            waits = np.asarray(solutions.needs_wait)[solved]
            others = solved[~waits][: max(int(waits.sum()), wanted // 8)]
            kept = np.sort(np.concatenate([solved[waits], others]))
            pairs += board_pairs(take(boards, kept), take(to_numpy(solutions), kept), coordinated, random)
    return pairs


def _candidates(key: jax.Array, size: int, agents: int, wanted: int, random: np.random.Generator) -> jaxenv.Instances:
    """At most `wanted` candidates of the training split; of three such calls, two propose agents that meet often."""
    holes = random.uniform(*HOLE_RANGE) * size * size
    meeting = bool(random.random() < 2 / 3)
    drawn = draw(
        key,
        jnp.uint32(0),
        jnp.int32(size),
        jnp.int32(int(holes)),
        jnp.uint32(int(holes % 1 * 2**32)),
        jnp.int32(agents),
        jnp.bool_(meeting),
        chunk=CHUNK,
        max_size=Limits().max_size,
        max_agents=Limits().max_agents,
    )
    boards, placed = to_numpy(drawn)
    rows = np.flatnonzero(placed)
    rows = rows[in_split(canonical_hash(take(boards, rows)), "train")][:wanted]
    chosen: jaxenv.Instances = take(boards, rows)
    return chosen
