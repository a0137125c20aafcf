"""The doctor says what is missing for which recipe, and its exit code whether the default one can run."""

from dataclasses import replace

import pytest

from experiments import doctor
from experiments.doctor import GIB, GPU_MEMORY, Facts, assess
from experiments.recipe import load, names

LAPTOP = Facts(
    python=(3, 11, 7),
    versions={"jax": "0.10.2"},
    unmet=[],
    vllm=None,
    vllm_cpu=None,
    jax_devices=["cpu: cpu"],
    cuda=[],
    numba_threads=2,
    cores=2,
    memory=8 * GIB,
    disk=10 * GIB,
    writable=True,
    starter=True,
)


def test_a_laptop_runs_the_default_recipe_and_learns_what_the_others_need():
    recipes = assess(LAPTOP)
    assert recipes["starter"] == []
    assert "a CUDA device that torch can see" in recipes["qwen3-4b-24g"]
    assert recipes["starter with vLLM on a CPU"] == ["vllm-cpu (make vllm)"]


def test_a_gpu_machine_with_vllm_runs_the_large_recipes_that_fit_its_card():
    machine = replace(LAPTOP, cuda=[("a card", 48 * GIB)], vllm="0.31.0", disk=100 * GIB)
    found = assess(machine)
    assert found["qwen3-4b-24g"] == found["qwen3-4b-48g"] == []
    assert found["qwen3-4b-80g"] == ["74 GiB of GPU memory (48.0 found)"]
    assert found["paper"] == found["qwen3-4b-141g"] == ["131 GiB of GPU memory (48.0 found)"]


def test_every_shipped_recipe_that_needs_a_gpu_has_a_row():
    large = {name for name in names() if load(name).model == "Qwen/Qwen3-4B"}
    assert large == set(GPU_MEMORY)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"unmet": ["trl 1.15 is not ==1.16.0"]}, "trl 1.15"),
        ({"memory": 4 * GIB}, "6 GiB of memory (4.0 found)"),
        ({"disk": GIB}, "2 GiB of free disk (1.0 found)"),
        ({"starter": False}, "warmstart"),
        ({"writable": False}, "permission to write"),
        ({"jax_devices": []}, "a JAX device"),
        ({"python": (3, 10, 1)}, "Python 3.11"),
    ],
)
def test_each_thing_that_is_missing_stops_the_default_recipe(change, missing):
    found = assess(replace(LAPTOP, **change))["starter"]
    assert len(found) == 1 and missing in found[0]


@pytest.mark.parametrize(("starter", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_the_default_recipe_can_run(monkeypatch, capsys, starter, code):
    monkeypatch.setattr(doctor, "collect", lambda: replace(LAPTOP, starter=starter))
    assert doctor.main([]) == code
    printed = capsys.readouterr().out
    assert "starter with vLLM" in printed and "qwen3-4b-141g" in printed and "'.[gpu]'" in printed.replace("\n", "")


def test_this_machine_is_asked_in_a_child_process():
    facts = doctor.collect()
    assert facts.jax_devices and facts.numba_threads >= 1 and facts.errors == []
    assert facts.versions["torch"] is not None and facts.memory > GIB


def test_a_probe_that_crashes_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "_PROBE", "raise SystemExit(3)")
    facts = doctor.collect()
    assert facts.jax_devices == [] and "the probe failed" in facts.errors[0]
