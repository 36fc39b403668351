"""A worker process: batches come in through a pipe, results go out, and it ends with the pipe."""

from __future__ import annotations

import os
import queue
import signal
import threading
import traceback
from multiprocessing.connection import Connection

from ..task import Batch, resolve
from ._threads import VARIABLES, use_one_thread


def serve(connection: Connection, function: str) -> None:
    """Compute batches until the other end of the pipe is closed.

    The first message is empty if all is well, otherwise it says why the function of the cells
    cannot be imported.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the coordinator decides
    inbox: queue.SimpleQueue[Batch] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    use_one_thread()
    os.environ.update(dict.fromkeys(VARIABLES, "1"))  # for libraries that come later
    try:
        resolve(function)
    except Exception:
        connection.send(traceback.format_exc())
        return
    from ._compute import compute_batch  # numpy is allowed now

    connection.send("")
    while True:
        connection.send(compute_batch(function, inbox.get()))


def _receive(connection: Connection, inbox: queue.SimpleQueue[Batch]) -> None:
    """Pass batches on, and end the process with the coordinator, even if that was killed.

    A thread of its own: the end of the pipe is seen in the middle of a cell, and the coordinator
    never waits to hand over a batch.
    """
    try:
        while True:
            inbox.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
