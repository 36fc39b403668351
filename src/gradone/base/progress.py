"""Progress of a long run: who watches it, and may stop it."""

from __future__ import annotations

import math
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_PATIENCE = 2.0  # seconds before a bar appears: short runs need none


class Progress(Protocol):
    """Something that watches a run."""

    def step(self, i: float, total: float, **scalars: float) -> bool:
        """Take note that `i` of `total` parts are done; return True to stop the run."""

    def close(self) -> None:
        """Take note that the run is over."""


class Silent:
    """Watches nothing.

    Examples
    --------
    >>> Silent().step(1, 2)
    False
    """

    def step(self, i: float, total: float, **scalars: float) -> bool:
        """Go on."""
        return False

    def close(self) -> None:
        """Do nothing."""


class Unwatched(Silent):
    """Of a run that nobody waits for: Ctrl-C ends whoever called it, too.

    A part of a longer work must not return half of its numbers as if they were all.
    """


class TerminalBar:
    """Bar on the standard error, drawn once a run takes longer than two seconds.

    Examples
    --------
    >>> bar = TerminalBar("bayes_amp")
    >>> bar.step(1, 2)
    False
    >>> bar.close()
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._start = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def step(self, i: float, total: float, **scalars: float) -> bool:
        """Draw the bar if the run is long; it appears also while the first part is at work."""
        with self._lock:
            if self._bar is None and time.monotonic() - self._start > _PATIENCE:
                self._open(total)
            if self._bar is not None and self._task is not None:
                numbers = " ".join(f"{name} {value:.3g}" for name, value in scalars.items())
                text = f"{self.title} {numbers}".rstrip()
                self._bar.update(self._task, completed=i, description=text)
        if i == 0 and self._timer is None:
            self._timer = threading.Timer(1.01 * _PATIENCE, self.step, (0.001, total))
            self._timer.daemon = True
            self._timer.start()
        elif i >= 1 and self._timer is not None:
            self._timer.cancel()
        return False

    def _open(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self.title, total=total)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._start = math.inf  # no bar appears any more
            if self._bar is not None:
                self._bar.stop()


def watcher(progress: Progress | bool, title: str) -> Progress:
    """Watcher that a caller asked for; a bar is only for those who sit at a terminal.

    Examples
    --------
    >>> type(watcher(False, "")).__name__
    'Unwatched'
    """
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return Unwatched()
    return TerminalBar(title) if sys.stderr.isatty() else Silent()
