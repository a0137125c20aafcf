"""The guard of every training: a sampler and the trainer give the same tokens the same log-probabilities.

They part when the sampler holds stale weights, another template, another precision or a broken cache; the answers are
then another policy's, and what is learnt from them is noise (huggingface/trl/issues/5312).
"""

import torch

from policy import ranks
from policy.errors import PolicyError

LIMIT = 0.05  # of the difference between the two means, in nats a token


def mean_difference(sampler: torch.Tensor, trainer: torch.Tensor, mask: torch.Tensor) -> float:
    """Trainer's mean log-probability less the sampler's, over the tokens of all processes.

    Args: f32[B, T] each, and which tokens count as bool or int[B, T]. Tokens that a sampler gave no number (NaN) are
    left out; without any token the difference is 0.
    """
    counted = mask.bool() & ~torch.isnan(sampler)
    apart = (trainer.double() - sampler.double())[counted]
    local = {"sum": apart.sum().reshape(1).cpu().numpy(), "tokens": counted.sum().reshape(1).cpu().numpy()}
    total = ranks.gather(local)
    return float(total["sum"].sum() / max(int(total["tokens"].sum()), 1))


def check_agreement(difference: float, sampler: str) -> None:
    """Stop when the means differ by more than `LIMIT`.

    Raises:
        PolicyError: they do, with what to look at.
    """
    if abs(difference) <= LIMIT:
        return
    raise PolicyError(
        f"the sampler ({sampler}) and the trainer differ by {difference:+.3f} in the mean log-probability of the "
        f"sampled tokens (at most {LIMIT}): the sampler has other weights or another precision than the trainer. Check "
        "that it is given the weights after every update and uses the trainer's dtype, temperature and chat template, "
        "or sample with transformers"
    )
