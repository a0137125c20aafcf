"""What the processes of one training share: every one of them sees the whole batch, and so all of them count alike."""

from typing import Any

import numpy as np
import torch.distributed as dist

Columns = dict[str, np.ndarray]


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def index() -> int:
    """Which of them this one is; the first writes."""
    return dist.get_rank() if count() > 1 else 0


def gather(columns: Columns) -> Columns:
    """The rows of all processes in their order, which is that of the trainer's batch; a copy in each of them."""
    if count() == 1:
        return columns
    parts: list[Any] = [None] * count()
    dist.all_gather_object(parts, columns)
    return {name: np.concatenate([part[name] for part in parts]) for name in columns}


def wait() -> None:
    """Until every process has come here."""
    if count() > 1:
        dist.barrier()
