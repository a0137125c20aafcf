"""The engines are each other's oracle; `python -m tests.slow.engines` compares as many boards as wanted."""

import pytest

from tests.slow.engines import compare


@pytest.mark.parametrize("objective", ["sum_of_costs", "makespan"])
@pytest.mark.parametrize("agents", range(2, 6))
def test_the_engines_never_contradict_each_other(agents, objective):
    row = compare(agents, 0, objective)
    assert row["wrong"] == []
    assert row["both"] > row["boards"] / 2
