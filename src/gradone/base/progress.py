"""Progress of a long run: who watches it, and may stop it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_PATIENCE = 2.0  # seconds before a bar appears: short runs need none


class Progress(Protocol):
    """Something that watches a run."""

    def step(self, i: int, total: int, **scalars: float) -> bool:
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

    def step(self, i: int, total: int, **scalars: float) -> bool:
        """Go on."""
        return False

    def close(self) -> None:
        """Do nothing."""


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

    def step(self, i: int, total: int, **scalars: float) -> bool:
        """Draw the bar if the run is long."""
        if self._bar is None and time.monotonic() - self._start > _PATIENCE:
            self._open(total)
        if self._bar is not None and self._task is not None:
            numbers = " ".join(f"{name} {value:.3g}" for name, value in scalars.items())
            self._bar.update(self._task, completed=i, description=f"{self.title} {numbers}")
        return False

    def _open(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self.title, total=total)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def watcher(progress: Progress | bool, title: str) -> Progress:
    """Watcher that a caller asked for; a bar is only for those who sit at a terminal.

    Examples
    --------
    >>> type(watcher(False, "")).__name__
    'Silent'
    """
    if not isinstance(progress, bool):
        return progress
    return TerminalBar(title) if progress and sys.stderr.isatty() else Silent()
