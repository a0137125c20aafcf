"""What a step's process and the driver say to each other: a job file in, JSON lines out. Standard library only.

A step prints `{"progress": {...}}` lines for the driver's bar and at most one `{"error": "..."}` line for a fault that
the user can mend; everything else it prints goes to its log.
"""

import errno
import json
import os
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

OURS = ("jaxenv", "policy", "engineer", "experiments")
_FIXABLE = {
    errno.ENOSPC: "the disk is full; free some space and go on with --resume",
    errno.EDQUOT: "the disk quota is used up; free some space and go on with --resume",
    errno.EACCES: "no permission to write there; change it, or choose another folder with --run",
    errno.EPERM: "no permission to write there; change it, or choose another folder with --run",
    errno.EROFS: "the file system is read-only; choose another folder with --run",
}
_job_name: str | None = None


def read_job() -> dict[str, Any]:
    """The job of this process, from the file named on its command line; from here on errors are told in one line."""
    global _job_name
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python -m {sys.argv[0]} JOB.json")
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    _job_name = job.get("name")
    sys.excepthook = _report_error
    return job


def report_progress(done: int, total: int, **numbers: float) -> None:
    """Tell the driver how far this step is; the numbers (a loss, a rate) stand beside the bar."""
    _tell({"progress": {"done": done, "total": total, **numbers}})


def log_metrics(path: str | os.PathLike[str], **row: Any) -> None:
    """Append one line to a metrics file, with the time and the step's name. One write, so that lines never mix."""
    named = {"job": _job_name} if _job_name is not None else {}
    line = json.dumps({"time": round(time.time(), 3), **named, **row}) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file beside its place, then rename it, so that no reader sees half of it."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file beside its place, then rename it."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def explain(error: BaseException) -> str | None:
    """One line for a fault that the user can mend, None for a fault of the program."""
    if isinstance(error, OSError) and error.errno in _FIXABLE:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{_FIXABLE[error.errno]}"
    if isinstance(error, MemoryError):
        return "the memory is used up; ask for fewer boards or a smaller batch"
    if any(kind.__module__.partition(".")[0] in OURS for kind in type(error).__mro__):
        return " ".join(str(error).split())
    return None


def _report_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    line = explain(error)
    if line is not None:
        _tell({"error": line})
    traceback.print_exception(kind, error, trace)


def _tell(message: dict[str, Any]) -> None:
    """One message to the driver, in one write and from the start of a line.

    The processes of one step share the pipe, and `print` writes the end of a line apart when output is unbuffered:
    two that fail at once would tell the driver neither's error.
    """
    sys.stdout.write(f"\n{json.dumps(message)}\n")
    sys.stdout.flush()
