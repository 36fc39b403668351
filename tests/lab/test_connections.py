"""Clients that are slow, silent, or many: closed in time, noted, and nobody else is the worse."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from gradone.base.pool import Pool
from gradone.lab.runs import Runs
from gradone.lab.settings import Settings

SETTINGS = Settings(cores=1, request_seconds=0.4, reading_seconds=0.6, connections=16)
DROPS = b"GET /api/zoo HTTP/1.1\r\nHost: 127.0.0.1\r\naccept: everything that there is"
HEAD = b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def served(serve: Any) -> Iterator[Any]:
    with serve(SETTINGS) as found:
        yield found


@contextlib.contextmanager
def connected(served: Any) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=5.0) as found:
        yield found


def seconds_until_closed(found: socket.socket, drip: bytes = b"") -> tuple[float, bytes]:
    """How long a connection lives while bytes come one by one, and what it was told."""
    began, heard = time.monotonic(), b""
    found.settimeout(0.1)
    rest = iter(drip)
    while time.monotonic() - began < 5.0:
        with contextlib.suppress(OSError):
            if (byte := next(rest, None)) is not None:
                found.send(bytes([byte]))
        try:
            piece = found.recv(4096)
        except TimeoutError:
            continue
        except ConnectionError:
            break
        if not piece:
            break
        heard += piece
    return time.monotonic() - began, heard


def test_a_silent_connection_is_closed(served: Any) -> None:
    with connected(served) as found:
        seconds, heard = seconds_until_closed(found)
    assert 0.3 < seconds < 1.5
    assert heard == b""


def test_a_request_in_drops_is_closed(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A byte now and then does not buy more time."""
    with connected(served) as found:
        seconds, _ = seconds_until_closed(found, b"GET /api/zoo HTTP/1.1\r\nHost: 127.0.0.1")
        assert served.is_in_order
    assert seconds < 1.5
    assert "whose request took more than 0.4 seconds (127.0.0.1)" in caplog.text


def test_a_second_request_in_drops_is_closed(served: Any) -> None:
    with connected(served) as found:
        found.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200 OK" in found.recv(4096)
        seconds, _ = seconds_until_closed(found, b"GET /health HTTP/1.1\r\nHost: 127.0.")
    assert seconds < 1.5


def test_a_body_in_drops_is_refused(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    with connected(served) as found:
        found.sendall(HEAD)
        seconds, heard = seconds_until_closed(found, b"{" * 60)
        assert served.is_in_order
    assert heard.startswith(b"HTTP/1.1 408 ")
    assert seconds < 1.5
    assert "refused POST '/api/runs': a request must be sent within 0.4 seconds" in caplog.text


def test_who_does_not_read_is_closed(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Of a file of 1.5 MB, no more than the buffers hold is taken into memory."""
    with connected(served) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        path = b"/assets/plotly/plotly-cartesian.min.js"
        found.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path)
        time.sleep(0.3)
        connections: Any = served.server.server_state.connections
        held = [one.transport.get_write_buffer_size() for one in connections]
        assert max(held) < 2**18
        time.sleep(0.8)
        assert served.is_in_order
    assert "did not read for 0.6 seconds" in caplog.text


def test_who_does_not_read_events_is_closed(served: Any) -> None:
    """The run goes on to its end, for others and for a second look; nothing of it is lost."""
    event, count = {"kind": "noise", "text": "x" * 60_000}, 80
    runs = Runs(Pool(1), partial(itertools.repeat, event), SETTINGS)  # type: ignore[arg-type]
    usual, served.desk.runs = served.desk.runs, runs

    async def begin() -> Any:
        return runs.start("somebody", count)  # type: ignore[arg-type]

    run = asyncio.run_coroutine_threadsafe(begin(), served.loop).result()
    with connected(served) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        found.sendall(b"GET /api/runs/%s/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                      % run.key.encode())  # fmt: skip
        until = time.monotonic() + 30.0
        while not run.is_over and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1.0)
        assert run.status == "done"
        assert run.watchers == 0
    address = f"http://127.0.0.1:{served.port}/api/runs/{run.key}/events"
    assert httpx.get(address).text.count('"kind": "noise"') == count
    asyncio.run_coroutine_threadsafe(runs.close(), served.loop).result()
    served.desk.runs = usual


def test_many_idle_connections_make_room(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(served))
        assert served.is_in_order
    assert "too many connections: closing those that were idle for longest" in caplog.text


def test_many_busy_connections_are_told(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody idle to be closed: who comes then is told to come back, and can soon."""
    with contextlib.ExitStack() as stack:
        for _ in range(SETTINGS.connections):
            stack.enter_context(connected(served)).sendall(HEAD)
        time.sleep(0.1)
        found = httpx.get(f"http://127.0.0.1:{served.port}/health")
        assert found.status_code == 503
        assert "busy" in found.json()["message"]
        assert found.headers["retry-after"] == "3"
        time.sleep(0.6)
        assert served.is_in_order
    assert f"refused a connection: there are {SETTINGS.connections + 1} already" in caplog.text


def test_floods_do_not_flood_the_log() -> None:
    from gradone.lab.log import Moderate

    moderate, line = Moderate(lines=3, seconds=0.05), logging.makeLogRecord({"msg": "refused"})
    assert [moderate.filter(line) for _ in range(10)].count(True) == 3
    time.sleep(0.06)
    assert moderate.filter(line)
    assert line.getMessage() == "refused (and 7 lines left out before)"


@pytest.mark.slow
def test_hundreds_of_slow_clients_do_not_hold_up_others(launch: Any) -> None:
    """With the limits that users have: 300 say nothing, 100 drip, 200 more than may be in."""
    process, address = launch()
    port = int(address.rpartition(":")[2])
    crowd = [socket.create_connection(("127.0.0.1", port), timeout=5.0) for _ in range(600)]
    try:
        waits = []
        for i in range(60):  # until the time for a request is over
            for one in crowd[400:500]:
                with contextlib.suppress(OSError):
                    one.send(DROPS[i : i + 1])
            began = time.monotonic()
            assert httpx.get(f"{address}/api/analyze?target=z1*", timeout=10.0).status_code == 422
            waits.append(time.monotonic() - began)
            time.sleep(0.2)
        assert sorted(waits)[30] < 0.3
        for one in crowd:
            one.settimeout(2.0)
            try:
                assert one.recv(100) == b""
            except ConnectionError:
                pass
    finally:
        for one in crowd:
            one.close()
        process.interrupt()
    assert "too many connections: closing those that were idle for longest" in process.log
    assert "closed 8 connections that sent no request" in process.log
    assert "whose request took more than 10 seconds" in process.log
    assert "Traceback" not in process.log
    assert len(process.log) < 50_000
