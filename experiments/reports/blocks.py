"""What a report is made of, before it is Markdown or HTML."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """One entry of a table: a value and, smaller, its interval."""

    text: str
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table; `published` marks numbers that are not ours."""

    cells: tuple[Cell, ...]
    published: bool = False


@dataclass(frozen=True)
class Table:
    """Columns by their heads; the first names the row. A long one may be `folded` under these words."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    folded: str = ""


@dataclass(frozen=True)
class Text:
    """CommonMark with tables. The only HTML in it that counts is that of `folded`."""

    markdown: str


@dataclass(frozen=True)
class Figure:
    """Panels side by side, each an SVG element; `keys` are the names of the series, from the colour `first` on."""

    name: str
    caption: str
    panels: tuple[str, ...]
    keys: tuple[str, ...] = ()
    first: int = 0


@dataclass(frozen=True)
class Board:
    """A board with an answer to it: as text, and as an animated SVG element."""

    caption: str
    text: str
    svg: str


@dataclass(frozen=True)
class Boards:
    """Boards side by side."""

    boards: tuple[Board, ...]


Block = Table | Text | Figure | Boards


@dataclass(frozen=True)
class Section:
    """A part with a heading; `source` is a command that prints its numbers when run where the report says."""

    title: str
    blocks: tuple[Block, ...]
    source: str = ""

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Report:
    """A whole report. `facts` are short names and values for its head, `verdict` its one sentence."""

    title: str
    verdict: str
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[tuple[str, str], ...] = field(default=())  # big numbers of the head, with what they are
    where: str = "in the run folder"  # where the sources' commands run


def row(name: str, cells: Sequence[Cell | str], *, published: bool = False) -> Row:
    """A row from its name and its entries."""
    return Row((Cell(name), *(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)), published)


def folded(summary: str, markdown: str) -> str:
    """Markdown that is shown when its summary is opened."""
    return f"<details><summary>{html.escape(summary)}</summary>\n\n{markdown}\n\n</details>"


def command(code: str) -> str:
    """A source: Python, with pandas as `pd`, as a line for a shell."""
    assert '"' not in code and "$" not in code and "\n" not in code, code
    return f'python -c "import pandas as pd; {code}"'
