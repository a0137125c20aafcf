"""The process behind `python -m experiments.run engineer`: one redesign after another on the same evidence.

Job: out, jobs (of the step `engineer`, one for each engineer and variant), threads.
"""

from pathlib import Path
from typing import Any

import torch

from engineer.rules import RULES
from experiments.proposals import side_by_side
from experiments.stepio import read_job, report_progress, write_json, write_text
from experiments.steps.engineer import prompts, redesign, samplers, stage_of


def main() -> None:
    """A folder for each proposal, and `shown.txt` with all of them side by side."""
    job = read_job()
    torch.set_num_threads(int(job["threads"]))
    out = Path(job["out"])
    out.mkdir(parents=True)
    sampler = samplers(job["jobs"][0])
    proposals: dict[str, dict[str, Any]] = {}
    for done, one in enumerate(job["jobs"]):
        settings = one["engineer"]
        # A rule reads no prompt: once is enough, whatever the variants.
        name = settings["name"] if settings["name"] in RULES else f"{settings['name']}-{settings['variant']}"
        if name not in proposals:
            config, evidence = stage_of(one)
            prompt = prompts(one, evidence, config)
            proposals[name] = redesign(sampler, one, evidence, config, prompt)
            folder = out / name
            folder.mkdir()
            write_text(folder / "prompt.txt", prompt("") + "\n")
            write_json(folder / "proposal.json", proposals[name])
        report_progress(done + 1, len(job["jobs"]))
    write_text(out / "shown.txt", side_by_side(proposals) + "\n")


if __name__ == "__main__":
    main()
