"""The run folder: one owner at a time, outputs that appear whole, markers that say what each was made from.

Every output is written beside its place (`.NAME.part`), renamed into it, and then marked (`.NAME.done`) with the hash
of its inputs and a digest of its content. What has no marker, or one of other inputs or content, is made again.
"""

import fcntl
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import IO, Any

from experiments.errors import RunFolderError
from experiments.stepio import explain, write_json

LOCK, METRICS, RECIPE, MANIFEST, LOGS = ".lock", "metrics.jsonl", "recipe.yaml", "manifest.json", "logs"
_WHOLE = 64 << 20  # files up to this size are hashed by content, larger ones by size and time of change


class RunFolder:
    """A run folder that this process owns until it closes it; children that inherit the lock own it with it."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, resume: bool, patience: float = 10.0) -> "RunFolder":
        """Create the folder, or take up an old one.

        `patience`: seconds to wait for processes of a run that was killed a moment ago.
        """
        folder = Path(path).absolute()
        if resume and not (folder / RECIPE).is_file():
            raise RunFolderError(f"there is no run in {folder}; leave --resume out to start one")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _lock(folder / LOCK, patience if resume else 0.0)
            if not resume and any(entry.name != LOCK for entry in folder.iterdir()):
                lock.close()
                raise RunFolderError(
                    f"{folder} is not empty; continue the run in it with --resume, or choose another folder with --run"
                )
            (folder / LOGS).mkdir(exist_ok=True)
        except OSError as error:
            raise RunFolderError(explain(error) or f"{folder} cannot be used: {error}") from error
        return cls(folder, lock)

    def close(self) -> None:
        self._lock.close()

    @property
    def lock_descriptor(self) -> int:
        """To be inherited by every child, so that the folder stays in use for as long as any of them lives."""
        return self._lock.fileno()

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    def part(self, out: str) -> Path:
        """Where the output is written before it is whole."""
        place = self.path / out
        return place.with_name(f".{place.name}.part")

    def begin(self, out: str, inputs: str, *, keep: bool) -> bool:
        """Make ready to write an output. True when `keep` is asked for and a part of the same inputs is there."""
        part, started = self.part(out), self._beside(out, "started")
        if keep and part.exists() and _read(started).get("inputs") == inputs:
            return True
        part.parent.mkdir(parents=True, exist_ok=True)
        _remove(part)
        write_json(started, {"inputs": inputs})
        return False

    def commit(self, out: str, inputs: str, **facts: Any) -> None:
        """Put the finished part in its place and mark it."""
        place, part = self.path / out, self.part(out)
        old, marker = self._beside(out, "old"), self._beside(out, "done")
        digest = digest_of(part)
        marker.unlink(missing_ok=True)
        _remove(old)
        if place.exists():
            place.rename(old)
        part.rename(place)
        write_json(marker, {"inputs": inputs, "content": digest, **facts})
        _remove(old)
        self._beside(out, "started").unlink(missing_ok=True)

    def is_done(self, out: str, inputs: str) -> bool:
        """Whether the output is there, from these inputs, as it was written."""
        place = self.path / out
        marker = read_marker(place)
        return marker.get("inputs") == inputs and place.exists() and marker.get("content") == digest_of(place)

    def drop_metrics(self, job: str) -> None:
        """Take out the lines of an earlier attempt at a step, and a last line that a kill cut short."""
        if not self.metrics.exists():
            return
        beside = self.metrics.with_name(f".{METRICS}.part")
        with self.metrics.open(encoding="utf-8") as lines, beside.open("w", encoding="utf-8") as kept:
            kept.writelines(line for line in lines if line.endswith("\n") and _job_of(line) not in (job, None))
        beside.replace(self.metrics)

    def _beside(self, out: str, suffix: str) -> Path:
        place = self.path / out
        return place.with_name(f".{place.name}.{suffix}")


def read_marker(place: Path) -> dict[str, Any]:
    """What the marker of an output says; empty without one."""
    return _read(place.with_name(f".{place.name}.done"))


def digest_of(path: Path) -> str:
    """A hash of a file, or of all files of a folder with their names."""
    digest = hashlib.blake2b(digest_size=16)
    files = [path] if path.is_file() else sorted(entry for entry in path.rglob("*") if entry.is_file())
    for file in files:
        status = file.stat()
        digest.update(f"{file.relative_to(path)} {status.st_size}\n".encode())
        digest.update(file.read_bytes() if status.st_size <= _WHOLE else str(status.st_mtime_ns).encode())
    return digest.hexdigest()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a metrics file."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue  # a line that a kill cut short
    return rows


def _lock(path: Path, patience: float) -> IO[str]:
    stream = path.open("a+", encoding="utf-8")
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            stream.seek(0)
            owner = stream.read().strip() or "unknown"
            stream.close()
            raise RunFolderError(
                f"{path.parent} is in use by process {owner}; wait for it or choose another folder with --run"
            ) from None
    stream.truncate(0)
    stream.write(f"{os.getpid()}\n")
    stream.flush()
    return stream


def _read(path: Path) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return value
    except (OSError, ValueError):
        return {}


def _job_of(line: str) -> str | None:
    try:
        return str(json.loads(line).get("job", ""))
    except ValueError:
        return None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
