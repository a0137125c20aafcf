"""Named sets: their make-up, and the very boards, pinned by hash. (Hashes were made with jax 0.10.2.)"""

from collections import Counter

import numpy as np
import pytest

from jaxenv.benchmarks import _SETS, benchmark
from jaxenv.canonical import split_of
from jaxenv.errors import GenerationError

PINNED = {
    "learn": "08fb2a6e143bb7dbf8cf9325c38a0c0b",
    "learn3": "c7192becb9ec0d6b2a2ef9555d9c93d0",
    "validation": "72e8aae8766c35d37b8856b029530d29",
    "quick": "c866d0e272bfae98b6fe4a399d39b4d8",
    "paper": "ce07b11890ba674b799f0dfa74d0640b",
}
MAKE_UP = {"learn": (2, 1600, 0.25), "learn3": (3, 800, 0.25), "validation": (2, 480, 0.5)}


@pytest.mark.parametrize("name", list(PINNED)[3:])
def test_a_set_of_several_numbers_of_agents_is_the_same_boards_for_ever(name):
    dataset = benchmark(name)
    assert dataset.content_hash == PINNED[name]
    assert set(split_of(dataset.instances)) == {"evaluation"}
    agents, size = (np.asarray(x).tolist() for x in (dataset.instances.num_agents, dataset.instances.size))
    cells = Counter(zip(agents, size, strict=True))
    if name == "paper":
        assert cells == {(agents, size): 150 for agents in (3, 4, 5) for size in range(agents, 11)}
        waits = np.asarray(dataset.solutions.needs_wait)
        assert waits.sum() == 21 * (13 + 25 + 38)  # of 50 boards each; ties go to the class that waits
    else:
        assert len(cells) == 21 and set(cells.values()) == {28, 29}


def test_paper_large_has_the_layout_of_paper_forty_times():
    small, large = (_SETS[name].parts() for name in ("paper", "paper-large"))
    cells: list[Counter[tuple[int, int, int]]] = [Counter(), Counter()]
    for counts, parts in zip(cells, (small, large), strict=True):
        for part in parts:
            counts[part.num_agents, part.size, part.group // 3] += part.wanted
    assert cells[1] == {cell: 40 * boards for cell, boards in cells[0].items()}
    assert set(cells[1].values()) == {2000}


@pytest.fixture(scope="module", params=list(MAKE_UP))
def named(request):
    return request.param, benchmark(request.param)


def test_a_named_set_is_the_same_boards_for_ever(named):
    name, dataset = named
    assert dataset.content_hash == PINNED[name]


def test_a_named_set_has_all_sizes_alike_and_its_share_of_waits(named):
    name, dataset = named
    agents, count, waits = MAKE_UP[name]
    size, needs_wait = np.asarray(dataset.instances.size), np.asarray(dataset.solutions.needs_wait)
    assert len(dataset) == count and (np.asarray(dataset.instances.num_agents) == agents).all()
    assert np.bincount(size).tolist() == [0, 0, 0] + [count // 8] * 8
    assert np.bincount(size, needs_wait).tolist() == [0, 0, 0] + [count / 8 * waits] * 8
    assert set(split_of(dataset.instances)) == {"validation" if name == "validation" else "evaluation"}


def test_the_validation_set_has_its_hole_ratios_in_equal_parts_and_takes_other_numbers():
    dataset = benchmark("validation", num_agents=3, count=96)
    assert len(dataset) == 96 and (np.asarray(dataset.instances.num_agents) == 3).all()
    wanted = {}
    for record in dataset.realised["classes"]:
        wanted[record["hole_ratio"]] = wanted.get(record["hole_ratio"], 0) + record["count"]
    assert wanted == {0.1: 32, 0.2: 32, 0.3: 32}


def test_an_unknown_set_is_refused_with_the_names_there_are():
    with pytest.raises(GenerationError, match="learn, learn3, validation"):
        benchmark("lern")


def test_the_numbers_of_a_fixed_set_cannot_be_changed():
    with pytest.raises(GenerationError, match="leave num_agents and count out"):
        benchmark("learn", count=10)
