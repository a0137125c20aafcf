"""The doctor says what is missing for which recipe, and its exit code whether the default one can run."""

from dataclasses import replace

import pytest

from experiments import doctor
from experiments.doctor import GIB, Facts, assess

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
    assert recipes["stage_loop"] == []
    assert "a CUDA device that torch can see" in recipes["qwen3-4b on a GPU"]
    assert recipes["vLLM on a CPU"] == ["vllm-cpu (make vllm)"]


def test_a_gpu_machine_with_vllm_runs_the_large_recipe():
    machine = replace(LAPTOP, cuda=[("a card", 24 * GIB)], vllm="0.31.0", disk=100 * GIB)
    assert assess(machine)["qwen3-4b on a GPU"] == []
    small = replace(machine, cuda=[("a card", 16 * GIB)])
    assert assess(small)["qwen3-4b on a GPU"] == ["22 GiB of GPU memory (16.0 found)"]


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
    found = assess(replace(LAPTOP, **change))["stage_loop"]
    assert len(found) == 1 and missing in found[0]


@pytest.mark.parametrize(("starter", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_the_default_recipe_can_run(monkeypatch, capsys, starter, code):
    monkeypatch.setattr(doctor, "collect", lambda: replace(LAPTOP, starter=starter))
    assert doctor.main([]) == code
    printed = capsys.readouterr().out
    assert "stage_loop" in printed and "'.[gpu]'" in printed.replace("\n", "")


def test_this_machine_is_asked_in_a_child_process():
    facts = doctor.collect()
    assert facts.jax_devices and facts.numba_threads >= 1 and facts.errors == []
    assert facts.versions["torch"] is not None and facts.memory > GIB


def test_a_probe_that_crashes_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "_PROBE", "raise SystemExit(3)")
    facts = doctor.collect()
    assert facts.jax_devices == [] and "the probe failed" in facts.errors[0]
