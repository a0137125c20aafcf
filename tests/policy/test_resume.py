"""A stage whose process is killed at any moment and gone on with equals one that was never interrupted."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from policy.checkpoints import last_whole
from tests.policy.stagejob import save_boards, write_job

ROOT = Path(__file__).resolve().parents[2]
STEPS = 5

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A folder with a job's boards, and a function that starts its process."""
    folder = tmp_path_factory.mktemp("stage")
    save_boards(folder, seed=5, count=24)

    def start(name):
        file = write_job(
            folder,
            name,
            seed=11,
            reward={"max_tokens": 48},
            # Two passes over the boards: the order of the second one, too, must come back.
            grpo={
                "num_generations": 4,
                "per_device_train_batch_size": 8,
                "gradient_accumulation_steps": 4,
                "max_steps": STEPS,
                "learning_rate": 1e-3,
                "save_strategy": "steps",
                "save_steps": 1,
            },
            rehearsal={"steps": 2, "targets": "teacher"},
        )
        return subprocess.Popen(
            [sys.executable, "-m", "experiments.steps.train_stage", str(file)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    return folder, start


def steps_told(process):
    """The steps that a running process reports, as they come."""
    for line in process.stdout:
        if line.startswith('{"progress"'):
            yield json.loads(line)["progress"]["done"]


def test_weights_boards_and_rollouts_are_the_same_bit_by_bit(stage):
    folder, start = stage
    whole = start("whole")
    assert list(steps_told(whole)) == list(range(1, STEPS + 1)) and whole.wait() == 0

    chosen = random.Random(int(os.environ.get("KILL_SEED", "3")))
    first = start("killed")
    last = chosen.randint(1, STEPS - 1)
    for step in steps_told(first):
        if step == last:
            time.sleep(chosen.uniform(0, 0.5))  # into the writing of the checkpoint, or the next step
            break
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    begun = last_whole(folder / "killed" / "checkpoints")
    second = start("killed")
    told = list(steps_told(second))
    assert second.wait() == 0
    assert told[0] == (1 if begun is None else int(begun.name.removeprefix("checkpoint-")) + 1), "it began elsewhere"

    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    assert weights[0] != (ROOT / "policy" / "models" / "starter" / "model.safetensors").read_bytes()
    tables = [pq.read_table(folder / name / "rollouts.parquet") for name in ("whole", "killed")]
    assert tables[0].num_rows == STEPS * 32
    for column in tables[0].column_names:
        np.testing.assert_array_equal(*(table[column].to_numpy() for table in tables))

    def logged(name):
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        rows = [row for row in rows if row["kind"] == "train"]
        return [{row["step"]: row for row in rows}[step] for step in range(1, STEPS + 1)]

    for one, other in zip(logged("whole"), logged("killed"), strict=True):
        for key in ("ability", "reward", "loss", "grad_norm", "learning_rate"):
            assert one[key] == other[key], key
    assert not list((folder / "killed" / "checkpoints").glob("checkpoint-*"))
