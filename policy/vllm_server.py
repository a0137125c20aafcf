"""A vLLM server that training, evaluation and engineer can use: `python -m policy.vllm_server MODEL`.

It is vLLM's own server with the options that they need. Its weights come from the trainer, or from a checkpoint's
folder that the server can read.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
# JSON without blanks, of which a small model may have no end.
STRUCTURED = {"backend": "xgrammar", "disable_any_whitespace": True}


def command(model: str, *, cpu: bool, host: str, port: int, seed: int, options: Sequence[str] = ()) -> list[str]:
    """The server's command line."""
    line = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
    line += ["--host", host, "--port", str(port), "--seed", str(seed)]
    line += ["--worker-extension-cls", "policy.vllm_worker.FolderWeights"]
    # The log-probabilities of what was sampled from.
    line += ["--logprobs-mode", "processed_logprobs", "--max-logprobs", "-1"]
    line += ["--structured-outputs-config", json.dumps(STRUCTURED)]
    if cpu:
        line += ["--dtype", "float32", "--enforce-eager"]
    else:
        line += ["--weight-transfer-config", '{"backend": "nccl"}']
    return [*line, *options]


def environment(*, cpu: bool) -> dict[str, str]:
    """The server's environment: with the endpoints through which it is given weights, and our sources importable."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    needed: dict[str, str] = {}
    if cpu:
        from policy import vllm_cpu

        needed = vllm_cpu.environment()
    return {**needed, **os.environ, "PYTHONPATH": path, "VLLM_SERVER_DEV_MODE": "1"}


def main(argv: Sequence[str] | None = None) -> None:
    """Become the server."""
    parser = argparse.ArgumentParser(prog="python -m policy.vllm_server", description=__doc__.splitlines()[0])
    parser.add_argument("model", help="shipped name, folder or hub id")
    parser.add_argument("--host", default="127.0.0.1", help="whoever can reach it can change its weights")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0, help="of what it samples")
    parsed, options = parser.parse_known_args(argv)
    import torch

    from policy.samplers import resolve_model

    cpu = not torch.cuda.is_available()
    line = command(
        resolve_model(parsed.model),
        cpu=cpu,
        host=parsed.host,
        port=parsed.port,
        seed=parsed.seed,
        options=options,  # vLLM's own, such as --tensor-parallel-size
    )
    os.execvpe(line[0], line, environment(cpu=cpu))


if __name__ == "__main__":
    main()
