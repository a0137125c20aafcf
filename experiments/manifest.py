"""What a run was made with: versions, seeds, commit, recipe, and every session that worked on it."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from experiments.recipe import Recipe

_PACKAGES = (
    *("lakeloop", "jax", "jaxlib", "flax", "chex", "orbax-checkpoint", "numpy", "numba", "scipy", "pyarrow"),
    *("pydantic", "torch", "transformers", "tokenizers", "trl", "accelerate", "datasets", "safetensors", "vllm"),
)
_SOURCE = Path(__file__).resolve().parent.parent


def manifest(recipe: Recipe, seeds: dict[str, int], earlier: dict[str, Any]) -> dict[str, Any]:
    """The manifest of this session, with those before it in `sessions`."""
    session = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "experiments.run", *sys.argv[1:]]),
        "process": os.getpid(),
        "commit": _commit(),
        "recipe_hash": recipe.content_hash(),
    }
    return {
        "recipe": recipe.name,
        "recipe_hash": recipe.content_hash(),
        "commit": session["commit"],
        "versions": {"python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "seeds": seeds,
        "sessions": [*earlier.get("sessions", []), session],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The sources' commit, with `+` when they were changed since; None outside a checkout."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(_SOURCE), *arguments], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
