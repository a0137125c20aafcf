"""Accepted replies by the hundred: the generator fills each, or says why not and which mix it can fill."""

from tests.experiments.test_feasible import accepted, ends_in_boards_or_a_reason


def test_hundreds_of_accepted_replies_can_be_filled_or_have_a_reason():
    filled = [ends_in_boards_or_a_reason(config) for config in accepted(7, 300)]
    assert sum(filled) > 200
