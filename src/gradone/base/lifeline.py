"""Processes that end with their parent, whatever they do at that moment.

A lifeline is the reading end of a pipe into which nobody writes. When the last holder of its other
end is gone, also if it was killed, the system itself ends the process: compiled code that runs for
minutes, or an import, need not come to an end first.

The server that children are forked from has one too. Its own pipe of :mod:`multiprocessing` is not
enough: it looks at that only when it has imported all that children need, and requests that wait
for it keep the pipe open. So it imports this module before anything else, and takes a pipe of its
parent's from where Linux shows it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
from collections.abc import Iterator

_VARIABLE = "GRADONE_LIFELINE"


def end_with(descriptor: int) -> None:
    """Let the system end this process when the other end of a pipe is closed."""
    if not hasattr(signal, "SIGIO"):
        return
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)  # closed: SIGIO, which ends us
    if select.select([descriptor], [], [], 0)[0]:  # it was closed before
        os._exit(1)


@contextlib.contextmanager
def offered() -> Iterator[None]:
    """Let a server that is started inside end with this process."""
    os.environ[_VARIABLE] = f"{os.getpid()} {_pipe(os.getpid())[0]}"
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


@functools.cache
def _pipe(pid: int) -> tuple[int, int]:
    """Pipe of this process, held as long as it lives."""
    return os.pipe()


def _take() -> None:
    """End with the parent that has offered a lifeline."""
    parent, _, number = os.environ.pop(_VARIABLE, "0 0").partition(" ")
    if int(parent):
        with contextlib.suppress(OSError):  # not on Linux, or it is gone
            end_with(os.open(f"/proc/{parent}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK))
        if os.getppid() != int(parent):
            os._exit(1)


_take()
