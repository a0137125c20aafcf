"""Runs made of fake steps: the driver is real, its children are tiny."""

import contextlib
import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from experiments.driver import run_loop
from experiments.recipe import load
from experiments.runfolder import RunFolder

FAKES = Path(__file__).parent / "fakes"
RECIPE = ["stages=2", "boards_per_stage=64", "threads=1"]


class Fake:
    """A run folder in a temporary place, and what its fake steps did."""

    def __init__(self, folder, monkeypatch):
        self.path = folder / "run"
        self.log = folder / "log.txt"
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("PYTHONPATH", str(FAKES))
        monkeypatch.setenv("FAKE_LOG", str(self.log))

    def ask(self, what):
        """Let steps misbehave: `step=what`, several parted by commas."""
        self._monkeypatch.setenv("FAKE", what)

    def run(self, *overrides, resume=False):
        """The lines printed, and the report's path."""
        self.log.unlink(missing_ok=True)
        out = io.StringIO()
        recipe = load("smoke", [*RECIPE, *overrides])
        with contextlib.closing(RunFolder.open(self.path, resume=resume)) as folder:
            report = run_loop(recipe, folder, Console(file=out, width=200), package="fake_steps")
        return out.getvalue().splitlines(), report

    def ran(self):
        """The steps that ran in the last call, in order."""
        return [line.split()[0] for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def lose(self, step):
        """Forget one output, as if the run had been stopped before it."""
        place = self.path / step
        place.with_name(f".{place.name}.done").unlink()
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    def contents(self):
        """Every file that a resumed run must have in common with an uninterrupted one."""
        return {
            str(path.relative_to(self.path)): path.read_bytes()
            for folder in ("sets", "start", "stage_0", "stage_1")
            for path in sorted((self.path / folder).rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished run, to be read and copied, never changed."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        fake = Fake(tmp_path_factory.mktemp("finished"), monkeypatch)
        lines, report = fake.run()
        fake.lines, fake.report, fake.steps = lines, report, fake.ran()
    return fake


@pytest.fixture
def copy(finished, fake):
    """A copy of the finished run: a run may be moved."""
    shutil.copytree(finished.path, fake.path)
    return fake


@pytest.fixture
def fake(tmp_path, monkeypatch):
    return Fake(tmp_path, monkeypatch)
