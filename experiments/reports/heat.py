"""Heat maps of shares and of their changes."""

import math
from collections.abc import Sequence

from experiments.reports import svg

_LEFT, _TOP, _HEIGHT = 112, 50, 22


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    top: float,
    told: Sequence[Sequence[str]],
    rises: Sequence[bool] | None = None,
) -> str:
    """Cells as dark as their value, in percent; `top` is the darkest.

    With `rises` the values are changes, coloured as better or worse: of each row, whether a rise is for the better.
    """
    width = (svg.WIDTH - _LEFT - 4) / max(1, len(columns))
    marks = [svg.text(_LEFT + (c + 0.5) * width, _TOP - 6, name, anchor="middle") for c, name in enumerate(columns)]
    for r, name in enumerate(rows):
        y = _TOP + r * _HEIGHT
        marks.append(svg.text(_LEFT - 8, y + 15, name, anchor="end"))
        for c in range(len(columns)):
            value = values[r][c]
            kind = "heat" if rises is None else "better" if (value > 0) == rises[r] else "worse"
            marks.append(_cell(_LEFT + c * width, y, width, value, top, kind, told[r][c]))
    return svg.element(title, _TOP + 4 + _HEIGHT * len(rows), marks)


def _cell(x: float, y: float, width: float, value: float, top: float, kind: str, told: str) -> str:
    """An empty cell, its colour above it, and the number in percent where it does not round to nothing."""
    share = 0.0 if math.isnan(value) or not top else min(1.0, abs(value) / top)
    sign = "" if kind == "heat" else "+"
    shown = "" if math.isnan(value) or round(100 * value) == 0 else f"{100 * value:{sign}.0f}"
    place = (
        f'x="{svg.pixel(x + 1)}" y="{svg.pixel(y + 1)}" width="{svg.pixel(width - 2)}" height="{_HEIGHT - 2}" rx="3"'
    )
    return (
        f'<g><rect class="cell" {place}/><rect class="{kind}" fill-opacity="{0.8 * share:.2f}" {place}/>'
        f"{svg.text(x + width / 2, y + 15, shown, anchor='middle', kind='value')}{svg.title(told)}</g>"
    )
