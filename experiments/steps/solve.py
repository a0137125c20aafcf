"""Boards of the user's own, solved to a certified optimum.

Job: boards (a file), num_agents (of a scenario's boards), objective, engine, max_steps, draw (how many boards), out: a
folder with `solutions.jsonl`, a line a board, and for people `shown.txt` and an animated SVG of each board drawn.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jaxenv
from experiments.boardfile import read_boards
from experiments.stepio import read_job, write_text


def main() -> None:
    """Solve all boards of the file and write a line for each, in the same order."""
    job = read_job()
    instances = read_boards(Path(job["boards"]), int(job["num_agents"]))
    solutions = jaxenv.solve(instances, objective=job["objective"], engine=job["engine"], max_steps=job["max_steps"])
    lines = [_line(instances, solutions, row) for row in range(len(instances))]
    verdicts = jaxenv.verify(instances, solutions, solutions.plans)
    drawn = range(min(int(job["draw"]), len(lines)))
    shown = [_shown(instances, solutions, verdicts, row, lines[row]) for row in drawn]
    counts = Counter(line["status"] for line in lines)
    told = ", ".join(f"{counts[status.name.lower()]:,} {status.name.lower()}" for status in jaxenv.Status)
    out = Path(job["out"])
    out.mkdir(parents=True)
    for row in drawn:
        svg = jaxenv.draw_svg(instances, row, plans=solutions.plans, verdicts=verdicts)
        write_text(out / f"board_{row}.svg", svg + "\n")
    write_text(out / "shown.txt", "\n".join([*shown, f"{len(lines):,} boards: {told}", ""]))
    write_text(out / "solutions.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def _line(instances: jaxenv.Instances, solutions: jaxenv.Solutions, row: int) -> dict[str, Any]:
    status = jaxenv.Status(int(solutions.status[row]))
    line: dict[str, Any] = {
        "status": status.name.lower(),
        **{name: int(getattr(solutions, name)[row]) for name in ("sum_of_costs", "makespan", "lower_bound")},
        **{name: bool(getattr(solutions, name)[row]) for name in ("needs_wait", "interacts")},
        "plan": None,
    }
    if status is jaxenv.Status.OPTIMAL:
        lengths = solutions.plans.lengths[row].tolist()[: int(instances.num_agents[row])]
        actions = solutions.plans.actions[row].tolist()
        line["plan"] = [[jaxenv.Action(a).name for a in agent[:n]] for agent, n in zip(actions, lengths, strict=False)]
    return line


def _shown(
    instances: jaxenv.Instances,
    solutions: jaxenv.Solutions,
    verdicts: jaxenv.Verdicts,
    row: int,
    line: dict[str, Any],
) -> str:
    """The board, what is certified of it, and the plan as the verifier sees it."""
    agents, size = int(instances.num_agents[row]), int(instances.size[row])
    parts = [f"board {row}: {agents} agents on {size}x{size}", jaxenv.draw_board(instances, row)]
    if line["status"] == "optimal":
        told = ", needs a wait" if line["needs_wait"] else ", agents interact" if line["interacts"] else ""
        parts.append(f"certified: sum of costs {line['sum_of_costs']}, makespan {line['makespan']}{told}")
        parts.append(jaxenv.draw_plan(instances, solutions.plans, verdicts, row))
    elif line["status"] == "unsolvable":
        parts.append("certified: it has no solution")
    else:
        parts.append(f"undetermined within the limits of the search; proven lower bound {line['lower_bound']}")
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    main()
