"""Sets streamed to disk: the same boards as in memory, whatever was killed, on any number of devices and hosts."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import jaxenv.runs
from jaxenv.config import EnvConfig
from jaxenv.dataset import Dataset
from jaxenv.errors import GenerationError, JaxenvError
from jaxenv.generate import fill, order_of
from jaxenv.streaming import generate_to, stream

ROOT = Path(__file__).parents[2]
# Of three agents both classes of a size choose among the same candidates; on crowded maps of 3x3 some of them repeat.
CONFIG = [0.3] + [0.1] * 7, [0.45] + [0.2] * 7, 0.25, 3
ASKED = EnvConfig.create(*CONFIG)
COUNT, SEED = 800, 8

# What the tests in other processes make: the set of ASKED, COUNT and SEED in many small runs.
MAKE = f"""
import sys
import jax
import jaxenv.generate
from jaxenv.config import EnvConfig
from jaxenv.generate import order_of
from jaxenv.streaming import stream
sys.modules["jaxenv.generate"]._AT_ONCE = 4096  # one class after another, so that there is something to kill
def make(folder, run=100, **options):
    order = order_of(jax.random.key({SEED}), EnvConfig.create(*{CONFIG}), {COUNT})
    stream(folder, order, run=run, progress=lambda done, total: print(done, flush=True), **options)
"""


def python(code, *, wait=True, **variables):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **variables}
    child = subprocess.Popen(
        [sys.executable, "-c", MAKE + code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if wait:
        out, err = child.communicate(timeout=240)
        assert child.returncode == 0, err[-2000:]
        return out
    return child


@pytest.fixture(scope="module")
def in_memory():
    return fill(order_of(jax.random.key(SEED), ASKED, COUNT))


def assert_same(folder, dataset):
    loaded = Dataset.load(folder)
    assert loaded.content_hash == dataset.content_hash
    assert loaded.requested == dataset.requested and loaded.realised == dataset.realised
    return loaded


def test_a_streamed_set_is_the_one_made_in_memory_to_the_last_bit(in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr(jaxenv.runs, "SHARD", 210)
    folder = stream(tmp_path / "set", order_of(jax.random.key(SEED), ASKED, COUNT), run=150)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]
    files = sorted(path.name for path in folder.glob("*.parquet"))
    assert files == [f"boards-0000{k}-of-00004.parquet" for k in range(4)]
    loaded = assert_same(folder, in_memory)
    one, other = ((d.instances, d.solutions) for d in (loaded, in_memory))
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert left.dtype == right.dtype and np.array_equal(left, right)
    saved = in_memory.save(tmp_path / "saved")
    whole = pd.concat([pd.read_parquet(folder / name) for name in files], ignore_index=True)
    pd.testing.assert_frame_equal(whole, pd.read_parquet(saved / "boards.parquet"))
    assert pq.read_schema(folder / files[0]).equals(pq.read_schema(saved / "boards.parquet"))


def test_a_small_streamed_set_is_one_file_and_replaces_a_set_but_nothing_else(in_memory, tmp_path):
    in_memory.save(tmp_path / "set")
    asked = EnvConfig.create(1 / 8, 0.1, 0.25)
    folder = generate_to(tmp_path / "set", jax.random.key(0), asked, 40, split="validation")
    assert [path.name for path in folder.glob("*.parquet")] == ["boards.parquet"]
    assert len(Dataset.load(folder)) == 40
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(JaxenvError, match="choose another folder"):
        generate_to(tmp_path / "thesis", jax.random.key(0), asked, 40)


def test_the_hub_library_reads_the_shards_through_the_card(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    from huggingface_hub import DatasetCard

    monkeypatch.setattr(jaxenv.runs, "SHARD", 30)
    folder = generate_to(tmp_path / "set", jax.random.key(0), EnvConfig.create(1 / 8, 0.1, 0.25), 64)
    told = DatasetCard.load(folder / "README.md").data
    assert told.configs[0]["data_files"] == "boards-*.parquet" and told.size_categories == ["n<1K"]
    plans = Dataset.load(folder).solutions.sum_of_costs
    for name, options in (
        ("parquet", {"data_files": str(folder / "boards-*.parquet")}),
        (str(folder), {}),  # by the front matter of the card
    ):
        rows = datasets.load_dataset(name, split="train", cache_dir=str(tmp_path / "cache"), **options)
        assert rows["sum_of_costs"][:] == plans.tolist() and rows["board"][:] == list(range(64))


def test_a_generation_killed_at_any_time_goes_on_to_the_same_set(in_memory, tmp_path):
    folder = tmp_path / "set"
    child = python(f"make({str(folder)!r})", wait=False)
    for line in child.stdout:  # a line comes before the checkpoint that it may cause
        if int(line) >= 400:
            break
    child.kill()  # no time to tidy up
    child.wait()
    child.stdout.close()
    child.stderr.close()
    work = tmp_path / ".set.part"
    assert not folder.exists() and list((work / "runs").glob("*.arrow")) and list((work / "states").iterdir())
    (work / "runs" / "000099-0000.arrow").write_bytes(b"half a run, written after the last checkpoint")
    went_on = python(f"make({str(folder)!r})")
    assert int(went_on.split()[0]) > 100  # from the checkpoint, not from the start
    assert_same(folder, in_memory)
    assert not work.exists()


def test_half_a_set_is_not_gone_on_with_for_another_request(tmp_path):
    folder = tmp_path / "set"
    child = python(f"make({str(folder)!r})", wait=False)
    next(iter(child.stdout))
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with pytest.raises(JaxenvError, match="holds another set, half made"):
        generate_to(folder, jax.random.key(SEED), ASKED, COUNT + 1)


def test_a_request_that_cannot_be_filled_leaves_nothing_behind(tmp_path):
    with pytest.raises(GenerationError, match=r"3x3 boards .* unsolvable"):
        generate_to(tmp_path / "set", jax.random.key(0), EnvConfig.create([1] + [0] * 7, 0.5, 0.25, 5), 50)
    assert list(tmp_path.iterdir()) == []


def test_eight_devices_make_the_same_set_as_one(in_memory, tmp_path):
    python(
        f"assert len(jax.devices()) == 8\nmake({str(tmp_path / 'set')!r}, chunk=500)",
        XLA_FLAGS="--xla_force_host_platform_device_count=8",
    )
    assert_same(tmp_path / "set", in_memory)


def test_two_hosts_make_the_same_set_as_one(in_memory, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = """
jax.distributed.initialize("127.0.0.1:%d", num_processes=2, process_id=%d)
assert jax.process_count() == 2
make(%r)
"""
    hosts = [python(code % (port, number, str(tmp_path / "set")), wait=False) for number in range(2)]
    for host in hosts:
        _, err = host.communicate(timeout=240)
        assert host.returncode == 0, err[-2000:]
    assert_same(tmp_path / "set", in_memory)


def test_metadata_tells_what_was_asked_for_and_what_became_of_it(tmp_path):
    folder = generate_to(tmp_path / "set", jax.random.key(0), EnvConfig.create(1 / 8, 0.25, 0.5), 80)
    told = json.loads((folder / "metadata.json").read_text())
    assert told["requested"]["sizes"]["5"] == {
        "data_ratio": 0.125,
        "hole_ratio": 0.25,
        "wait_ratio": 0.5,
        "count": 10,
        "waits": 5,
    }
    row = told["realised"]["sizes"]["5"]
    assert row["count"] == 10 and row["wait_ratio"] == 0.5 and 0.24 <= row["hole_ratio"] <= 0.28
    assert {"acceptance", "undetermined", "unsolvable"} <= set(row)
    assert len(told["realised"]["classes"]) == 16
