"""How a training of several processes is started: configs that accelerate reads, and processes that end with it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.utils import DistributedType

from experiments.blocks import LAUNCHES
from experiments.errors import StepError
from experiments.process import SOURCE, run_step
from experiments.recipe import load

KINDS = {
    "ddp": DistributedType.MULTI_GPU,
    "fsdp2": DistributedType.FSDP,
    "zero2": DistributedType.DEEPSPEED,
    "zero3": DistributedType.DEEPSPEED,
}


def test_every_shipped_config_is_one_that_accelerate_reads_and_a_recipe_may_name():
    assert sorted(KINDS) == sorted(path.stem for path in LAUNCHES.glob("*.yaml"))
    for name, kind in KINDS.items():
        config = load_config_from_file(str(LAUNCHES / f"{name}.yaml"))
        assert config.distributed_type == kind
        assert load("smoke", [f"launch.config={name}", "batch.micro=8"]).launch.config == name
    assert load_config_from_file(str(LAUNCHES / "fsdp2.yaml")).fsdp_config["fsdp_version"] == 2
    assert [load_config_from_file(str(LAUNCHES / f"zero{n}.yaml")).deepspeed_config["zero_stage"] for n in (2, 3)] == [
        2,
        3,
    ]


def test_a_config_of_ones_own_is_named_by_its_path(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text((LAUNCHES / "ddp.yaml").read_text())
    assert load("smoke", [f"launch.config={path}", "batch.micro=8"]).launch.config == str(path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_process_of_a_training_ends_with_the_launcher_even_when_that_is_killed(tmp_path):
    (tmp_path / "waiting.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(300)\n")
    start = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-m', 'experiments.child', 'launcher', 'waiting'],"
        " start_new_session=True).wait()"
    )
    path = os.pathsep.join([str(SOURCE), str(tmp_path)])
    with subprocess.Popen(
        [sys.executable, "-c", start], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as launcher:
        worker = int(launcher.stdout.readline())
        launcher.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while _runs(worker):
        assert time.monotonic() < deadline, "the worker outlived its launcher"
        time.sleep(0.05)


def test_the_fault_of_one_of_several_processes_is_told_and_not_their_launchers_summary(tmp_path, monkeypatch):
    (tmp_path / "faulty.py").write_text("raise RuntimeError('thin ice')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(StepError, match=r"\(RuntimeError: thin ice\); its log is") as caught:
        run_step("faulty", tmp_path / "job", tmp_path / "log", threads=1, launch={"config": "ddp", "processes": 2})
    assert "\n" not in str(caught.value)


def test_what_an_earlier_attempt_left_in_the_log_is_not_told_as_the_fault_of_this_one(tmp_path, monkeypatch):
    (tmp_path / "silent.py").write_text("print('thin ice', flush=True)\nraise SystemExit(3)\n")
    (tmp_path / "log").write_text("RuntimeError: long ago\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(StepError, match=r"failed with exit code 3 \(thin ice\)"):
        run_step("silent", tmp_path / "job", tmp_path / "log", threads=1)


def _runs(process):
    try:
        with open(f"/proc/{process}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
