"""Processes of the lab: quick to start, clean to stop, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc"),
]
Launch = Callable[..., tuple[subprocess.Popen[str], str]]
LONG = {"target": "He2(z1)+z2*z3", "d": 400, "algorithms": ["bayes_amp"], "seeds": 8}


def test_a_killed_lab_leaves_no_process(launch: Launch) -> None:
    """Also a run inside compiled code ends when its server is gone."""
    process, address = launch()
    run = httpx.post(f"{address}/api/runs", json=LONG, timeout=60.0)
    assert run.status_code == 201
    time.sleep(2.0)
    assert len(process.processes()) > 3  # the server, its questions, the run
    process.kill()
    process.communicate()
    assert process.left_after(5.0) == []


def test_interrupting_ends_quietly(launch: Launch) -> None:
    process, address = launch()
    assert httpx.get(f"{address}/health").text == "ok"
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "Traceback" not in out + err
    assert process.left_after(5.0) == []


def test_other_addresses_come_with_a_warning(launch: Launch) -> None:
    process, address = launch("--host", "0.0.0.0")  # noqa: S104 - this is what is tested
    assert httpx.get(address.replace("0.0.0.0", "127.0.0.1") + "/health").text == "ok"  # noqa: S104
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert "can be reached from other machines" in err


def test_an_address_in_use_says_so(lab: str) -> None:
    port = lab.rpartition(":")[2]
    command = [str(Path(sys.executable).with_name("gradone")), "lab", "--port", port]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 2
    assert "Choose another port" in found.stderr
