"""vLLM as a sampler of evaluation and engineer: what transformers says, whichever checkpoint it is asked for."""

import importlib.util
import json
import socket

import pytest
import torch

from tests.vllm.conftest import serving

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="no vLLM here; see `make vllm`")

PROMPTS = [
    "board size3 agents2 a0 r0c0 to r2c2 a1 r2c2 to r0c0 holes r0c2 moves",
    "board size4 agents3 a0 r0c0 to r3c0 a1 r3c3 to r0c0 a2 r0c3 to r3c3 holes r1c1 r2c2 moves",
    "board size5 agents2 a0 r0c0 to r4c4 a1 r4c4 to r0c0 holes r0c3 r2c2 moves",
]
SCHEMA = {
    "type": "object",
    "properties": {"size": {"enum": [3, 4]}},
    "required": ["size"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """The starter's folder, and that of a checkpoint that answers otherwise."""
    from policy.samplers import load_model, resolve_model

    other = tmp_path_factory.mktemp("other")
    model, tokenizer = load_model("starter")
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in model.model.layers.parameters():
            weight.add_(0.1 * weight.std() * torch.randn_like(weight) if weight.dim() > 1 else 0.0)
    model.save_pretrained(other)
    tokenizer.save_pretrained(other)
    return [resolve_model("starter"), str(other)]


def ask(sampler, prompts=PROMPTS, **choices):
    return sampler.generate(prompts, **{"max_tokens": 32, "temperature": 0.0, "seed": 5, **choices})


def behaves(samplers, checkpoints):
    """Two samplers of one engine, one for each checkpoint."""
    from policy.samplers import load_sampler

    expected = [ask(load_sampler(folder, batch=3)) for folder in checkpoints]
    assert expected[0] != expected[1]
    # Asked in turn, so that the engine has to change its weights and back.
    for which in (0, 1, 0):
        assert ask(samplers[which]) == expected[which]
    assert ask(samplers[1], max_tokens=3)[0].truncated
    draws = [ask(samplers[1], [PROMPTS[1]] * 8, temperature=1.0, seed=seed) for seed in (1, 2, 1)]
    assert draws[0] == draws[2] != draws[1] and len({answer.text for answer in draws[0]}) > 1
    exchange = [{"role": "user", "content": PROMPTS[0]}]
    assert ask(samplers[0], [exchange]) == expected[0][:1]
    for answer in ask(samplers[0], schema=SCHEMA):
        assert set(json.loads(answer.text)) == {"size"}


def test_an_engine_in_this_process_says_what_transformers_says(checkpoints):
    from policy.samplers import load_sampler
    from policy.sampling import SamplerSettings

    settings = SamplerSettings("vllm")
    behaves([load_sampler(folder, settings=settings) for folder in checkpoints], checkpoints)


def test_a_server_says_what_transformers_says(checkpoints, tmp_path):
    from policy.samplers import load_sampler
    from policy.sampling import SamplerSettings

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    with serving(checkpoints[0], tmp_path / "log", port=port) as server:
        settings = SamplerSettings("vllm", "server", f"{server}/v1")
        behaves([load_sampler(folder, settings=settings) for folder in checkpoints], checkpoints)


def test_a_colocated_engine_of_a_training_is_seeded_by_the_run(monkeypatch):
    # huggingface/trl/pull/7040: TRL's own seed is the number of the process.
    from trl.generation import vllm_generation

    from policy.vllm_training import SeededGeneration

    seeds = []
    monkeypatch.setattr(vllm_generation, "LLM", lambda *, seed, **_: seeds.append(seed))
    for seed in (3, 4):
        generation = object.__new__(SeededGeneration)
        generation._seed = seed
        for process in (0, 1):
            generation._build(vllm_generation.LLM)(seed=process, model="m")
    assert seeds == [3, 4, 4, 5] and len(set(seeds[::2])) == 2
