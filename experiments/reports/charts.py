"""Small drawings as SVG elements: lines, dots with intervals, heat maps. Their colours are the page's.

Hand-made, for a plotting library's SVG knows neither the reader's light or dark nor a narrow screen, and is twenty times
as long. Every mark carries its numbers as a title, which browsers show without a script.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

WIDTH, HEIGHT = 360, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 12, 38, 36
SERIES = 8  # colours that the page has
Point = tuple[float, float]


class Plot:
    """A plot with linear axes. Points are in the units of the axes; what lies outside is drawn at the edge."""

    def __init__(
        self,
        title: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str = "",
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
        percent: bool = False,
        left: int = _LEFT,
        height: int = HEIGHT,
    ) -> None:
        self._x, self._y = _wide(x), _wide(y)
        self._left, self._height = left, height
        self._title = title
        self._marks: list[str] = []
        self._axes(x_ticks, y_ticks, x_label, percent)

    def line(self, points: Iterable[Point], series: int, *, dashed: bool = False, faint: bool = False) -> None:
        """A line through the points."""
        path = " ".join(f"{_n(self._at_x(x))},{_n(self._at_y(y))}" for x, y in points if _finite(x, y))
        kind = " dashed" if dashed else ""
        kind += " faint" if faint else ""
        self._marks.append(f'<polyline class="line s{series % SERIES}{kind}" points="{path}"/>')

    def dot(self, x: float, y: float, series: int, told: str, *, hollow: bool = False, label: str = "") -> None:
        """A dot that says `told` when pointed at, with a short label beside it."""
        if not _finite(x, y):
            return
        kind = "ring" if hollow else "dot"
        px, py = _n(self._at_x(x)), _n(self._at_y(y))
        self._marks.append(f'<circle class="{kind} s{series % SERIES}" cx="{px}" cy="{py}" r="3.5">{_title(told)}</circle>')
        if label:
            side = "end" if self._at_x(x) > WIDTH - 40 else "start"
            shift = -7 if side == "end" else 7
            self._marks.append(f'<text class="tag" x="{_n(self._at_x(x) + shift)}" y="{_n(self._at_y(y) + 4)}" text-anchor="{side}">{escape(label)}</text>')

    def upright(self, x: float, low: float, high: float, series: int) -> None:
        """An interval of y."""
        if _finite(x, low) and _finite(x, high):
            px = _n(self._at_x(x))
            self._marks.append(f'<line class="bar s{series % SERIES}" x1="{px}" x2="{px}" y1="{_n(self._at_y(low))}" y2="{_n(self._at_y(high))}"/>')

    def level(self, y: float, low: float, high: float, series: int) -> None:
        """An interval of x."""
        if _finite(low, y) and _finite(high, y):
            py = _n(self._at_y(y))
            self._marks.append(f'<line class="bar s{series % SERIES}" y1="{py}" y2="{py}" x1="{_n(self._at_x(low))}" x2="{_n(self._at_x(high))}"/>')

    def parting(self, x: float) -> None:
        """A fine upright line."""
        px = _n(self._at_x(x))
        self._marks.append(f'<line class="part" x1="{px}" x2="{px}" y1="{_TOP}" y2="{self._height - _BOTTOM}"/>')

    def legend(self, names: Sequence[str], first: int = 0) -> None:
        """The names of the series from `first` on, in their colours, in one line under the title."""
        x = float(self._left)
        for series, name in enumerate(names, first):
            self._marks.append(
                f'<circle class="dot s{series % SERIES}" cx="{_n(x + 4)}" cy="26" r="3.5"/>'
                f'<text class="tag" x="{_n(x + 11)}" y="30">{escape(name)}</text>'
            )
            x += 22 + 6.2 * len(name)

    def svg(self) -> str:
        """The drawing."""
        return _element(self._title, WIDTH, self._height, self._marks)

    def _axes(self, x_ticks: Sequence[tuple[float, str]] | None, y_ticks: Sequence[tuple[float, str]] | None, x_label: str, percent: bool) -> None:
        bottom = self._height - _BOTTOM
        for value, text in ticks(*self._y, percent=percent) if y_ticks is None else y_ticks:
            py = _n(self._at_y(value))
            self._marks.append(f'<line class="grid" x1="{self._left}" x2="{WIDTH - _RIGHT}" y1="{py}" y2="{py}"/>')
            self._marks.append(f'<text x="{self._left - 6}" y="{_n(self._at_y(value) + 4)}" text-anchor="end">{escape(text)}</text>')
        for value, text in ticks(*self._x) if x_ticks is None else x_ticks:
            px = _n(self._at_x(value))
            self._marks.append(f'<text x="{px}" y="{bottom + 15}" text-anchor="middle">{escape(text)}</text>')
        if x_label:
            middle = (self._left + WIDTH - _RIGHT) // 2
            self._marks.append(f'<text class="axis" x="{middle}" y="{bottom + 30}" text-anchor="middle">{escape(x_label)}</text>')

    def _at_x(self, value: float) -> float:
        return _scale(value, self._x, self._left, WIDTH - _RIGHT)

    def _at_y(self, value: float) -> float:
        return _scale(value, self._y, self._height - _BOTTOM, _TOP)


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
    left, cell_height = 112, 22
    cell_width = (WIDTH - left - 4) / max(1, len(columns))
    marks = []
    for c, name in enumerate(columns):
        x = left + (c + 0.5) * cell_width
        marks.append(f'<text x="{_n(x)}" y="44" text-anchor="middle">{escape(name)}</text>')
    for r, name in enumerate(rows):
        y = 50 + r * cell_height
        marks.append(f'<text x="{left - 8}" y="{_n(y + 15)}" text-anchor="end">{escape(name)}</text>')
        for c in range(len(columns)):
            value = values[r][c]
            x = left + c * cell_width
            share = 0.0 if math.isnan(value) else min(1.0, abs(value) / top) if top else 0.0
            kind = "heat" if rises is None else "better" if (value > 0) == rises[r] else "worse"
            sign = "" if rises is None else "+"
            text = "" if math.isnan(value) or round(100 * value) == 0 else f"{100 * value:{sign}.0f}"
            marks.append(
                f'<g><rect class="cell" x="{_n(x + 1)}" y="{_n(y + 1)}" width="{_n(cell_width - 2)}" height="{cell_height - 2}" rx="3"/>'
                f'<rect class="{kind}" fill-opacity="{0.8 * share:.2f}" x="{_n(x + 1)}" y="{_n(y + 1)}" width="{_n(cell_width - 2)}" height="{cell_height - 2}" rx="3"/>'
                f'<text class="value" x="{_n(x + cell_width / 2)}" y="{_n(y + 15)}" text-anchor="middle">{text}</text>{_title(told[r][c])}</g>'
            )
    return _element(title, WIDTH, 54 + cell_height * len(rows), marks)


def ticks(low: float, high: float, *, percent: bool = False) -> list[tuple[float, str]]:
    """Four to seven round values within the bounds, with their text."""
    span = high - low
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next((factor for factor in (1, 2, 5) if span / (step * factor) <= 6.5), 10)
    first = math.ceil(low / step - 1e-9)
    values = [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]
    return [(value, f"{100 * value:.3g}%" if percent else f"{value + 0.0:.4g}") for value in values]


def bounds(values: Iterable[float], *, least: float | None = None) -> tuple[float, float]:
    """Bounds with a little room; `least` is a lower bound that must be inside."""
    seen = [value for value in values if math.isfinite(value)]
    if least is not None:
        seen.append(least)
    if not seen:
        return 0.0, 1.0
    low, high = min(seen), max(seen)
    room = 0.06 * (high - low) or 0.5
    return (low if least is not None and low >= least else low - room), high + room


def _element(title: str, width: int, height: int, marks: Sequence[str]) -> str:
    head = f'<svg class="panel" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    return "".join([head, f'<text class="head" x="4" y="16">{escape(title)}</text>', *marks, "</svg>"])


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def _scale(value: float, bounds: tuple[float, float], start: float, end: float) -> float:
    low, high = bounds
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return start + share * (end - start)


def _wide(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _finite(*values: float) -> bool:
    return all(math.isfinite(value) for value in values)


def _n(value: float) -> str:
    """A pixel, with one decimal where it has any."""
    return f"{value:.1f}".removesuffix(".0")
