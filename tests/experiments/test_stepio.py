"""What steps and driver say to each other."""

import errno
import json
import socket
import subprocess
import sys
import threading

import pytest

from experiments.errors import StepError
from experiments.process import environment
from experiments.stepio import explain, log_metrics, write_json, write_text
from jaxenv.errors import GenerationError


def test_lines_of_writers_side_by_side_never_mix(tmp_path):
    path = tmp_path / "metrics.jsonl"

    def write(name):
        for step in range(200):
            log_metrics(path, writer=name, step=step, text="x" * 300)

    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    [writer.start() for writer in writers]
    [writer.join() for writer in writers]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["writer"], row["step"]) for row in rows) == [(w, s) for w in range(4) for s in range(200)]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "value.json"
    write_json(path, {"a": 1})
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space", "/there"), "/there: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/there"), "/there: no permission to write there"),
        (OSError(errno.EROFS, "Read-only"), "the file system is read-only"),
        (StepError("two\nlines"), "two lines"),
        (GenerationError("too few boards"), "too few boards"),
        (MemoryError(), "the memory is used up"),
    ],
)
def test_what_the_user_can_mend_is_one_line(error, said):
    assert explain(error).startswith(said) and "\n" not in explain(error)


@pytest.mark.parametrize("error", [RuntimeError("x"), FileNotFoundError(errno.ENOENT, "x"), ValueError("x")])
def test_a_fault_of_the_program_keeps_its_traceback(error):
    assert explain(error) is None


def test_a_message_to_the_driver_is_one_write_that_begins_a_line(tmp_path):
    job = tmp_path / "job.json"
    job.write_text("{}")
    step = (
        "from experiments.errors import StepError\n"
        "from experiments.stepio import read_job, report_progress\n"
        "read_job(); report_progress(1, 2, loss=0.5); print('words'); raise StepError('thin ice')"
    )
    # Of such a socket every write is read apart, as the driver may read them between those of another process.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        subprocess.run(
            [sys.executable, "-c", step, str(job)], stdout=theirs, stderr=subprocess.DEVNULL, env=environment(1)
        )
        ours.setblocking(False)
        writes = []
        while len(writes) < 10:
            try:
                writes.append(ours.recv(1 << 16).decode())
            except BlockingIOError:
                break
    messages = [json.loads(text) for text in writes if "{" in text]
    assert messages == [{"progress": {"done": 1, "total": 2, "loss": 0.5}}, {"error": "thin ice"}]
    assert all(text[0] == text[-1] == "\n" for text in writes if "{" in text)
