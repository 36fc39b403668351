"""One lab for all tests of this folder, as users start it; and what its processes do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the lab is not installed")

from gradone.lab.server import listening, make_server
from gradone.lab.settings import Settings


class LabProcess(subprocess.Popen[str]):
    """Process of a lab, in a session of its own, with all that it logs."""

    def __init__(self, log: Path, *options: str) -> None:
        command = [str(Path(sys.executable).with_name("gradone")), "lab", "--port", "0", *options]
        self._log = log
        # A file, not a pipe: nobody reads while the lab runs, and a full pipe would stop it.
        with log.open("w") as errors:
            # A group of its own: Ctrl-C reaches all processes of a terminal, here those of the lab.
            super().__init__(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )

    @property
    def log(self) -> str:
        """What the lab has written to its standard error."""
        return self._log.read_text()

    def interrupt(self) -> str:
        """End the lab as Ctrl-C does; what it printed after its address."""
        os.kill(self.pid, signal.SIGINT)
        return self.communicate(timeout=20)[0]

    def processes(self) -> list[int]:
        """Processes of the lab that are not dead."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.pid and fields[0] != "Z":
                found.append(int(folder.name))
        return found

    def left_after(self, seconds: float) -> list[int]:
        """Processes that are still there after a time."""
        until = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        return left


class Served:
    """A lab in a thread of this process; its processes start when they are needed."""

    def __init__(self, settings: Settings) -> None:
        self.socket = listening("127.0.0.1", 0)
        self.server = make_server(settings, warm=False)
        self.port = self.socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def _run(self) -> None:
        self.loop.run_until_complete(self.server.serve(sockets=[self.socket]))
        self.loop.close()

    @property
    def desk(self) -> Any:
        """Where its questions arrive."""
        return self.server.config.app.state.desk  # type: ignore[union-attr]

    @property
    def is_in_order(self) -> bool:
        """Whether somebody else is answered at once."""
        began = time.monotonic()
        found = httpx.get(f"{self.address}/api/zoo", timeout=10.0)
        return found.status_code == 200 and time.monotonic() - began < 0.3

    def close(self) -> None:
        """End it."""
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()


@contextlib.contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    found = Served(settings)
    try:
        yield found
    finally:
        found.close()


def start_lab(folder: Path, *options: str) -> tuple[LabProcess, str]:
    """Process of a lab, and its address."""
    process = LabProcess(folder / f"{time.monotonic_ns()}.log", *options)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+/", line)
    assert found, line + process.log
    return process, found[0].rstrip("/")


Launch = Callable[..., tuple[LabProcess, str]]


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    """Function that starts a lab of its own: process and address."""
    folder, started = tmp_path_factory.mktemp("lab"), []

    def launched(*options: str) -> tuple[LabProcess, str]:
        process, address = start_lab(folder, *options)
        started.append(process)
        return process, address

    yield launched
    for process in started:  # what a failed test has left
        if process.poll() is None:
            process.interrupt()


@pytest.fixture(scope="session")
def running(launch: Launch) -> Iterator[tuple[LabProcess, str]]:
    """A lab for all tests: process and address."""
    process, address = launch()
    yield process, address
    process.interrupt()


@pytest.fixture(scope="session")
def lab(running: tuple[LabProcess, str]) -> str:
    """Address of a running lab."""
    return running[1]


@pytest.fixture(scope="session")
def serve() -> Callable[[Settings], contextlib.AbstractContextManager[Served]]:
    """Function that serves a lab with given settings from a thread of this process."""
    return serving
