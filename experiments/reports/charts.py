"""Plots as SVG elements: lines, dots and intervals on linear axes.

Made by hand, for a plotting library's SVG knows neither the reader's light or dark nor a narrow screen, and is twenty
times as long. Every mark carries its numbers as a title, which browsers show without a script.
"""

import math
from collections.abc import Iterable, Sequence

from experiments.reports import svg

_HEIGHT = 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 12, 38, 36
Point = tuple[float, float]
Ticks = Sequence[tuple[float, str]]


class Plot:
    """Points are in the units of the axes; what lies outside is drawn at the edge, what is not finite is left out."""

    def __init__(
        self,
        title: str,
        x: Point,
        y: Point,
        *,
        x_label: str = "",
        x_ticks: Ticks | None = None,
        y_ticks: Ticks | None = None,
        percent: bool = False,
        left: int = _LEFT,
        height: int = _HEIGHT,
    ) -> None:
        """An empty plot; `percent` is of y. Ticks are found where none are given."""
        self._bounds = (_wide(x), _wide(y))
        self._left, self._height = left, height
        self._title = title
        self._marks: list[str] = []
        bottom, right = height - _BOTTOM, svg.WIDTH - _RIGHT
        for value, words in ticks(*self._bounds[1], percent=percent) if y_ticks is None else y_ticks:
            _, py = self._place(0, value)
            self._marks.append(svg.line("grid", left, py, right, py))
            self._marks.append(svg.text(left - 6, py + 4, words, anchor="end"))
        for value, words in ticks(*self._bounds[0]) if x_ticks is None else x_ticks:
            px, _ = self._place(value, 0)
            self._marks.append(svg.text(px, bottom + 15, words, anchor="middle"))
        if x_label:
            self._marks.append(svg.text((left + right) / 2, bottom + 30, x_label, anchor="middle"))

    def line(self, points: Iterable[Point], series: int, *, dashed: bool = False, faint: bool = False) -> None:
        """A line through the points."""
        places = (self._place(x, y) for x, y in points if _finite(x, y))
        path = " ".join(f"{svg.pixel(px)},{svg.pixel(py)}" for px, py in places)
        kind = f"{_series(series)}{' dashed' if dashed else ''}{' faint' if faint else ''}"
        self._marks.append(f'<polyline class="line {kind}" points="{path}"/>')

    def dot(self, x: float, y: float, series: int, told: str, *, hollow: bool = False, label: str = "") -> None:
        """A dot that says `told` when pointed at, with a short label beside it."""
        if not _finite(x, y):
            return
        px, py = self._place(x, y)
        kind = f"{'ring' if hollow else 'dot'} {_series(series)}"
        place = f'cx="{svg.pixel(px)}" cy="{svg.pixel(py)}"'
        self._marks.append(f'<circle class="{kind}" {place} r="3.5">{svg.title(told)}</circle>')
        if label:
            outside = px > svg.WIDTH - 40
            anchor, shift = ("end", -7) if outside else ("start", 7)
            self._marks.append(svg.text(px + shift, py + 4, label, anchor=anchor, kind="tag"))

    def upright(self, x: float, low: float, high: float, series: int) -> None:
        """An interval of y."""
        self._bar((x, low), (x, high), series)

    def level(self, y: float, low: float, high: float, series: int) -> None:
        """An interval of x."""
        self._bar((low, y), (high, y), series)

    def parting(self, x: float) -> None:
        """A fine upright line."""
        px, _ = self._place(x, 0)
        self._marks.append(svg.line("part", px, _TOP, px, self._height - _BOTTOM))

    def legend(self, names: Sequence[str], first: int = 0) -> None:
        """The names of the series from `first` on, in their colours, in one line under the title."""
        x = float(self._left)
        for series, name in enumerate(names, first):
            self._marks.append(f'<circle class="dot {_series(series)}" cx="{svg.pixel(x + 4)}" cy="26" r="3.5"/>')
            self._marks.append(svg.text(x + 11, 30, name, kind="tag"))
            x += 22 + 6.2 * len(name)

    def svg(self) -> str:
        """The drawing."""
        return svg.element(self._title, self._height, self._marks)

    def _bar(self, start: Point, end: Point, series: int) -> None:
        if _finite(*start, *end):
            self._marks.append(svg.line(f"bar {_series(series)}", *self._place(*start), *self._place(*end)))

    def _place(self, x: float, y: float) -> Point:
        """The pixel of a point."""
        return (
            _scale(x, self._bounds[0], self._left, svg.WIDTH - _RIGHT),
            _scale(y, self._bounds[1], self._height - _BOTTOM, _TOP),
        )


def ticks(low: float, high: float, *, percent: bool = False) -> list[tuple[float, str]]:
    """Four to seven round values within the bounds, with their text."""
    span = high - low
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next((factor for factor in (1, 2, 5) if span / (step * factor) <= 6.5), 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [step * i for i in range(first, last + 1)]
    return [(value, f"{100 * value:.3g}%" if percent else f"{value:.4g}") for value in values]


def bounds(values: Iterable[float], *, least: float | None = None) -> Point:
    """Bounds with a little room; `least` is a lower bound that must be inside, and has none below it."""
    seen = [value for value in values if math.isfinite(value)]
    if least is not None:
        seen.append(least)
    if not seen:
        return 0.0, 1.0
    low, high = min(seen), max(seen)
    room = 0.06 * (high - low) or 0.5
    return (low if low == least else low - room), high + room


def _series(number: int) -> str:
    return f"s{number % svg.SERIES}"


def _scale(value: float, bounds: Point, start: float, end: float) -> float:
    low, high = bounds
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return start + share * (end - start)


def _wide(bounds: Point) -> Point:
    low, high = bounds
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _finite(*values: float) -> bool:
    return all(math.isfinite(value) for value in values)
