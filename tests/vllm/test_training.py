"""A training stage as the loop runs it, with vLLM as the recipe's sampler."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from tests.vllm.conftest import ROOT

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="no vLLM here; see `make vllm`")


def test_a_stage_samples_with_vllm_and_the_guards_measure_stays_small(tmp_path):
    import jaxenv
    from experiments.tables import read_table

    jaxenv.benchmark("validation", num_agents=2, count=16).save(tmp_path / "boards")
    line = [sys.executable, "-m", "experiments.run", "train_stage", "--recipe", "smoke", "--set", "sampler.name=vllm"]
    line += ["--data", str(tmp_path / "boards"), "--out", str(tmp_path / "out")]
    done = subprocess.run(line, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    log = tmp_path / "out.log"
    assert done.returncode == 0, done.stderr[-2000:] + (log.read_text()[-4000:] if log.exists() else "")
    rows = [json.loads(text) for text in (tmp_path / "out.metrics.jsonl").read_text().splitlines()]
    apart = [row["sampling/sampling_logp_difference/max"] for row in rows if row.get("kind") == "train"]
    assert len(apart) == 2 and max(apart) < 1e-4
    rollouts = read_table(tmp_path / "out" / "rollouts.parquet")
    assert len(rollouts["valid"]) == 32 and rollouts["valid"].any() and not rollouts["valid"].all()
