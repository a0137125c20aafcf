"""The device engine against golden boards, the host engine, the verifier and its own limits."""

import os
import random
import subprocess
import sys
from functools import lru_cache
from importlib import import_module

import jax
import numpy as np
import pytest

import jaxenv
from jaxenv import Status, device_queue
from jaxenv.types import Instances, Solutions
from tests.jaxenv.test_solve import GOLDEN, OBJECTIVES, _board, _random_board

solve = import_module("jaxenv.solve")  # the attribute of that name is the function

LABELS = ("status", "sum_of_costs", "makespan", "lower_bound", "single_path_bound", "needs_wait", "interacts")


def _instances(boards) -> Instances:
    rows, starts, goals = zip(*boards, strict=True)
    return jaxenv.make_instances(list(rows), list(starts), list(goals))


def _labels(solutions: Solutions) -> dict[str, np.ndarray]:
    return {name: np.asarray(getattr(solutions, name)) for name in LABELS}


@lru_cache
def _random_instances(count=2_000):
    """Boards of every kind, 2 to 5 agents in turn, so that each number of agents fills most of the small queue."""
    rng = random.Random(11)
    return _instances(
        [_random_board(rng, rng.randint(3, 10), 2 + k % 4, rng.uniform(0, 0.5)) for k in range(count)],
    )


@lru_cache
def _solved(engine, objective):
    return jaxenv.solve(_random_instances(), engine=engine, objective=objective)


@pytest.fixture
def no_host(monkeypatch):
    """The device engine does its work alone."""

    def refuse(*_):
        raise AssertionError("the host engine was called")

    monkeypatch.setattr(solve, "host_solve", refuse)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_optimum_claimed_for_a_golden_board_is_its_known_one(objective, no_host):
    instances = _instances([_board(golden) for golden in GOLDEN])
    solutions = jaxenv.solve(instances, engine="device", objective=objective)
    found = _labels(solutions)
    determined = found["status"] == Status.OPTIMAL
    for b, golden in enumerate(GOLDEN):
        if golden["soc"] is None:
            assert found["status"][b] != Status.OPTIMAL, golden["name"]
            continue
        assert found["status"][b] != Status.UNSOLVABLE, golden["name"]
        assert found["lower_bound"][b] <= golden["soc" if objective == "sum_of_costs" else "makespan"], golden["name"]
        if determined[b]:
            costs = found["sum_of_costs"][b], found["makespan"][b]
            assert costs == (golden["soc"], golden["makespan"]), golden["name"]
    assert determined.sum() > len(GOLDEN) / 2
    verdicts = jaxenv.verify(instances, solutions, solutions.plans, objective=objective)
    assert np.asarray(verdicts.optimal)[determined].all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_the_device_determines_the_host_determines_alike(objective):
    device, host = _labels(_solved("device", objective)), _labels(_solved("host", objective))
    optimal = device["status"] == Status.OPTIMAL
    assert optimal.sum() > 0.5 * (host["status"] == Status.OPTIMAL).sum()
    assert (host["status"] == Status.OPTIMAL)[optimal].all()
    assert (host["status"] == Status.UNSOLVABLE)[device["status"] == Status.UNSOLVABLE].all()
    for name in LABELS:
        np.testing.assert_array_equal(device[name][optimal], host[name][optimal], err_msg=name)
    np.testing.assert_array_equal(device["single_path_bound"], host["single_path_bound"])
    # All kinds of boards occur, so that agreement says something of each label.
    for name in ("needs_wait", "interacts"):
        assert 20 < host[name][optimal].sum() < optimal.sum() - 20


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_plan_of_the_device_is_verified_at_exactly_the_claimed_cost(objective):
    instances, solutions = _random_instances(), _solved("device", objective)
    optimal = np.asarray(solutions.status) == Status.OPTIMAL
    verdicts = jaxenv.verify(instances, solutions, solutions.plans, objective=objective)
    assert np.asarray(verdicts.valid)[optimal].all() and np.asarray(verdicts.optimal)[optimal].all()
    claimed, true = (np.asarray(getattr(x, objective))[optimal] for x in (solutions, verdicts))
    np.testing.assert_array_equal(claimed, true)
    assert (np.asarray(solutions.plans.lengths)[~optimal] == 0).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_few_steps_leave_boards_undetermined_with_a_true_bound(objective, no_host):
    best = _labels(_solved("device", objective))
    few = jaxenv.solve(_random_instances(), engine="device", objective=objective, max_steps=20)
    found = _labels(few)
    undetermined, solvable = (x["status"] == s for x, s in ((found, Status.UNDETERMINED), (best, Status.OPTIMAL)))
    assert 100 < (undetermined & solvable).sum() < solvable.sum()
    assert (found["lower_bound"] <= best[objective])[undetermined & solvable].all()
    assert (found["lower_bound"] >= found["single_path_bound"])[undetermined].all()
    for name in ("sum_of_costs", "makespan"):
        assert (found[name][undetermined] == -1).all()
    assert not found["needs_wait"][undetermined].any() and not found["interacts"][undetermined].any()
    for name in ("status", "sum_of_costs", "makespan", "needs_wait", "interacts"):
        np.testing.assert_array_equal(found[name][~undetermined], best[name][~undetermined], err_msg=name)


def test_cut_off_goals_are_unsolvable_and_stuck_agents_undetermined(no_host):
    cut_off = (["..H", "..H", "HH."], [(0, 0), (0, 1)], [(0, 1), (2, 2)])
    stuck = (["...", "HHH", "HHH"], [(0, 0), (0, 2)], [(0, 2), (0, 0)])
    home = (["...", "HHH", "HHH"], [(0, 0), (0, 2)], [(0, 0), (0, 2)])
    found = _labels(jaxenv.solve(_instances([cut_off, stuck, home]), engine="device"))
    assert found["status"].tolist() == [Status.UNSOLVABLE, Status.UNDETERMINED, Status.OPTIMAL]
    assert found["single_path_bound"].tolist() == [-1, 4, 0]
    assert found["sum_of_costs"].tolist() == [-1, -1, 0]


def test_one_trace_serves_all_sizes_objectives_and_limits():
    rng = random.Random(3)
    program = device_queue.program(device_queue.CHUNKS[0][1])
    traces = set()
    for size in range(3, 11):
        boards = [_random_board(rng, size, 2, 0.1) for _ in range(size)]
        jaxenv.solve(_instances(boards), engine="device", objective=OBJECTIVES[size % 2], max_steps=10 * size)
        traces.add(program._cache_size())
    assert len(traces) == 1


def test_labels_and_plans_depend_neither_on_the_order_of_boards_nor_on_the_queue(monkeypatch):
    instances = jax.tree.map(lambda x: np.asarray(x)[np.asarray(_random_instances().num_agents) == 3][:200],
                             _random_instances())  # fmt: skip
    plain = jaxenv.solve(instances, engine="device")
    order = np.random.default_rng(0).permutation(len(instances))
    # Small queues: lanes change boards often, several chunks are needed, and the last one is padded.
    monkeypatch.setattr(device_queue, "CHUNKS", ((64, 16),))
    shuffled = jaxenv.solve(jax.tree.map(lambda x: x[order], instances), engine="device")
    jax.tree.map(lambda one, two: np.testing.assert_array_equal(np.asarray(one)[order], two), plain, shuffled)


def test_on_an_accelerator_auto_lets_the_host_finish(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(solve, "DEFAULT_MAX_STEPS", 20)
    found = _labels(jaxenv.solve(_random_instances(), engine="auto"))
    for name, values in _labels(_solved("host", "sum_of_costs")).items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_on_a_cpu_auto_is_the_host(monkeypatch):
    monkeypatch.setattr(solve, "device_solve", None)
    assert jaxenv.solve(_instances([_board(GOLDEN[0])])).status.tolist() == [Status.OPTIMAL]


_EIGHT_DEVICES = """
import jax, numpy as np
from tests.jaxenv.test_device import LABELS, _random_instances
import jaxenv
from jaxenv import device_queue
assert jax.local_device_count() == 8
device_queue.CHUNKS = ((16, 8),)
instances = jax.tree.map(lambda x: np.asarray(x)[np.asarray(_random_instances().num_agents) == 2], _random_instances())
solutions = jaxenv.solve(instances, engine="device")
np.savez(__import__("sys").argv[1], *jax.tree.leaves(solutions))
"""


def test_eight_devices_find_what_one_finds(tmp_path):
    path = tmp_path / "eight.npz"
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", _EIGHT_DEVICES, str(path)], env=environment, check=True)
    mine = np.asarray(_random_instances().num_agents) == 2
    instances = jax.tree.map(lambda x: np.asarray(x)[mine], _random_instances())
    one = jax.tree.leaves(jaxenv.solve(instances, engine="device"))
    with np.load(path) as eight:
        for mine_, theirs in zip(one, eight.values(), strict=True):
            np.testing.assert_array_equal(mine_, theirs)
