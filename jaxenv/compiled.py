"""Compiled code that is cached between processes, and goes stale with any of its sources.

Numba looks only at the file of a cached function to see whether it changed, not at the functions it calls: a result
could come from code that is no longer there. What a function closes over is part of the cache's key, though. So of
functions compiled together only the entry is cached; it closes over the fingerprint of all sources, and gives it back.
"""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path


def fingerprint(modules: Iterable[str]) -> int:
    """One number for the sources of these modules of the package."""
    here = Path(__file__).parent
    digest = sha256()
    for name in modules:
        digest.update((here / f"{name}.py").read_bytes())
    return int.from_bytes(digest.digest()[:7], "little")
