"""Models and a server for the tests of vLLM, which run where it is installed (`make vllm`)."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from policy import vllm_server

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900  # seconds for a server to come up on a busy machine


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folders of untrained starters in float32, with `tied` and `untied` embeddings.

    Untrained, they answer otherwise every time, so that each batch has something to learn from.
    """
    from transformers import AutoTokenizer, Qwen3ForCausalLM

    from policy.samplers import resolve_model
    from policy.starter import new_model

    folder = tmp_path_factory.mktemp("models")
    tokenizer = AutoTokenizer.from_pretrained(resolve_model("starter"))
    tied = new_model(3)
    untied = Qwen3ForCausalLM(type(tied.config)(**{**tied.config.to_dict(), "tie_word_embeddings": False}))
    made = {"tied": tied, "untied": untied}
    for name, model in made.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return {name: folder / name for name in made}


@contextlib.contextmanager
def serving(model, log, *, port):
    """The address of a vLLM server on loopback, as `python -m policy.vllm_server` starts it."""
    line = vllm_server.command(str(model), cpu=True, host="127.0.0.1", port=port, seed=3)
    line += ["--max-model-len", "2048", "--max-num-seqs", "16"]
    with log.open("w") as out:
        running = subprocess.Popen(
            line, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=vllm_server.environment(cpu=True)
        )
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                assert running.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(60)
            running.kill()


def train(model, out, *, seed, server=None):
    """Run `tests.vllm.grpo_run` to its end; returns what it noted."""
    import json

    line = [sys.executable, "-m", "tests.vllm.grpo_run", str(model), str(out), "--seed", str(seed)]
    done = subprocess.run(
        [*line, *(["--server", server] if server else [])],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(out.read_text())
