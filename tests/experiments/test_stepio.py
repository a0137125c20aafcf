"""What steps and driver say to each other."""

import errno
import json
import threading

import pytest

from experiments.errors import StepError
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
