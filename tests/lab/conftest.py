"""One lab for all tests of this folder, as users start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the lab is not installed")


def start_lab(*options: str) -> tuple[subprocess.Popen[str], str]:
    """Process of a lab, and its address."""
    command = [str(Path(sys.executable).with_name("gradone")), "lab", "--port", "0", *options]
    # A group of its own: Ctrl-C reaches all processes of a terminal, here those of the lab.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+/", line)
    assert found, line + (process.stderr.read() if process.stderr else "")
    return process, found[0].rstrip("/")


Launch = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture(scope="session")
def launch() -> Launch:
    """Function that starts a lab of its own: process and address."""
    return start_lab


@pytest.fixture(scope="session")
def lab() -> Iterator[str]:
    """Address of a running lab."""
    process, address = start_lab()
    yield address
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
