"""No two uses of randomness and no two runs share a seed; threads are the recipe's, over all processes."""

import itertools

import pytest

from experiments.plan import steps_of
from experiments.process import environment
from experiments.recipe import load


def seeds(run):
    """Of the steps that sample or shuffle, by what they make."""
    steps = steps_of(load("smoke", ["stages=3", f"seed={run}"]))
    return {step.out: step.job["seed"] for step in steps if step.kind in ("train_stage", "engineer", "first_config")}


def test_stages_and_runs_have_seeds_of_their_own():
    found = [seeds(run) for run in (0, 1, 2)]
    assert all(len(each) == 3 + 4 + 1 for each in found)
    every = list(itertools.chain.from_iterable(each.values() for each in found))
    assert len(set(every)) == len(every)
    assert seeds(1) == found[1]


@pytest.mark.parametrize(
    ("threads", "processes", "each"), [(None, 1, None), (4, 1, "4"), (4, 2, "2"), (3, 2, "1"), (1, 4, "1")]
)
def test_a_step_has_the_recipes_threads_over_all_its_processes(threads, processes, each, monkeypatch):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "JAX_PLATFORMS"):
        monkeypatch.delenv(name, raising=False)
    found = environment(threads, processes)
    assert found.get("OMP_NUM_THREADS") == found.get("NUMBA_NUM_THREADS") == each
    assert found.get("JAX_PLATFORMS") == ("cpu" if processes > 1 else None)


def test_several_processes_never_take_all_threads_each(monkeypatch):
    monkeypatch.setattr("experiments.process.cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert environment(None, 4)["OMP_NUM_THREADS"] == "2"
