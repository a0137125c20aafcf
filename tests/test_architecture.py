"""Imports go one way, and importing a package touches nothing."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("jaxenv", "policy", "engineer", "experiments")  # each may import those before it
# `jaxenv` runs with these and nothing else installed; rich and the rest belong to the packages above it.
WORLD_NEEDS = {"jax", "flax", "chex", "numpy", "numba", "llvmlite", "pyarrow", "orbax"}
HEAVY = ("torch", "jax", "vllm", "transformers", "trl", "numba")


def sources(package):
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, f"{package} has no sources"
    return found


def imports(path, *, run_time_only=False):
    """The top-level names a module imports, anywhere in it; on request without those for the type checker alone."""
    tree = ast.parse(path.read_text())
    skipped = set()
    if run_time_only:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                skipped |= {id(child) for statement in node.body for child in ast.walk(statement)}
    names = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            names.add(str(node.module).partition(".")[0])
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package):
    above = set(PACKAGES[PACKAGES.index(package) + 1 :])
    for path in sources(package):
        wrong = imports(path) & above
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_world_needs_only_its_own_few_libraries():
    for path in sources("jaxenv"):
        foreign = imports(path) - set(sys.stdlib_module_names) - WORLD_NEEDS - {"jaxenv"}
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"


def test_boards_are_made_and_judged_without_the_library_that_stores_them():
    code = "import sys; sys.modules['pyarrow'] = None; import jaxenv.generate, jaxenv.benchmarks, jaxenv.verify"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_host_solver_needs_no_jax():
    for path in (ROOT / "jaxenv").glob("host_*.py"):
        assert "jax" not in imports(path, run_time_only=True), path


def test_no_test_only_library_is_imported_by_a_package():
    for package in PACKAGES:
        for path in sources(package):
            assert not imports(path) & {"pytest", "hypothesis", "tests"}, path


def run_python(code):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


SPY = """
import json, os, sys, threading
read = []
class Spy(dict):
    def note(self, key):
        frame = sys._getframe(2)
        while frame and frame.f_globals.get("__name__", "") in ("os", "_collections_abc", "collections.abc"):
            frame = frame.f_back
        owner = frame.f_globals.get("__name__", "") if frame else ""
        if owner.partition(".")[0] in ("jaxenv", "policy", "engineer", "experiments"):
            read.append(f"{owner} reads {key}")
original = type(os.environ).__getitem__
def spying(self, key):
    Spy().note(key)
    return original(self, key)
type(os.environ).__getitem__ = spying
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_no_heavy_library_starts_no_thread_and_reads_no_variable(package):
    found = run_python(
        SPY
        + f"""
import {package}
print(json.dumps({{
    "heavy": [name for name in {HEAVY!r} if name in sys.modules],
    "threads": threading.active_count(), "read": read,
}}))"""
    )
    assert found == {"heavy": [], "threads": 1, "read": []}


def modules(package):
    """Every importable module, but for those that run when imported as `python -m` does."""
    for path in sources(package):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("package", PACKAGES[:3])
def test_importing_every_module_touches_no_device_and_reads_no_variable(package):
    # adityab/CrossQ/issues/7: a variable set after the import had no effect, for the import had taken the device.
    found = run_python(
        SPY
        + f"""
import importlib
for name in {list(modules(package))!r}:
    importlib.import_module(name)
backends = sys.modules["jax._src.xla_bridge"]._backends if "jax._src.xla_bridge" in sys.modules else {{}}
cuda = "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized()
print(json.dumps({{"backends": sorted(backends), "cuda": cuda, "read": read}}))"""
    )
    assert found == {"backends": [], "cuda": False, "read": []}


def test_the_spies_see_a_module_that_touches_a_device_or_reads_a_variable():
    found = run_python(
        SPY
        + """
import types
module = types.ModuleType("policy.fake")
exec("import os; os.environ.get('HOME'); os.getenv('PATH'); import jax.numpy as jnp; jnp.zeros(1)", module.__dict__)
print(json.dumps({"backends": sorted(sys.modules["jax._src.xla_bridge"]._backends), "read": read}))"""
    )
    assert "cpu" in found["backends"]
    assert {line.split()[-1] for line in found["read"]} == {"HOME", "PATH"}


def test_the_driver_the_sweep_the_comparison_and_their_help_load_no_heavy_library():
    found = run_python(
        f"""
import contextlib, io, json, sys
from experiments import commands, doctor, driver, report_command, run, watch
from experiments.ablate import cluster, command, rates, sweep
from experiments.steps import compare
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    run.main(["--help"])
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"""
    )
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_can_be_imported(package):
    found = run_python(
        f"""
import json, {package} as package
missing = [name for name in getattr(package, "__all__", []) if not hasattr(package, name)]
try:
    package.no_such_name
    missing.append("an unknown name raises nothing")
except AttributeError:
    pass
print(json.dumps(missing))"""
    )
    assert found == []
