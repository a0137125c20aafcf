"""Kept rows of the independent check of sets, one new seed of it, and the named set that takes minutes to make."""

import pytest

from jaxenv.benchmarks import order_of_set
from jaxenv.dataset import METADATA, Dataset
from jaxenv.streaming import stream
from tests.slow import rows as store
from tests.slow.setcheck import measure

PAPER_LARGE = "26e823d75d1b4e064b6f3aa40c94b8ac"  # made with jax 0.10.2


def test_the_kept_rows_hold_no_fault():
    rows = store.read(store.RESULTS / "generator_sets.jsonl")
    assert rows and all(row["wrong"] == [] for row in rows)


@pytest.mark.parametrize("agents", [2, 3, 4, 5])
def test_a_fresh_set_passes_the_independent_check(agents):
    assert measure(agents, 1000)["wrong"] == []


def test_paper_large_is_the_same_boards_for_ever(tmp_path):
    folder = stream(tmp_path / "set", order_of_set("paper-large"))
    assert (folder / METADATA).is_file()
    dataset = Dataset.load(folder)
    assert dataset.content_hash == PAPER_LARGE and len(dataset) == 126_000
