"""Work shared out among threads."""

import threading
import time

import pytest

from jaxenv.threads import for_each


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_every_part_is_worked_on_once(threads, count):
    done = []
    for_each(done.append, range(count), threads)
    assert sorted(done) == list(range(count))


def test_so_many_threads_are_at_work_at_once_and_the_calling_one_is_among_them():
    met = threading.Barrier(2, timeout=60)
    names = set()

    def meet(part):
        met.wait()
        names.add(threading.current_thread().name)

    for_each(meet, range(2), 2)
    assert threading.current_thread().name in names and len(names) == 2


def test_an_error_is_raised_when_nobody_is_at_work_any_more():
    at_work = []

    def work(part):
        if part == 0:
            raise ValueError("part 0")
        at_work.append(part)
        time.sleep(0.05)
        at_work.remove(part)

    with pytest.raises(ValueError, match="part 0"):
        for_each(work, range(6), 3)
    assert not at_work


def test_work_may_share_out_more_work_when_all_threads_are_taken():
    done = []
    for_each(lambda part: for_each(done.append, [10 * part + k for k in range(3)], 4), range(8), 64)
    assert len(done) == 24
