import hashlib
import json
import os
import signal
import time
from pathlib import Path

from experiments.errors import StepError
from experiments.stepio import log_metrics, read_job, report_progress

SIZES = tuple(range(3, 11))


def begin():
    """Read the job and do what the test asked of this step: FAKE is `step=what`, several parted by commas."""
    job = read_job()
    asked = dict(part.split("=", 1) for part in os.environ.get("FAKE", "").split(",") if part)
    what = asked.get(job["name"], "")
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(f"{job['name']} {os.getpid()} {job.get('resume')}\n")
    report_progress(1, 2, speed=1.5)
    if what == "error":
        raise StepError("the lake has thawed; wait for winter")
    if what == "crash":
        raise RuntimeError("a fault of the program")
    if what == "full":
        raise OSError(28, "No space left on device", job["out"])
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "nothing":
        raise SystemExit(0)
    if what.startswith("half"):  # some of the output, then a long sleep
        out = Path(job["out"])
        out.mkdir(parents=True)
        (out / "half.txt").write_text("half")
        time.sleep(float(what[4:] or 60))
    return job


def random_of(job):
    import numpy as np  # the steps start faster without

    text = json.dumps({key: job.get(key) for key in ("seed", "stage", "split")}, sort_keys=True)
    return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))


def config(random):
    shares = random.dirichlet([1] * len(SIZES))
    return {
        "maps": {
            str(size): {"data_ratio": float(share), "hole_ratio": 0.2, "wait_ratio": 0.25}
            for size, share in zip(SIZES, shares, strict=True)
        }
    }


def verdicts(random, count, rate, agents=2, groups=None):
    import numpy as np

    size = np.resize(SIZES, count)
    valid = random.random(count) < rate
    optimal = valid & (random.random(count) < 0.8)
    table = {
        "board": np.arange(count),
        "size": size,
        "num_agents": np.full(count, agents),
        "label": np.where(optimal, 11, np.where(valid, 10, random.integers(5, 10, count))),
        "valid": valid,
        "optimal": optimal,
        "gap": np.where(optimal, 0.0, np.where(valid, 0.25, np.nan)),
        "tokens": random.integers(5, 40, count),
        "truncated": np.zeros(count, bool),
        "needs_wait": random.random(count) < 0.25,
        "sum_of_costs": np.where(valid, 2 * size, -1),
        "completion": np.array([f"D U R L {i}" for i in range(count)]),
    }
    if groups is not None:
        table["group"] = np.arange(count) // groups
    return table


def write_table(path, table):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(table), path)


def metrics(job, **row):
    log_metrics(job["metrics"], **row)


def write_json(path, value):
    Path(path).write_text(json.dumps(value))
