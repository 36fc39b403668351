"""What a person sees while a sweep runs: a bar with rate and time left, and failures as they come.

On a terminal the bar is redrawn; in a log there is a line now and then instead.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from ..experiments.task import Result, Task

_BETWEEN_LINES = 20.0  # seconds
_MOST_FAILURES = 10  # that are shown while the sweep runs


class SweepBar:
    """Watcher of a sweep for the standard error.

    Parameters
    ----------
    title : str
        Name of the sweep.
    """

    def __init__(self, title: str) -> None:
        from rich.console import Console

        self.title = title
        self.console: Console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._last, self._failures = time.monotonic(), 0
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, cells: int, stored: int) -> None:
        """Say what there is to do, before the first cell is there."""
        known = f", {stored} of them in the store already" if stored else ""
        self._line(f"{self.title}: {cells} cells{known}; workers are starting")

    def step(self, i: float, total: float, **scalars: float) -> bool:
        """Show that `i` of `total` cells are there."""
        rate, left = scalars.get("rate", 0.0), scalars.get("seconds_left", 0.0)
        text = f"{rate:.3g} cells/s, {duration(left)} left"
        if failed := int(scalars.get("failed", 0)):
            text += f", {failed} failed"
        if self.console.is_terminal:
            self._draw(i, total, text)
        elif time.monotonic() - self._last > _BETWEEN_LINES:
            self._last = time.monotonic()
            self._line(f"{self.title}: {i:.0f} of {total:.0f} cells, {text}")
        return False

    def failed(self, task: Task, result: Result) -> None:
        """Show a failure as it happens."""
        from ..experiments.status import reason_of

        self._failures += 1
        if self._failures <= _MOST_FAILURES:
            self._line(f"failed: {described(task.parameters)}: {reason_of(result)}")
        if self._failures == _MOST_FAILURES:
            self._line("further failures are only counted here; the store has their reasons")

    def _line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text)  # above the bar
        else:
            print(text, file=sys.stderr, flush=True)

    def _draw(self, i: float, total: float, text: str) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = ("{task.description}", BarColumn(), MofNCompleteColumn())
            self._bar = Progress(
                *columns, TextColumn("{task.fields[text]}"), console=self.console, transient=True
            )
            self._task = self._bar.add_task(self.title, total=total, text=text)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=i, text=text)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def duration(seconds: float) -> str:
    """Time in words.

    Examples
    --------
    >>> duration(0.3), duration(95), duration(7300), duration(400_000)
    ('1 s', '1 min 35 s', '2 h 1 min', '4 d 15 h')
    """
    whole = max(1, round(seconds)) if seconds > 0 else 0
    for big, small, size in (("d", "h", 86400), ("h", "min", 3600), ("min", "s", 60)):
        if whole >= size:
            part = {"h": 3600, "min": 60, "s": 1}[small]
            return f"{whole // size} {big} {whole % size // part} {small}"
    return f"{whole} s"


def described(text: str) -> str:
    """Cell in a few words: what ran, and at which parameters.

    Examples
    --------
    >>> described('{"parameters":{"d":10,"n":20},"recipe":"learner:giant_step/1","replicate":3}')
    'giant_step at d = 10, n = 20, replicate = 3'
    """
    import json

    cell = json.loads(text)
    name = cell["recipe"].partition(":")[2].partition("/")[0]
    given = dict(cell["parameters"])
    if "replicate" in cell:
        given["replicate"] = cell["replicate"]
    return f"{name} at " + ", ".join(f"{key} = {value}" for key, value in given.items())
