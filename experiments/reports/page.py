"""A report as one HTML page: no script, nothing from outside, light or dark as the reader has it, any width.

Text from models is data: what Markdown allows of HTML, images and links out of the page is switched off, and the page
forbids itself every request.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from experiments.reports.blocks import Report

_FOLDED = re.compile(r"<details><summary>[^<>]*</summary>|</details>")


def to_html(report: Report) -> str:
    """The whole page."""
    return _environment().get_template("page.html.j2").render(report=report) + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = lambda text: Markup(_markdown().render(text))
    environment.filters["words"] = lambda text: Markup(_markdown().renderInline(text))
    environment.filters["svg"] = Markup
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    return environment


class _Inside(MarkdownIt):
    """Markdown whose links stay on the page."""

    def validateLink(self, url: str) -> bool:
        return url.startswith("#")


@cache
def _markdown() -> MarkdownIt:
    markdown = _Inside("commonmark").enable("table").disable(["html_inline", "image", "autolink"])
    markdown.add_render_rule("html_block", _only_folds)
    markdown.add_render_rule("table_open", lambda *_: '<div class="wide"><table>')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>")
    return markdown


def _only_folds(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """The marks of `blocks.folded` as they are, all other HTML as text."""
    lines = tokens[index].content.strip().split("\n")
    return "\n".join(line if _FOLDED.fullmatch(line.strip()) else str(escape(line)) for line in lines) + "\n"
