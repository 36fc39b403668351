"""A fit that may be stopped between its parts."""

from __future__ import annotations

from collections.abc import Generator
from threading import Lock
from typing import Any

from ..._callbacks import Step


class Watch:
    """Tells the callbacks of a fit about its parts, and asks them whether to go on.

    Parameters
    ----------
    steps : generator of Step
        From :func:`~gradone.learners._callbacks.fit_steps`.

    Attributes
    ----------
    stopped : bool
        Whether a callback has asked for the end.

    Examples
    --------
    >>> from gradone.learners._callbacks import fit_steps
    >>> watch = Watch(fit_steps(object(), 10))
    >>> watch.proceed("fold 1"), watch.stopped
    (True, False)
    """

    def __init__(self, steps: Generator[Step, None, None]) -> None:
        self._steps, self.stopped = steps, False
        self._lock = Lock()  # folds may run in several threads

    def proceed(self, part: str, **numbers: Any) -> bool:
        """Whether to begin this part of the fit; numbers are for the callbacks."""
        with self._lock:
            step = None if self.stopped else next(self._steps, None)
            if step is None:
                self.stopped = True
                return False
            step.metadata |= {"part": part, **numbers}
            return True
