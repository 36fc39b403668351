"""Requests that nobody would write: the description of the service is kept, and nothing fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

# An expression may be refused for what it says, which no description of a service can state.
UNTOLD = "positive_data_acceptance"
# 503 is "busy", or no answer from a process: the lab logs that as an error, which is looked for.


def fuzz(folder: Path, address: str, seconds: int, **parameters: str) -> str:
    """Report of schemathesis on all operations of a lab, with some parameters given."""
    config = folder / "schemathesis.toml"
    lines = ["[parameters]", *(f'"{name}" = "{value}"' for name, value in parameters.items())]
    lines += ["[checks.not_a_server_error]", 'expected-statuses = ["2xx", "3xx", "4xx", 503]']
    # What is given must lead to true answers, not only to mistakes.
    lines += ["[warnings]", 'fail-on = ["missing_test_data"]'] if parameters else []
    config.write_text("\n".join(lines))
    command = [str(Path(sys.executable).with_name("schemathesis"))]
    command += ["--config-file", str(config), "run", f"{address}/openapi.json", "--no-color"]
    command += ["--seed", "1", "--max-time", str(seconds), "--max-examples", "60"]
    command += ["--exclude-checks", UNTOLD, "--generation-database", "none"]
    command += ["--request-timeout", "60", "--suppress-health-check", "all"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=seconds + 120, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_no_request_makes_the_lab_fail(launch: Any, tmp_path: Path) -> None:
    """First anything; then what is around a true target and a true run."""
    process, address = launch()
    try:
        wanted = {"target": "tanh(z)", "d": 32, "algorithms": ["random_features"], "top": 2.0}
        run = httpx.post(f"{address}/api/runs", json=wanted, timeout=60.0).json()["run"]
        until = time.monotonic() + 60.0
        while httpx.get(f"{address}/api/runs/{run}").json()["status"] != "done":
            assert time.monotonic() < until
            time.sleep(0.5)
        anything = fuzz(tmp_path, address, 35)
        near = fuzz(tmp_path, address, 35, key=run, target="z1 + z1*z2", theory="random_features")
        assert httpx.get(f"{address}/health").text == "ok"
    finally:
        process.interrupt()
    for report in (anything, near):
        assert "14 selected / 14 total" in report
        assert "failed" not in report
    assert "Traceback" not in process.log
    assert "ERROR" not in process.log
