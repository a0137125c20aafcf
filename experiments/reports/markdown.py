"""A report as Markdown. Drawings are left to the HTML beside it; every number in them stands in a table or its rows."""

from collections.abc import Iterable

from experiments.reports.blocks import Block, Boards, Cell, Figure, Report, Row, Section, Table

PAGE = "report.html"


def to_markdown(report: Report) -> str:
    """The whole report."""
    facts = " · ".join(f"{name} {value}" for name, value in report.facts)
    parts = [
        f"# {report.title}",
        report.verdict,
        facts,
        *(_section(section, report.where) for section in report.sections),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, where: str) -> str:
    parts = [f"## {section.title}", *(_block(block) for block in section.blocks)]
    if section.source:
        parts.append(f"These numbers, from their rows ({where}):\n\n```\n{section.source}\n```")
    return "\n\n".join(part for part in parts if part)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        lines = [_line(block.head), "|---" * len(block.head) + "|"]
        return "\n".join([*lines, *(_line([_cell(cell, row) for cell in row.cells]) for row in block.rows)])
    if isinstance(block, Figure):
        return f"[{block.caption}]({PAGE}#{block.name})"
    if isinstance(block, Boards):
        return "\n\n".join(f"{board.caption}:\n\n```\n{board.text}\n```" for board in block.boards)
    return block.markdown


def _cell(cell: Cell, row: Row) -> str:
    text = f"**{cell.text}**" if cell.best else f"*{cell.text}*" if row.published and cell.text else cell.text
    return f"{text} ({cell.note})" if cell.note else text


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
