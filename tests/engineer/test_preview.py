"""The preview: which groups carry a signal, per size, and which of several proposals has most of them."""

import numpy as np
import pytest

from engineer.preview import build_preview, most_signal
from tests.engineer.stages import columns


def previewed(groups_by_size):
    """A preview of groups given by their valid answers of four."""
    valid_of_20 = dict.fromkeys(groups_by_size, 0)
    table = columns(valid_of_20, groups=True)
    for size, groups in groups_by_size.items():
        here = np.flatnonzero(table["size"] == size)
        table["valid"][here] = [index < valid for valid in groups for index in range(4)]
    return build_preview(table)


MIXED = previewed({3: [4, 4, 4, 4, 4], 6: [1, 2, 3, 0, 4], 9: [0, 0, 0, 0, 1]})


def test_groups_are_counted_per_size_and_a_signal_needs_valid_and_invalid_answers():
    sizes = MIXED.to_json()["sizes"]
    assert sizes["3"] == {"groups": 5, "wrong": 0, "right": 5, "signal": 0.0}
    assert sizes["6"] == {"groups": 5, "wrong": 1, "right": 1, "signal": 0.6}
    assert sizes["9"] == {"groups": 5, "wrong": 4, "right": 0, "signal": 0.2}
    assert set(sizes) == {"3", "6", "9"}


def test_the_share_of_all_is_over_groups_not_over_sizes():
    assert MIXED.signal == MIXED.to_json()["signal"] == pytest.approx(4 / 15)
    assert build_preview(_nothing()).signal == 0.0


def _nothing():
    return {name: values[:0] for name, values in columns({3: 0}, groups=True).items()}


def test_the_proposal_with_most_signal_is_taken_and_of_equal_ones_the_first():
    none, half = previewed({3: [0] * 5}), previewed({3: [1, 2, 3, 0, 4]})
    assert most_signal([none, half, MIXED]) == 1
    assert most_signal([none, none]) == 0
    assert most_signal([half]) == 0
