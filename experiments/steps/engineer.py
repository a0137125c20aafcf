"""The process of one redesign: evidence to prompt to reply to config, and how many sampled replies are usable.

Job: out, model (that is asked), checkpoint (whose replies are sampled), engineer and sampler (the recipe's blocks),
style, stage, stages, epochs, details, config, validation, rollouts (absent before the first stage), history, data,
count, boards_seed, objective, num_agents, seed, threads, metrics; usable_only leaves the redesign out. For previews:
group, answer_tokens, preview_seed.
"""

import json
import os
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

import engineer
import jaxenv
from engineer.audit import audit
from engineer.conversation import KEPT
from engineer.engineers import MODELS
from engineer.synthetic import taught
from experiments.preview import preview_of
from experiments.stepio import log_metrics, read_job, report_progress, write_json, write_text
from experiments.steps.generate import boards_of
from experiments.tables import read_table
from policy.samplers import load_sampler
from policy.sampling import Sampler, SamplerSettings

REFUSED = "refused"
_BATCH = 16


def main() -> None:
    """Sample the usable share, then let the engineer redesign."""
    job = read_job()
    torch.set_num_threads(int(job["threads"]))
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    config, evidence = stage_of(job)
    prompt = prompts(job, evidence, config)
    write_text(out / "prompt.txt", prompt("") + "\n")
    sampler = samplers(job)

    share = usable_share(sampler, job, prompt(""), config)
    write_json(out / "usable.json", share)
    usable = share["samples"] - share["levels"][REFUSED]
    log_metrics(job["metrics"], stage=job["stage"], kind="usable", samples=share["samples"], usable=usable)
    if job["usable_only"]:
        return

    proposal = redesign(sampler, job, evidence, config, prompt)
    replies = [step["reply"] for step in proposal["steps"] if "reply" in step]
    write_text(out / "reply.txt", replies[-1] + "\n")
    write_json(out / "proposal.json", proposal)
    made = json.loads((Path(job["data"]) / "metadata.json").read_text(encoding="utf-8"))
    write_json(
        out / "evidence.json",
        {"evidence": evidence.to_json(), "requested": made["requested"], "realised": made["realised"]},
    )
    log_metrics(job["metrics"], stage=job["stage"], kind="redesign", level=proposal["level"], replies=len(replies))


def samplers(job: dict[str, Any]) -> Callable[[str], Sampler]:
    """Samplers by the name of their model, each loaded once."""
    return cache(partial(load_sampler, batch=_BATCH, settings=SamplerSettings(**job["sampler"])))


def stage_of(job: dict[str, Any]) -> tuple[jaxenv.EnvConfig, engineer.Evidence]:
    """The config of the stage that has ended, and what it showed."""
    config = jaxenv.EnvConfig.from_json(Path(job["config"]).read_text(encoding="utf-8"), num_agents=job["num_agents"])
    rollouts = read_table(Path(job["rollouts"])) if "rollouts" in job else None
    return config, engineer.build_evidence(read_table(Path(job["validation"])), rollouts)


def redesign(
    sampler: Callable[[str], Sampler],
    job: dict[str, Any],
    evidence: engineer.Evidence,
    config: jaxenv.EnvConfig,
    prompt: Callable[[str], str],
) -> dict[str, Any]:
    """What the engineer proposes, as plain data. Of several proposals, the one with most signal in its preview.

    A proposal that kept the previous config counts only where all of them did. The others stand under `others`.
    """
    settings = job["engineer"]
    asked = asks(sampler, job, evidence, config)
    dialogue = job["style"] == "full"
    proposals, previews = [], []
    for _ in range(settings["best_of"]):
        outcome = engineer.run(asked, feasible(job), nearest(job), config, prompt, dialogue=dialogue)
        proposed = json.loads(outcome.config.to_json())
        proposal = {
            "engineer": settings["name"],
            "variant": settings["variant"],
            "level": outcome.level,
            "rationale": outcome.rationale,
            "config": proposed,
            "audit": audit(evidence, engineer.maps_of(config), proposed["maps"], job["num_agents"]),
            "steps": list(outcome.steps),
        }
        if settings["preview"]:
            previews.append(preview_of(sampler(job["checkpoint"]), outcome.config, job))
            proposal["preview"] = previews[-1].to_json()
        proposals.append(proposal)
    usable = [index for index, proposal in enumerate(proposals) if proposal["level"] != KEPT] or [0]
    taken = usable[engineer.most_signal([previews[index] for index in usable])] if len(proposals) > 1 else 0
    others = [proposal for index, proposal in enumerate(proposals) if index != taken]
    return {**proposals[taken], **({"others": others} if others else {})}


def prompts(job: dict[str, Any], evidence: engineer.Evidence, config: jaxenv.EnvConfig) -> Callable[[str], str]:
    """The prompt as a function of the last refusal's reason, "" for none."""
    history, sayings = [], []
    for earlier in job.get("history", []):
        shown = json.loads(Path(earlier["evidence"]).read_text(encoding="utf-8"))
        maps = json.loads(Path(earlier["config"]).read_text(encoding="utf-8"))["maps"]
        history.append(engineer.Pair(earlier["stage"], engineer.Evidence.from_json(shown["evidence"]), maps))
        proposal = json.loads(Path(earlier["proposal"]).read_text(encoding="utf-8"))
        sayings.append((earlier["stage"], proposal["rationale"]))
    stage, stages = job["stage"], job["stages"]
    if stage >= 0:
        history.append(engineer.Pair(stage, evidence, engineer.maps_of(config)))
    # The starter and the last checkpoint are asked as if a stage had gone before, or one were to follow.
    bookkeeping = engineer.Bookkeeping(max(stage, 0), max(stages, stage + 2), job["epochs"], job["details"])

    def build(refused: str) -> str:
        # A starter that is told a reason in words it was never taught loses the reply's form altogether: it is asked
        # the same again then, and being sampled it answers otherwise.
        refused = refused if job["style"] == "full" or taught(refused) else ""
        return engineer.build_prompt(
            job["engineer"]["variant"],
            evidence,
            history,
            bookkeeping,
            sayings=sayings,
            style=job["style"],
            refused=refused,
        )

    return build


def usable_share(
    sampler: Callable[[str], Sampler], job: dict[str, Any], prompt: str, config: jaxenv.EnvConfig
) -> dict[str, Any]:
    """How many of the checkpoint's sampled replies are a config, by the level of repair; the replies are kept."""
    settings = job["engineer"]
    count, temperature = settings["samples"], settings["retry_temperature"]
    replies = []
    if count:
        completions = sampler(job["checkpoint"]).generate(
            [prompt] * count,
            max_tokens=settings["max_tokens"],
            temperature=temperature,
            seed=job["seed"],
            progress=report_progress,
        )
        for completion in completions:
            judged = engineer.propose(completion.text, config)
            log = [entry["before"] if judged.level is None else entry["step"] for entry in judged.log]
            replies.append({"reply": completion.text, "level": judged.level, "log": log})
    counts = Counter(REFUSED if reply["level"] is None else str(reply["level"]) for reply in replies)
    levels = {name: counts.get(name, 0) for name in ("0", "1", "2", "3", REFUSED)}
    return {"samples": count, "temperature": temperature, "levels": levels, "replies": replies}


def asks(
    sampler: Callable[[str], Sampler], job: dict[str, Any], evidence: engineer.Evidence, config: jaxenv.EnvConfig
) -> Callable[[list[dict[str, str]]], str]:
    """The engineer that the recipe names."""
    settings = job["engineer"]
    name, temperature = settings["name"], settings["temperature"]
    if name == "openai":
        key = os.environ.get("OPENAI_API_KEY", "")
        limit = settings["max_tokens"]
        return engineer.OpenAIEngineer(
            settings["base_url"],
            settings["model"],
            key=key,
            max_tokens=limit,
            temperature=temperature,
            retry_temperature=settings["retry_temperature"],
            constrained=settings["constrained"],
        )
    if name in MODELS:
        return engineer.SampledEngineer(
            sampler(job["model"]),
            max_tokens=settings["max_tokens"],
            temperature=temperature,
            retry_temperature=settings["retry_temperature"],
            seed=job["seed"] + 1,  # the samples above have the seed itself
            constrained=settings["constrained"],
        )
    situation = engineer.Situation(
        evidence, engineer.maps_of(config), job["stage"], job["stages"], job["num_agents"], job["seed"]
    )
    return engineer.rule_engineer(name, situation)


def feasible(job: dict[str, Any]) -> Callable[[jaxenv.EnvConfig], str | None]:
    """Whether the generator can fill a config with the next stage's boards: None, or why not."""

    def why_not(config: jaxenv.EnvConfig) -> str | None:
        try:
            boards_of(_next_boards(job), json.loads(config.to_json()), nearest=False)
        except jaxenv.GenerationError as error:
            return str(error)
        return None

    return why_not


def nearest(job: dict[str, Any]) -> Callable[[jaxenv.EnvConfig], jaxenv.EnvConfig | None]:
    """The nearest config that can be filled: the mix that the generator arrives at."""

    def find(config: jaxenv.EnvConfig) -> jaxenv.EnvConfig | None:
        try:
            boards = boards_of(_next_boards(job), json.loads(config.to_json()))
        except jaxenv.GenerationError:
            return None
        maps = engineer.maps_of(config)
        for size, values in maps.items():
            got = boards.realised["sizes"].get(size, {"count": 0})
            values["data_ratio"] = got["count"] / len(boards)
            if got["count"]:
                values["wait_ratio"] = got["wait_ratio"]
        return jaxenv.EnvConfig.from_json({"maps": maps}, num_agents=job["num_agents"])

    return find


def _next_boards(job: dict[str, Any]) -> dict[str, Any]:
    """The generator's job of the stage that follows, but for the config."""
    same = {key: job[key] for key in ("num_agents", "count", "objective")}
    return {**same, "split": "train", "seed": job["boards_seed"], "stage": job["stage"] + 1}


if __name__ == "__main__":
    main()
