"""What is documented of the solver is what the committed measurements say."""

from tests.slow import rows as store
from tests.slow.completeness import OUT
from tests.slow.table import BEGIN, DOC, END, render

MOST_UNDETERMINED = {2: 0, 3: 0.0002, 4: 0.002, 5: 0.01}


def test_the_documented_table_is_made_from_the_committed_rows():
    assert DOC.read_text().split(BEGIN)[1].split(END)[0].strip() == render(store.read(OUT))


def test_the_committed_rows_leave_no_more_boards_open_than_promised():
    rows = store.read(OUT)
    for agents in MOST_UNDETERMINED:
        mine = [row for row in rows if row["agents"] == agents]
        boards, still_open = (sum(row[name] for row in mine) for name in ("boards", "undetermined"))
        assert boards >= 20_000
        assert still_open <= MOST_UNDETERMINED[agents] * boards
        assert not any(row["plans_refused"] for row in mine)


def test_no_committed_row_holds_a_wrong_label():
    rows = store.read(store.RESULTS / "solver_agreement.jsonl")
    assert [fault for row in rows for fault in row["wrong"]] == []
