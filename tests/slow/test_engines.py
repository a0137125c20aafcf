"""The engines are each other's oracle; `python -m tests.slow.engines` compares as many boards as wanted."""

import pytest

import jaxenv
from tests.slow.boards import draw_boards, instances_of
from tests.slow.engines import compare


@pytest.fixture(scope="module", autouse=True)
def _device_engine():
    try:
        jaxenv.solve(instances_of(draw_boards(0, 2, 1, 0)[0]), engine="device")
    except jaxenv.JaxenvError as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("objective", ["sum_of_costs", "makespan"])
@pytest.mark.parametrize("agents", range(2, 6))
def test_the_engines_never_contradict_each_other(agents, objective):
    row = compare(agents, 0, objective)
    assert row["wrong"] == []
    assert row["both"] > row["boards"] / 2
