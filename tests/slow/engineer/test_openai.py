"""The engineer `openai` against transformers' own server with the starter, through a proxy that puts faults in between.

Needs the server's own packages: pip install 'transformers[serving]'.
"""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from engineer.engineers import OpenAIEngineer
from engineer.errors import AskError
from engineer.proposal import propose
from engineer.synthetic import examples
from policy.samplers import load_sampler
from tests.engineer.stages import flat_config

ROOT = Path(__file__).resolve().parents[3]
STARTER = ROOT / "policy" / "models" / "starter"
KEY = "sk-test-b7c1f0d2e9a84653"
PROMPT = examples(31, 1)[0][0]


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of `transformers serve` with the starter, on loopback and without a network."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(STARTER)]
    command += ["--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    log = (tmp_path_factory.mktemp("server") / "log").open("w+")
    with subprocess.Popen(
        command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    ) as running:
        deadline = time.monotonic() + 300
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            log.seek(0)
            assert running.poll() is None and time.monotonic() < deadline, log.read()
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
        running.terminate()


@pytest.fixture
def proxy(server):
    """An address before the server that spoils the next answers as listed, and the keys that it was sent."""
    faults, keys = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers.get("Authorization"))
            fault = faults.pop(0) if faults else None
            status, answer = 200, b""
            if fault == "slow":
                time.sleep(3)
            elif isinstance(fault, int):
                status, answer = fault, f"Incorrect API key provided: {KEY}".encode()
            elif fault is not None:
                answer = fault
            if fault in (None, "slow"):
                request = urllib.request.Request(f"{server}/chat/completions", body, dict(self.headers))
                try:
                    answer = urllib.request.urlopen(request).read()
                except urllib.error.HTTPError as error:
                    status, answer = error.code, error.read()
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{running.server_port}/v1", faults, keys
        running.shutdown()


def test_the_servers_greedy_reply_is_the_samplers_and_can_be_used(server):
    reply = OpenAIEngineer(server, str(STARTER), key=KEY, max_tokens=512)([{"role": "user", "content": PROMPT}])
    (sampled,) = load_sampler("starter", batch=1).generate([PROMPT], max_tokens=512, temperature=0.0, seed=0)
    # The server reads answers by the template of the architecture's first model, and leaves our prompt and end in them.
    assert reply.removesuffix("<|end|>").endswith(sampled.text) and len(sampled.text) > 300
    assert propose(reply, flat_config()).level in (0, 1)


def test_what_the_server_itself_refuses_is_an_error_of_the_asking(server):
    for engineer, messages in (
        (OpenAIEngineer(server, "a-model-that-is-not-here", key=KEY), [{"role": "user", "content": "hi"}]),
        (OpenAIEngineer(f"{server}/elsewhere", str(STARTER), key=KEY), [{"role": "user", "content": "hi"}]),
    ):
        with pytest.raises(AskError) as caught:
            engineer(messages)
        assert KEY not in str(caught.value)


def test_a_slow_server_is_given_up_and_the_next_question_is_answered(proxy):
    url, faults, keys = proxy
    faults.append("slow")
    with pytest.raises(AskError, match="TimeoutError"):
        OpenAIEngineer(url, str(STARTER), key=KEY, timeout=1.0)([{"role": "user", "content": PROMPT}])
    reply = OpenAIEngineer(url, str(STARTER), key=KEY, max_tokens=512)([{"role": "user", "content": PROMPT}])
    assert propose(reply, flat_config()).level is not None and set(keys) == {f"Bearer {KEY}"}


def test_the_loop_gets_over_its_faults_and_the_key_is_in_no_file_and_no_output(proxy, tmp_path):
    url, faults, keys = proxy
    faults += [429, 503, b'{"choices": [{"message": {"content": "' + KEY.encode()]
    run = tmp_path / "run"
    values = ["engineer.name=openai", f"engineer.model={STARTER}", f"engineer.base_url={url}", "engineer.samples=0"]
    values.append("engineer.retry_temperature=0")  # the reply is then the server's best, not a draw
    options = [part for value in values for part in ("--set", value)]
    command = [sys.executable, "-m", "experiments.run", "stage_loop", "--recipe", "smoke", "--run", str(run), *options]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        env={**os.environ, "OPENAI_API_KEY": KEY},
    )
    assert done.returncode == 0, done.stderr
    assert keys == [f"Bearer {KEY}"] * 4 and faults == []
    proposal = json.loads((run / "stage_0" / "engineer" / "proposal.json").read_text())
    refused = [step["refused"] for step in proposal["steps"] if "reply" in step]
    assert refused[:3] == [
        "the server answered with status 429",
        "the server answered with status 503",
        "the server's answer is no chat completion",
    ]
    assert refused[3] is None, proposal["steps"][3]
    assert proposal["level"] == 4
    files = [path for path in run.rglob("*") if path.is_file()]
    assert len(files) > 30
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in done.stdout + done.stderr
