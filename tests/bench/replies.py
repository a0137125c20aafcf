"""How many replies of a checkpoint are a config without constrained decoding, by the level of repair they need.

    python -m tests.bench.replies [--model starter | --run RUN] [--out FILE]
    python -m tests.bench.replies --collect RUN [RUN ...]

The contexts are those of recorded runs: evidence, config and history before the first stage and after each one, in all
six variants. Every context is asked once greedily, as the loop asks first, and once at the temperature at which the
loop asks again. `--run` asks the checkpoint of each stage of a run. `--collect` writes the recorded contexts anew; a
row for each checkpoint and temperature goes to FILE.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

CONTEXTS = Path(__file__).with_name("contexts.jsonl")
TEMPERATURES = (0.0, 0.7)
SEED = 0
TOGETHER = 56  # contexts of one batch


def collect(runs):
    """One record for the starter and for every stage of each run, as JSON lines."""
    from engineer.evidence import build_evidence
    from experiments.plan import stage_folder
    from experiments.recipe import load
    from experiments.tables import read_table

    with CONTEXTS.open("w") as file:
        for number, run in enumerate(runs):
            recipe = load(str(run / "recipe.yaml"))
            for stage in range(-1, recipe.stages):
                here = run / (stage_folder(stage) if stage >= 0 else "start")
                config = json.loads((run / stage_folder(max(stage, 0)) / "config.json").read_text())
                rollouts = read_table(here / "policy" / "rollouts.parquet") if stage >= 0 else None
                evidence = build_evidence(read_table(here / "eval" / "validation.parquet"), rollouts)
                proposal = here / "engineer" / "proposal.json"
                said = json.loads(proposal.read_text())["rationale"] if proposal.is_file() else ""
                row = {"run": number, "stage": stage, "stages": recipe.stages, "maps": config["maps"], "said": said}
                file.write(json.dumps({**row, "evidence": evidence.to_json()}) + "\n")


def contexts():
    """(variant, prompt, the stage's maps) of every recorded context."""
    from engineer.context import VARIANTS, Bookkeeping, Pair, build_prompt
    from engineer.evidence import Evidence

    rows = [json.loads(line) for line in CONTEXTS.read_text().splitlines()]
    found = []
    for row in rows:
        past = [other for other in rows if other["run"] == row["run"] and 0 <= other["stage"] <= row["stage"]]
        pairs = [Pair(other["stage"], Evidence.from_json(other["evidence"]), other["maps"]) for other in past]
        sayings = [(other["stage"], other["said"]) for other in past if other["stage"] < row["stage"]]
        stage = row["stage"]
        bookkeeping = Bookkeeping(max(stage, 0), max(row["stages"], stage + 2))
        for variant in VARIANTS:
            evidence = Evidence.from_json(row["evidence"])
            prompt = build_prompt(variant, evidence, pairs, bookkeeping, sayings=sayings)
            found.append((variant, prompt, row["maps"]))
    return found


def measure(model, temperature):
    from engineer.proposal import propose
    from jaxenv.config import EnvConfig
    from policy.samplers import load_sampler

    asked = contexts()
    sampler = load_sampler(model, batch=TOGETHER)
    began = time.perf_counter()
    answers = sampler.generate([prompt for _, prompt, _ in asked], max_tokens=512, temperature=temperature, seed=SEED)
    seconds = time.perf_counter() - began
    levels, variants, faults = Counter(), {}, Counter()
    for (variant, _, maps), answer in zip(asked, answers, strict=True):
        judged = propose(answer.text, EnvConfig.from_json({"maps": maps}))
        level = "refused" if judged.level is None else str(judged.level)
        levels[level] += 1
        variants.setdefault(variant, Counter())[level] += 1
        if judged.level is None:
            faults[judged.reason] += 1
    return {
        "contexts": len(asked),
        "levels": dict(sorted(levels.items())),
        "share_level_0_or_1": round((levels["0"] + levels["1"]) / len(asked), 4),
        "variants": {name: dict(sorted(counts.items())) for name, counts in variants.items()},
        "reasons": dict(faults.most_common(5)),
        "tokens": round(sum(answer.tokens for answer in answers) / len(answers), 1),
        "different": len({answer.text for answer in answers}),
        "seconds": round(seconds, 1),
    }


def checkpoints(run):
    """Name and folder of the checkpoint of each stage."""
    from experiments.plan import stage_folder
    from experiments.recipe import load

    recipe = load(str(run / "recipe.yaml"))
    for stage in range(recipe.stages):
        name = stage_folder(stage)
        yield f"{recipe.name} seed {recipe.seed}, {name}", str(run / name / "policy")


def main():
    from tests.slow import rows as store

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--model", default="starter")
    asked.add_argument("--run", type=Path)
    parser.add_argument("--collect", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.collect:
        collect(args.collect)
        return 0
    for name, model in checkpoints(args.run) if args.run else [(Path(args.model).name, args.model)]:
        for temperature in TEMPERATURES:
            row = {"check": "reply_levels", "model": name, "temperature": temperature, "seed": SEED}
            row |= {**measure(model, temperature), **store.setting("torch", "transformers")}
            if args.run:
                row["command"] = row["command"].replace(str(args.run), "RUN")
            store.tell(row, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
