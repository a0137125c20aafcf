"""After every update vLLM samples with the trainer's weights: colocated and as a server, tied and untied embeddings.

huggingface/trl/issues/5312: a sampler kept stale weights and nothing said so.
"""

import importlib.util
import socket

import pytest

from tests.vllm.conftest import serving, train

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="no vLLM here; see `make vllm`")
CLOSE = 1e-4


def agree(noted):
    batches, logged = noted["batches"], noted["logged"]
    assert len(batches) == len(logged) >= 6  # the first is before any update
    assert max(batch["apart"] for batch in batches) < CLOSE, [batch["apart"] for batch in batches]
    assert max(logged) < CLOSE, logged  # the trainer's own measure, which the guard of every training looks at
    # The updates are large enough that a sampler which missed one would have been seen.
    stale = [batch["stale"] for batch in batches]
    assert stale[0] < CLOSE and min(stale[1:]) > 100 * CLOSE, stale


@pytest.mark.parametrize("kind", ["tied", "untied"])
def test_a_colocated_engine_has_the_trainers_weights_after_every_update(kind, models, tmp_path):
    agree(train(models[kind], tmp_path / "noted.json", seed=1))


@pytest.mark.parametrize("kind", ["tied", "untied"])
def test_a_server_has_the_trainers_weights_after_every_update(kind, models, tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    with serving(models[kind], tmp_path / "log", port=port) as server:
        agree(train(models[kind], tmp_path / "noted.json", seed=1, server=server))
