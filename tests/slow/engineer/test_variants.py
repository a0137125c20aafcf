"""All six context variants run through the real loop in the smoke recipe, with previews and a choice of two."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engineer.context import VARIANTS

ROOT = Path(__file__).resolve().parents[3]
# Three stages: at the second redesign there is a stage for H to hold, with and without round 0.
SETTINGS = ["stages=3", "engineer.preview=8", "engineer.best_of=2", "engineer.max_tokens=400"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_runs_through_the_loop(variant, tmp_path):
    run = tmp_path / "run"
    options = [part for value in [*SETTINGS, f"engineer.variant={variant}"] for part in ("--set", value)]
    command = [sys.executable, "-m", "experiments.run", "stage_loop", "--recipe", "smoke", "--run", str(run), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    letters = VARIANTS[variant]
    for stage in (0, 1):
        prompt = (run / f"stage_{stage}" / "engineer" / "prompt.txt").read_text()
        assert ("guidelines\n" in prompt) == ("G" in letters)
        assert ("history" in prompt) == ("H" in letters)
        assert ("stage 0 size" in prompt) == ("H0" in letters)
        assert ("stage 1 size" in prompt) == ("H" in letters and stage == 1)
        assert ("you said" in prompt) == ("S" in letters)
        assert (f"stage {stage} of 3 epochs" in prompt) == ("T" in letters)
        proposal = json.loads((run / f"stage_{stage}" / "engineer" / "proposal.json").read_text())
        assert proposal["variant"] == variant and len(proposal["others"]) == 1
        assert proposal["preview"]["sizes"] and set(proposal["audit"]["edit"]) == {
            "data_ratio",
            "hole_ratio",
            "wait_ratio",
        }
        usable = [one for one in (proposal, *proposal["others"]) if one["level"] != 5] or [proposal]
        assert proposal["preview"]["signal"] == max(one["preview"]["signal"] for one in usable)
        config = json.loads((run / f"stage_{stage + 1}" / "config.json").read_text())
        assert config == proposal["config"]
    report = (run / "report" / "report.md").read_text()
    assert f"context {variant}" in report and "What each change answered to" in report and "Preview: groups" in report
