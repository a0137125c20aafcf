"""Several hosts at one set: each labels its range of the candidates' indices, and tells the others what came out.

What has to be told of a candidate is its fate and its board's hash, nine bytes. With these every host makes the same
choices; the boards stay where they were made.
"""

from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

_LEAST = 1 << 16  # bytes of a message; padded to powers of two, for every other length is a program of its own

Told = list[tuple[NDArray[np.int8], NDArray[np.uint64]]]


class Hosts:
    """How many processes work at a set, and which of them this one is."""

    def __init__(self, count: int, number: int) -> None:
        self.count, self.number = count, number

    @classmethod
    def alone(cls) -> "Hosts":
        return cls(1, 0)

    @classmethod
    def all(cls) -> "Hosts":
        """The processes of `jax.distributed`; one where that was not initialised."""
        return cls(jax.process_count(), jax.process_index())

    def exchange(self, mine: Told) -> list[Told]:
        """What each host has to say, by its number; all hosts have to call it."""
        said = b"".join(
            part for fate, hashes in mine for part in (_number(len(fate)), fate.tobytes(), hashes.tobytes())
        )
        return [_read(words) for words in self._gather(_number(len(mine)) + said)]

    def wait(self) -> None:
        """Until all hosts are here."""
        if self.count > 1:
            from jax.experimental.multihost_utils import sync_global_devices

            sync_global_devices("jaxenv")

    def _gather(self, said: bytes) -> list[bytes]:
        from jax.experimental.multihost_utils import process_allgather

        longest = int(np.max(process_allgather(np.int32(len(said)))))
        room = np.zeros(max(_LEAST, 1 << (longest - 1).bit_length()), np.uint8)
        room[: len(said)] = np.frombuffer(said, np.uint8)
        everything: Any = process_allgather(room)
        return [one.tobytes() for one in np.asarray(everything).reshape(self.count, -1)]


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _read(words: bytes) -> Told:
    def number(at: int) -> int:
        return int.from_bytes(words[at : at + 8], "little")

    told, at = [], 8
    for _ in range(number(0)):
        count = number(at)
        fate = np.frombuffer(words, np.int8, count, at + 8).copy()
        hashes = np.frombuffer(words[at + 8 + count : at + 8 + 9 * count], np.uint64).copy()
        told.append((fate, hashes))
        at += 8 + 9 * count
    return told
