"""A whole loop in no time: a copy of FAKE_FINISHED with its own recipe; those of FAKE_FAILS and FAKE_CRASHES do not."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from experiments.recipe import load

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["stage_loop"])
parser.add_argument("--recipe")
parser.add_argument("--set", action="append", default=[])
parser.add_argument("--run", type=Path)
parser.add_argument("--resume", action="store_true")
parsed = parser.parse_args()
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(f"{parsed.run.name} {parsed.resume}\n")
print("The run folder is there")
if parsed.run.name in os.environ.get("FAKE_FAILS", "").split(","):
    print("error: the lake has thawed; wait for winter", file=sys.stderr)
    sys.exit(2)
if parsed.run.name in os.environ.get("FAKE_CRASHES", "").split(","):
    raise RuntimeError("a fault of the program")
shutil.copytree(os.environ["FAKE_FINISHED"], parsed.run, dirs_exist_ok=True)
(parsed.run / "recipe.yaml").write_text(load(parsed.recipe, parsed.set).to_yaml())
