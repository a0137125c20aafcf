"""What keeps the device engine's program fast on a CPU, where XLA makes a kernel of every array that a fusion gives.

Arrays of one word per lane are so short that what counts is how many kernels there are, that none does another's work
again, and that none is split between threads, which takes longer than the work. Hence three habits: a search is packed
in few words (`device_step.Packed`); what several results are made of is `computed_once`; and tables are kept apart that
would together have 512 KiB, from which on XLA splits even a gather of a few words.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
from jax import lax

_Tree = TypeVar("_Tree")


def computed_once(always: jax.Array, work: Callable[[], _Tree], instead: _Tree) -> _Tree:
    """`work()`, as arrays of their own; `instead` has its shapes and types, and is never used.

    `always` is a scalar of which XLA cannot know that it is true. Without the branch XLA would fuse the work into each
    of the results that are made of it and do it anew for each; an `optimization_barrier` does not keep it from that.
    """
    found: _Tree = lax.cond(always, work, lambda: instead)
    return found


def look(values: jax.Array, index: jax.Array) -> jax.Array:
    """`values[index]` for an index u32 that is known to be in bounds, which spares its checks."""
    found: jax.Array = values.at[index].get(mode="promise_in_bounds")
    return found
