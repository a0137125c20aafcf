"""The guard: equal log-probabilities pass, a sampler with other weights does not."""

import math

import pytest
import torch

from policy.agreement import LIMIT, check_agreement, mean_difference
from policy.errors import PolicyError


def test_the_difference_is_that_of_the_means_over_the_tokens_that_count():
    sampler = torch.tensor([[-1.0, -2.0, 9.0], [-3.0, math.nan, 9.0]])
    trainer = torch.tensor([[-1.5, -2.5, 0.0], [-2.0, -7.0, 0.0]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 0]])
    assert mean_difference(sampler, trainer, mask) == pytest.approx((-4.5 - -3.5 + -2.0 - -3.0 + 0.5 - 0.5) / 3)
    assert mean_difference(sampler, sampler, mask) == 0
    assert mean_difference(sampler, trainer, torch.zeros(2, 3)) == 0


def test_the_answers_of_other_weights_are_less_likely_under_the_trainers():
    torch.manual_seed(0)
    stale, current = (torch.randn(1000, 50).mul(0.7).log_softmax(-1) for _ in range(2))
    drawn = torch.multinomial(stale.exp(), 1)
    apart = mean_difference(stale.gather(1, drawn), current.gather(1, drawn), torch.ones(1000, 1))
    assert apart < -LIMIT
    with pytest.raises(PolicyError, match=r"sampler \(vLLM, server\) and the trainer differ by -0\.\d+"):
        check_agreement(apart, "vLLM, server")


@pytest.mark.parametrize("difference", [0.0, LIMIT, -LIMIT, 1e-6])
def test_the_noise_of_a_precision_is_no_disagreement(difference):
    check_agreement(difference, "transformers")


@pytest.mark.parametrize("difference", [1.01 * LIMIT, -1.01 * LIMIT, 3.0])
def test_too_much_on_either_side_stops_with_advice(difference):
    with pytest.raises(PolicyError, match="other weights or another precision"):
        check_agreement(difference, "transformers")
