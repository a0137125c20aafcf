"""The table of docs/solver.md, from the rows of `tests.slow.completeness`.

python -m tests.slow.table
"""

from pathlib import Path

from tests.slow import rows as store
from tests.slow.completeness import BANDS, OUT, SIZES

DOC = Path(__file__).parents[2] / "docs" / "solver.md"
BEGIN, END = "<!-- table: python -m tests.slow.table -->", "<!-- end of table -->"


def render(rows):
    """Per number of agents: of all boards, and the undetermined ones by size and hole ratio."""
    agents = sorted({row["agents"] for row in rows})
    lines = ["| agents | boards | certified | proved unsolvable | undetermined |", "|---|---|---|---|---|"]
    for n in agents:
        boards, certified, unsolvable = _sums(rows, agents=n)
        share = f"{boards - certified - unsolvable} ({(boards - certified - unsolvable) / boards:.3%})"
        lines.append(f"| {n} | {boards} | {certified / boards:.2%} | {unsolvable / boards:.2%} | {share} |")
    heads = [f"holes up to {top}" for top in BANDS]
    lines += ["", "Undetermined of all boards, for " + ", ".join(map(str, agents)) + " agents:", ""]
    lines += ["| size | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for size in SIZES:
        cells = []
        for top in BANDS:
            sums = [_sums(rows, agents=n, size=size, holes_up_to=top) for n in agents]
            cells.append(", ".join(f"{boards - certified - no}/{boards}" for boards, certified, no in sums))
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _sums(rows, agents, **where):
    """(boards, certified, unsolvable) over the cells that fit."""
    fitting = [
        cell
        for row in rows
        if row["agents"] == agents
        for cell in row["cells"]
        if all(cell[name] == value for name, value in where.items())
    ]
    return tuple(sum(cell[name] for cell in fitting) for name in ("boards", "certified", "unsolvable"))


def main():
    before, rest = DOC.read_text().split(BEGIN)
    after = rest.split(END)[1]
    DOC.write_text(f"{before}{BEGIN}\n\n{render(store.read(OUT))}\n\n{END}{after}")


if __name__ == "__main__":
    main()
