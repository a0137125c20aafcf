"""`generate` on the command line: what cannot be had is refused in one line, and the nearest mix says what changed."""

import json

import numpy as np
import pytest

import jaxenv
from experiments.commands import main

# One agent never needs a wait.
ASKED = {
    "maps": {
        str(n): {"data_ratio": 0.5 if n < 5 else 0.0, "hole_ratio": 0.1, "wait_ratio": 1.0 if n == 3 else 0.0}
        for n in range(3, 11)
    }
}


@pytest.fixture
def arguments(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(ASKED))
    out = tmp_path / "set"
    return ["--config", str(tmp_path / "config.json"), "--num-agents", "1", "--count", "40", "--out", str(out)], out


def test_what_cannot_be_had_is_refused_and_the_nearest_mix_says_what_changed(arguments, capsys):
    # Known report VectorizedMultiAgentSimulator#126: the error names what is impossible, and it comes in bounded time.
    argv, out = arguments
    assert main("generate", argv) == 2
    told = capsys.readouterr().err
    assert "3x3 boards that need a wait" in told and "0.00% of the class" in told and "lower wait_ratio" in told
    assert not out.exists()
    assert main("generate", [*argv, "--nearest"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        str(out),
        "changed: 0 3x3 boards that need a wait (hole ratio 0.1) instead of 20",
        "changed: 20 3x3 boards that need no wait (hole ratio 0.1) instead of 0",
    ]
    boards = jaxenv.Dataset.load(out)
    assert len(boards) == 40 and np.bincount(boards.instances.size).tolist() == [0, 0, 0, 20, 20]
    assert (out / "README.md").read_text().startswith("---\n")
