"""The verifier against an independent oracle on plans of every kind, and what its verdicts must not depend on."""

import os
import random
import subprocess
import sys
from functools import lru_cache, partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxenv
from jaxenv import Instances, Label, Plans, Status
from jaxenv.verify_device import device_verify
from jaxenv.verify_host import host_verify
from jaxenv.xla_buffers import shape
from jaxenv.xla_call import register
from tests.jaxenv.oracle import Board, judge
from tests.jaxenv.plans import (
    edited,
    instances_of,
    known,
    random_board,
    solutions_of,
    valid_plan,
    walk_to_the_end,
    walking_plan,
    wild_plan,
)

OBJECTIVES = ("sum_of_costs", "makespan")


@lru_cache
def cases():
    """4,000 boards and plans with labels, about a fifth of which contradict the plan or prove nothing."""
    source = random.Random(11)
    boards, plans = [], []
    while len(boards) < 4000:
        board = random_board(source)
        kind = len(boards) % 5
        if kind == 0:
            plan = wild_plan(source, board)
        elif kind == 1:
            plan = walking_plan(source, board)
        elif kind == 2:
            plan = walking_plan(source, board)
            board = walk_to_the_end(board, plan)
        else:
            plan = valid_plan(board)
            if plan is None:
                continue
            if kind == 3:
                plan = edited(source, plan)
        boards.append(board)
        plans.append(plan)
    labels = []
    for board, plan in zip(boards, plans, strict=True):
        found = judge(board, plan, Status.UNDETERMINED, -1, -1)
        total, makespan = max(found.sum_of_costs, 0), max(found.makespan, 0)
        lowered = source.choice([0, 0, 1, 3])
        labels.append(
            source.choice(
                [(1, total, makespan)] * 4
                + [(1, max(total - lowered, 0), max(makespan - lowered, 0)), (1, total + 1, makespan), (2, -1, -1)]
                + [(0, -1, -1)]
            )
        )
    return boards, plans, labels


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_verifier_agrees_with_the_oracle_in_every_field(objective):
    boards, plans, labels = cases()
    verdicts = jaxenv.verify(
        instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans), objective=objective
    )
    got = jax.tree.map(lambda x: np.asarray(x).tolist(), verdicts)
    seen = {}
    for k, (board, plan, label) in enumerate(zip(boards, plans, labels, strict=True)):
        want = judge(board, plan, *label, objective)
        context = f"case {k}: {board}, {plan}, {label}"
        assert Label(got.label[k]).name.lower() == want.label, context
        assert {m.name.lower() for m in Label if got.flags[k] >> m & 1} == want.flags, context
        assert got.valid[k] == (want.label in ("optimal", "suboptimal")), context
        assert got.optimal[k] == (want.label == "optimal"), context
        assert (got.sum_of_costs[k], got.makespan[k]) == (want.sum_of_costs, want.makespan), context
        assert got.gap[k] == pytest.approx(want.gap, nan_ok=True), context
        assert got.step[k] == want.step, context
        assert (tuple(got.agents[k]), tuple(got.cell[k])) == (want.agents, want.cell), context
        for name in {want.label} | want.flags:
            seen[name] = seen.get(name, 0) + 1
    for member in list(Label)[Label.OFF_MAP :]:
        assert seen.get(member.name.lower(), 0) >= 40, f"{member.name} is rare in the cases: {seen}"


def test_the_verdict_does_not_depend_on_the_order_of_agents():
    # Cognitive-AI-Systems/pogema/pull/51: three agents in a row, and the order decided.
    boards, plans, labels = cases()
    solutions = solutions_of(*zip(*labels, strict=True))
    source = random.Random(3)
    shuffled_boards, shuffled_plans = [], []
    for board, plan in zip(boards, plans, strict=True):
        order = source.sample(range(len(plan)), len(plan))
        starts, goals = [board.starts[a] for a in order], [board.goals[a] for a in order]
        shuffled_boards.append(Board(board.rows, starts, goals))
        shuffled_plans.append([plan[a] for a in order])
    given = jaxenv.verify(instances_of(boards), solutions, jaxenv.make_plans(plans))
    shuffled = jaxenv.verify(instances_of(shuffled_boards), solutions, jaxenv.make_plans(shuffled_plans))
    for name in ("label", "flags", "valid", "optimal", "sum_of_costs", "makespan", "gap", "step"):
        np.testing.assert_array_equal(getattr(given, name), getattr(shuffled, name), err_msg=name)


def test_the_verdict_does_not_depend_on_what_stands_in_the_padding():
    boards, plans, labels = cases()
    instances, solutions, given = (
        instances_of(boards),
        solutions_of(*zip(*labels, strict=True)),
        jaxenv.make_plans(plans),
    )
    random_bits = np.random.default_rng(5)
    absent = np.arange(5) >= np.asarray(instances.num_agents)[:, None]
    outside = np.arange(10) >= np.asarray(instances.size)[:, None]
    outside = outside[:, :, None] | outside[:, None, :]
    past = np.arange(32) >= np.asarray(given.lengths)[..., None]
    noise = random_bits.integers(-128, 128, given.actions.shape)
    cells = random_bits.integers(0, 10, (2, *instances.starts.shape), np.int32)
    dirty = instances.replace(
        holes=np.where(outside, random_bits.random(outside.shape) < 0.5, instances.holes),
        starts=np.where(absent[..., None], cells[0], instances.starts),
        goals=np.where(absent[..., None], cells[1], instances.goals),
    )
    dirty_plans = given.replace(
        actions=np.where(past | absent[..., None], noise, given.actions).astype(np.int8),
        lengths=np.where(absent, random_bits.integers(0, 33, absent.shape, np.int32), given.lengths),
    )
    chex.assert_trees_all_equal(
        jaxenv.verify(dirty, solutions, dirty_plans), jaxenv.verify(instances, solutions, given)
    )


@pytest.mark.parametrize("room", [(10, 8), (10, 15), (13, 5), (13, 15)])
def test_the_verdict_does_not_depend_on_the_room_for_larger_maps_and_more_agents(room):
    size, agents = room
    instances, solutions, given = arguments(700)
    wider, more = size - instances.holes.shape[1], agents - instances.starts.shape[1]
    places = [
        np.pad(np.asarray(cells), ((0, 0), (0, more), (0, 0)), constant_values=size)
        for cells in (instances.starts, instances.goals)
    ]
    larger = instances.replace(
        holes=np.pad(np.asarray(instances.holes), ((0, 0), (0, wider), (0, wider)), constant_values=True),
        starts=places[0],
        goals=places[1],
    )
    longer = given.replace(
        actions=np.pad(np.asarray(given.actions), ((0, 0), (0, more), (0, 0))),
        lengths=np.pad(np.asarray(given.lengths), ((0, 0), (0, more))),
    )
    chex.assert_trees_all_equal(jaxenv.verify(larger, solutions, longer), jaxenv.verify(instances, solutions, given))


@pytest.mark.parametrize("count", [1, 31, 33, 511, 513, 1025])
def test_any_number_of_boards_is_judged_as_they_are_alone(count):
    everything = arguments(1100)
    some = jax.tree.map(lambda field: np.asarray(field)[-count:], everything)
    whole = jax.tree.map(lambda field: np.asarray(field)[-count:], jaxenv.verify(*everything))
    chex.assert_trees_all_equal(jaxenv.verify(*some), whole)


def test_the_verdict_does_not_depend_on_the_horizon_or_on_the_other_boards():
    boards, plans, labels = (part[:64] for part in cases())
    instances, solutions, given = (
        instances_of(boards),
        solutions_of(*zip(*labels, strict=True)),
        jaxenv.make_plans(plans),
    )
    verdicts = jaxenv.verify(instances, solutions, given)
    longest = int(np.asarray(given.lengths).max())
    for horizon in (longest, 33, 128):
        actions = np.zeros((64, 5, horizon), np.int8)
        actions[:, :, :longest] = np.asarray(given.actions)[:, :, :longest]
        chex.assert_trees_all_equal(jaxenv.verify(instances, solutions, given.replace(actions=actions)), verdicts)
    for k in range(0, 64, 8):
        alone = jax.tree.map(lambda x, k=k: np.asarray(x)[k : k + 1], (instances, solutions, given))
        chex.assert_trees_all_equal(
            jaxenv.verify(*alone), jax.tree.map(lambda x, k=k: np.asarray(x)[k : k + 1], verdicts)
        )


def test_one_trace_serves_all_sizes_agents_and_labels():
    chex.clear_trace_counter()
    judge = jax.jit(chex.assert_max_traces(jaxenv.verify, n=1))
    source = random.Random(1)
    for size, agents in ((3, 1), (10, 5), (7, 2)):
        boards = [random_board(source, size, agents) for _ in range(8)]
        plans = [wild_plan(source, board) for board in boards]
        given = jaxenv.make_plans(plans)
        for status in Status:
            judge(instances_of(boards), known(8, status), given)
        host = jax.tree.map(np.asarray, (instances_of(boards), given))
        judge(host[0], known(8), host[1])
    with pytest.raises(AssertionError):  # the counter counts: another number of boards is another trace
        judge(instances_of(boards[:4]), known(4), jaxenv.make_plans(plans[:4]))


host_program = jax.jit(host_verify, static_argnums=3)


def test_the_host_the_device_and_a_program_around_them_give_the_same_verdicts_bit_for_bit():
    boards, plans, labels = cases()
    arguments = instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans)
    for objective in OBJECTIVES:
        on_host = host_program(*arguments, objective)
        chex.assert_trees_all_equal(device_verify(*jax.tree.map(jnp.asarray, arguments), objective), on_host)
        chex.assert_trees_all_equal(jaxenv.verify(*arguments, objective=objective), on_host)
        judge = jax.jit(partial(jaxenv.verify, objective=objective))
        chex.assert_trees_all_equal(judge(*arguments), on_host)


def test_the_host_leaves_what_it_is_given_as_it_was():
    boards, plans, labels = cases()
    arguments = instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans)
    arguments = jax.tree.map(jnp.asarray, arguments)
    before = jax.tree.map(np.array, arguments)
    jax.block_until_ready(host_program(*arguments, OBJECTIVES[0]))
    chex.assert_trees_all_equal(arguments, before)


@pytest.mark.parametrize(
    ("side", "agents", "horizon"), [(10, 3, 64), (3, 2, 32), (13, 2, 32), (10, 12, 32), (13, 15, 128)]
)
def test_host_and_device_agree_on_arrays_that_no_constructor_would_let_pass(side, agents, horizon):
    source, count = np.random.default_rng(side), 2048

    def some(share, low, high, values):
        """A share of the values replaced by any of a range."""
        return np.where(source.random(values.shape) < share, source.integers(low, high, values.shape), values)

    def ints(values):
        return values.astype(np.int32)

    size = ints(some(0.05, -3, 40, source.integers(max(side - 3, 1), side + 1, count)))
    present = ints(some(0.05, -2, 20, source.integers(1, agents + 1, count)))
    holes = source.random((count, side, side)) < source.choice([0, 0.02, 0.1], (count, 1, 1))
    starts, goals = (some(0.01, -300, 300, source.integers(0, side, (count, agents, 2))) for _ in range(2))
    goals = np.where(source.random((count, 1, 1)) < 0.4, starts, goals)
    moving = source.random((count, agents, horizon)) < source.choice([0, 0.01, 0.1], (count, 1, 1))
    actions = some(0.001, -128, 128, np.where(moving, source.integers(0, 5, moving.shape), 0)).astype(np.int8)
    lengths = ints(some(0.01, -5, 300, source.integers(0, horizon + 1, (count, agents))))
    outcome = ints(some(0.05, -3, 40, np.zeros(count)))
    plans = Plans(actions, lengths, outcome)
    instances = Instances(size, present, holes, ints(starts), ints(goals))
    status, total, makespan = (ints(source.integers(-1, 9, count)) for _ in range(3))
    labels = solutions_of(status, some(0.01, -(2**31), 2**31, total), makespan)
    on_host = host_program(instances, labels, plans, "sum_of_costs")
    chex.assert_trees_all_equal(
        device_verify(*jax.tree.map(jnp.asarray, (instances, labels, plans)), "sum_of_costs"), on_host
    )
    assert len(np.unique(on_host.label)) > 8


def test_verdicts_stay_where_the_boards_are():
    boards, plans, labels = (part[:64] for part in cases())
    arguments = instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans)
    free = jaxenv.verify(*jax.tree.map(np.asarray, arguments))
    bound = jaxenv.verify(*jax.device_put(arguments, jax.devices()[0]))
    assert not free.label.committed and bound.label.committed


def test_the_verifier_can_be_mapped_over_sets_of_plans_for_the_same_boards():
    boards, plans, labels = (part[:40] for part in cases())
    instances, solutions = instances_of(boards), solutions_of(*zip(*labels, strict=True))
    given = jaxenv.make_plans(plans)
    idle = given.replace(lengths=np.zeros_like(given.lengths))
    both = jax.tree.map(lambda *parts: np.stack(parts), given, idle)
    verdicts = jax.vmap(jaxenv.verify, in_axes=(None, None, 0))(instances, solutions, both)
    for k, one in enumerate((given, idle)):
        found = jax.tree.map(lambda field, k=k: field[k], verdicts)
        chex.assert_trees_all_equal(found, jaxenv.verify(instances, solutions, one))


_SPREAD = """
import chex, jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tests.jaxenv.test_verify import arguments
import jaxenv
assert jax.local_device_count() == 8
boards = NamedSharding(Mesh(jax.devices(), "boards"), PartitionSpec("boards"))
spread = jax.device_put(arguments(512), boards)
for judge in (jaxenv.verify, jax.jit(jaxenv.verify)):  # programs of their own, and one
    verdicts = judge(*spread)
    assert verdicts.agents.sharding.is_equivalent_to(boards, 2), verdicts.agents.sharding
    chex.assert_trees_all_equal(verdicts, jaxenv.verify(*arguments(512)))
"""


def arguments(count):
    boards, plans, labels = (part[:count] for part in cases())
    return instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans)


def test_eight_devices_judge_their_own_boards_alike():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", _SPREAD], env=environment, check=True)


def test_a_fault_in_code_of_the_host_ends_the_program_that_called_it_with_its_message():
    def fault(given, found):
        raise ValueError(f"{shape(given, 1)} given, {shape(found, 0)} to fill")

    register("lakeloop_test_fault", fault)
    call = jax.ffi.ffi_call("lakeloop_test_fault", [jax.ShapeDtypeStruct((3,), np.int32)])
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"ValueError: \(2, 5\) given, \(3,\) to fill"):
        jax.block_until_ready(jax.jit(call)(np.zeros((), np.float32), np.zeros((2, 5), np.int8)))


def test_the_verifier_can_be_traced_and_keeps_to_the_types_of_the_contract():
    boards, plans, labels = (part[:16] for part in cases())
    arguments = instances_of(boards), solutions_of(*zip(*labels, strict=True)), jaxenv.make_plans(plans)
    traced = jax.eval_shape(jaxenv.verify, *arguments)
    assert jax.tree.map(lambda x: x.shape, traced) == jax.tree.map(lambda x: x.shape, jaxenv.verify(*arguments))
    kinds = {name: str(getattr(traced, name).dtype) for name in traced.__dataclass_fields__}
    assert kinds == {
        "label": "int32",
        "flags": "uint32",
        "valid": "bool",
        "optimal": "bool",
        "sum_of_costs": "int32",
        "makespan": "int32",
        "gap": "float32",
        "step": "int32",
        "agents": "int32",
        "cell": "int32",
    }
