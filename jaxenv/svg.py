"""A board and a plan as an animated SVG: no scripts, no fonts of its own, readable on light and dark pages."""

from xml.sax.saxutils import escape

import numpy as np

from jaxenv.draw import describe_verdict
from jaxenv.types import Action, Instances, Label, Plans, Verdicts

CELL = 32  # pixels
EDGE = 8
_LETTER = 6.5  # pixels of the caption's widest usual letters, since nobody here knows the reader's font
SECONDS = 0.6  # of one step, and of the rest at the end
# Okabe and Ito's colours, which people with any colour vision tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MOVES = {Action.WAIT: (0, 0), Action.UP: (-1, 0), Action.DOWN: (1, 0), Action.LEFT: (0, -1), Action.RIGHT: (0, 1)}


def draw_svg(
    instances: Instances, index: int = 0, *, plans: Plans | None = None, verdicts: Verdicts | None = None
) -> str:
    """Board `index` as one SVG element; with plans, its agents walk up to the offending step, whose cell is marked.

    A goal is a ring in its agent's colour. Unknown actions move nobody.
    """
    size, count = int(instances.size[index]), int(instances.num_agents[index])
    holes = np.asarray(instances.holes)[index]
    goals = np.asarray(instances.goals)[index, :count].tolist()
    paths = walks(instances, index, plans, verdicts)
    caption = describe_verdict(verdicts, index) if verdicts is not None else ""
    side = size * CELL + 2 * EDGE
    width = max(side, round(len(caption) * _LETTER) + 2 * EDGE)
    height = side + (20 if caption else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="sans-serif" font-size="13">',
        f"<title>{escape(caption or f'{count} agents on {size}x{size}')}</title>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#f4f8fb"/>',
    ]
    for r in range(size):
        for c in range(size):
            fill = "#274060" if holes[r, c] else "#ffffff"
            x, y = EDGE + c * CELL, EDGE + r * CELL
            parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{fill}" stroke="#c3d3df"/>')
    for agent, cell in enumerate(goals):
        x, y = centre(cell)
        parts.append(f'<circle cx="{x}" cy="{y}" r="13" fill="none" stroke="{colour(agent)}" stroke-width="3"/>')
    for agent, walk in enumerate(paths):
        parts.append(_trace(agent, walk))
    for agent, walk in enumerate(paths):
        parts.append(_agent(agent, walk))
    if verdicts is not None and int(verdicts.cell[index, 0]) >= 0:
        x, y = centre(np.asarray(verdicts.cell)[index].tolist())
        half = CELL // 2 - 1
        parts.append(
            f'<rect x="{x - half}" y="{y - half}" width="{2 * half}" height="{2 * half}" fill="none" '
            'stroke="#c00020" stroke-width="3" stroke-dasharray="5 3"/>'
        )
    if caption:
        parts.append(f'<text x="{EDGE}" y="{side + 9}" font-size="10" fill="#22303c">{escape(caption)}</text>')
    return "\n".join([*parts, "</svg>"])


def walks(instances: Instances, index: int, plans: Plans | None, verdicts: Verdicts | None) -> list[list[list[int]]]:
    """The cells of every agent, from its start on; all walks are of the same length."""
    count = int(instances.num_agents[index])
    found = [[cell] for cell in np.asarray(instances.starts)[index, :count].tolist()]
    if plans is None or int(plans.outcome[index]) != Label.READ:
        return found
    lengths = np.asarray(plans.lengths)[index, :count]
    actions = np.asarray(plans.actions)[index, :count]
    steps = min(int(lengths.max(initial=0)), actions.shape[1])
    if verdicts is not None and int(verdicts.step[index]) >= 0:
        steps = int(verdicts.step[index]) + 1
    for agent, walk in enumerate(found):
        for t in range(steps):
            action = int(actions[agent, t]) if t < lengths[agent] else int(Action.WAIT)
            down, right = _MOVES[Action(action)] if action in _MOVES else (0, 0)
            walk.append([walk[-1][0] + down, walk[-1][1] + right])
    return found


def _trace(agent: int, walk: list[list[int]]) -> str:
    points = " ".join(f"{x},{y}" for x, y in map(centre, walk))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour(agent)}" stroke-width="3" stroke-opacity="0.35" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
    )


def _agent(agent: int, walk: list[list[int]]) -> str:
    """A disc with the agent's number, which moves along its walk, rests at the end and begins again."""
    x, y = centre(walk[0])
    move = ""
    if len(walk) > 1:
        places = [*walk, walk[-1]]
        values = ";".join(f"{px - x} {py - y}" for px, py in map(centre, places))
        move = (
            f'<animateTransform attributeName="transform" type="translate" values="{values}" '
            f'dur="{SECONDS * (len(places) - 1):.1f}s" repeatCount="indefinite"/>'
        )
    return (
        f'<g><circle cx="{x}" cy="{y}" r="9" fill="{colour(agent)}"/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" font-size="11" fill="#ffffff">{agent}</text>{move}</g>'
    )


def centre(cell: list[int]) -> tuple[int, int]:
    """x and y of a (row, col)."""
    return EDGE + cell[1] * CELL + CELL // 2, EDGE + cell[0] * CELL + CELL // 2


def colour(agent: int) -> str:
    return _COLOURS[agent % len(_COLOURS)]
