"""The least that a drawing needs: an SVG element, numbers, titles. Colours are classes of the page."""

from collections.abc import Sequence
from html import escape

WIDTH = 360
SERIES = 8  # colours that the page has


def element(title: str, height: int, marks: Sequence[str]) -> str:
    """A drawing of the usual width with its heading."""
    head = f'<svg class="panel" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    return "".join([head, f'<text class="head" x="4" y="16">{escape(title)}</text>', *marks, "</svg>"])


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """Words at a place."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{pixel(x)}" y="{pixel(y)}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{pixel(x1)}" y1="{pixel(y1)}" x2="{pixel(x2)}" y2="{pixel(y2)}"/>'


def title(words: str) -> str:
    """What a mark says when pointed at."""
    return f"<title>{escape(words)}</title>" if words else ""


def pixel(value: float) -> str:
    """A coordinate, with one decimal where it has any."""
    return f"{value:.1f}".removesuffix(".0")
