"""How a run was made: time and memory of its steps, versions, seeds, sessions, recipe, and the starter's card."""

import json
from pathlib import Path

from experiments.ablate.sharing import NOTE
from experiments.reports.blocks import Section, Table, Text, command, folded, row
from experiments.reports.source import Run
from experiments.runfolder import read_marker

MODELS = Path(__file__).resolve().parents[2] / "policy" / "models"


def costs_section(run: Run) -> Section | None:
    """What each step took."""
    rows, total = [], 0.0
    for marker in [*sorted(run.path.glob("*/.*.done")), *sorted(run.path.glob(".*.done"))]:
        place = marker.with_name(marker.name.removeprefix(".").removesuffix(".done"))
        facts = read_marker(place)
        if "seconds" in facts:
            total += facts["seconds"]
            memory = f"{facts['peak_memory'] / 2**20:.0f}"
            rows.append(row(str(place.relative_to(run.path)), [f"{facts['seconds']:.1f}", memory]))
    if not rows:
        return None
    table = Table(("output", "seconds", "peak memory, MiB"), (*rows, row("all", [f"{total:.1f}", ""])))
    source = command(
        "import glob; fs = sorted(glob.glob('**/.*.done', include_hidden=True, recursive=True)); "
        "print(pd.DataFrame([pd.read_json(f, typ='series') for f in fs], index=fs))"
    )
    return Section("Time and memory", (table,), source)


def starter_section(run: Run) -> Section:
    """What the model had been trained on before: without it no claim about the engineer can be judged."""
    card = MODELS / run.recipe.model / "README.md"
    if not card.is_file():
        return Section("The model it began with", (Text(f"The run began with the model `{run.recipe.model}`."),))
    text = (
        f"The run began with the shipped model `{run.recipe.model}`. What it was trained on before any RL, the "
        "examples of config writing among it, stands in its card:"
    )
    body = card.read_text(encoding="utf-8").strip().replace("\n## ", "\n#### ").replace("# ", "### ", 1)
    return Section("The model it began with", (Text(text), Text(folded("Its card", body))))


def manifest_section(run: Run) -> Section:
    """The manifest and the resolved recipe."""
    manifest = run.manifest
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    sessions = [f"`{session['command']}`, {session['started']}" for session in manifest["sessions"]]
    lines = [
        f"- commit {manifest['commit'] or 'unknown'}; recipe `{run.recipe.name}`, hash {manifest['recipe_hash']}",
        f"- {manifest['platform']}, {manifest['cores']} cores",
        f"- {versions}",
        *(f"- session {number}: {line}" for number, line in enumerate(sessions, 1)),
    ]
    if shared := run.json(NOTE):
        lines.append(f"- {', '.join(shared['outputs'])}: copied from the run {shared['from']}, which began alike")
    recipe = f"```yaml\n{run.recipe.to_yaml().rstrip()}\n```"
    whole = f"```json\n{json.dumps(manifest, indent=1, ensure_ascii=False)}\n```"
    return Section(
        "How it was made",
        (Text("\n".join(lines)), Text(folded("The resolved recipe", recipe)), Text(folded("The manifest", whole))),
    )
