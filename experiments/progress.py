"""How far a run is: bars on a terminal, plain lines elsewhere. No thread of its own: the driver ticks it."""

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

_EVERY = 15.0  # seconds between plain lines of one step


class Display:
    """The overall bar counts weighted steps; the bar below it is the current step's own."""

    def __init__(self, console: Console, total: float) -> None:
        self._console = console
        self._total = max(total, 1e-9)
        self._done = 0.0  # weight of the finished steps
        self._seconds, self._measured = 0.0, 0.0  # time and weight of those that ran in this session
        self._name, self._weight, self._began = "", 0.0, time.monotonic()
        self._at: tuple[int, int] = (0, 0)
        self._since: tuple[float, int] = (0.0, 0)  # time and count that the rate is measured from
        self._last_line = 0.0
        self._bars: Progress | None = None
        self._tasks: tuple[TaskID, TaskID] | None = None

    def __enter__(self) -> "Display":
        if self._console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description:<22}"),
                BarColumn(bar_width=30),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[note]}"),
                console=self._console,
                auto_refresh=False,
            )
            self._tasks = (
                self._bars.add_task("run", total=1.0, note=""),
                self._bars.add_task("", total=1.0, note="", visible=False),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """A line above the bars."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def start(self, name: str, weight: float) -> None:
        self._name, self._weight, self._began, self._at = name, weight, time.monotonic(), (0, 0)
        self._last_line = self._began
        self._show("")

    def update(self, progress: dict[str, Any]) -> None:
        """A step's own progress line: done, total, and numbers to show."""
        before, self._at = self._at, (int(progress.get("done", 0)), max(1, int(progress.get("total", 1))))
        # From the first report on: what came before it was imports and compilation. A new total is a new count.
        if self._at[1] != before[1] or self._at[0] < before[0]:
            self._since = (time.monotonic(), self._at[0])
        numbers = {key: value for key, value in progress.items() if key not in ("done", "total")}
        shown = " ".join(f"{key} {value:.4g}" for key, value in numbers.items() if isinstance(value, int | float))
        self._show(shown)

    def tick(self) -> None:
        if self._bars is not None:
            self._bars.refresh()

    def finish(self, outcome: str, *, ran: bool) -> None:
        """The current step is over; one that was already there says nothing about the speed of this machine."""
        self._done += self._weight
        if ran:
            self._seconds += time.monotonic() - self._began
            self._measured += self._weight
        self.say(f"{self._name:<20} {outcome}")
        self._at, self._weight = (0, 0), 0.0
        self._show("")

    def _show(self, numbers: str) -> None:
        now = time.monotonic()
        done, total = self._at
        share = done / total if total else 0.0
        spent = now - self._began
        began, first = self._since
        rate = (done - first) / (now - began) if now > began else 0.0
        timing = [f"{rate:.3g}/s", f"{duration((total - done) / rate)} left"] if rate > 0 else []
        note = "  ".join(part for part in (f"{done}/{total}" if total else "", *timing, numbers) if part)
        if self._bars is not None and self._tasks is not None:
            overall, current = self._tasks
            fraction = (self._done + self._weight * share) / self._total
            self._bars.update(overall, completed=fraction, note=self._time_left(share, spent))
            self._bars.update(current, description=self._name, completed=share, note=note, visible=self._weight > 0)
            self._bars.refresh()
        elif note and now - self._last_line > _EVERY:
            self._last_line = now
            self.say(f"{self._name:<20} {note}")

    def _time_left(self, share: float, spent: float) -> str:
        measured = self._measured + self._weight * share
        if measured <= 0:
            return ""
        rest = self._total - self._done - self._weight * share
        return f"about {duration((self._seconds + spent) / measured * rest)} left"


def duration(seconds: float) -> str:
    """12s, 3m05s, 2h07m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
