"""What the server tells whoever started it: one line for each refusal, but never a flood."""

from __future__ import annotations

import logging
import time

_LINES, _SECONDS = 40, 10.0


class Moderate(logging.Filter):
    """Lets so many lines pass in a time, and then says how many it has left out.

    Parameters
    ----------
    lines, seconds : int, float
        How many lines, in which time.

    Examples
    --------
    >>> moderate = Moderate(lines=1, seconds=60.0)
    >>> line = logging.makeLogRecord({"msg": "refused"})
    >>> moderate.filter(line), moderate.filter(line)
    (True, False)
    """

    def __init__(self, lines: int = _LINES, seconds: float = _SECONDS) -> None:
        super().__init__()
        self._lines, self._seconds = lines, seconds
        self._began, self._passed, self._dropped = -seconds, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        now = time.monotonic()
        if now - self._began >= self._seconds:
            if self._dropped:
                record.msg = f"{record.getMessage()} (and {self._dropped} lines left out before)"
                record.args = None
            self._began, self._passed, self._dropped = now, 0, 0
        self._passed += 1
        if self._passed <= self._lines:
            return True
        self._dropped += 1
        return False


def write_log() -> None:
    """Write what the lab and its server say to the standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(Moderate())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("gradone.lab", "uvicorn"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(handler)
