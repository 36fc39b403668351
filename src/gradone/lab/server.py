"""Running the server: on this machine only, unless told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..base.errors import BadData
from .log import write_log
from .settings import Settings

if TYPE_CHECKING:
    import uvicorn

_UNREAD = 2**17  # bytes


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """Socket that listens, or an error that says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small pieces at once only where it sees TCP;
    # otherwise every answer waits 40 ms for the client to confirm its headers.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # What a client does not read waits in the kernel, megabytes for each unless it is told so.
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise BadData(
            f"cannot listen on {host}, port {port}: {error.strerror}. "
            "Choose another port (0 takes a free one) or address."
        ) from None
    return found


def make_server(settings: Settings, *, warm: bool = True) -> uvicorn.Server:
    """Server of a lab, not started yet.

    Parameters
    ----------
    settings : Settings
        Limits.
    warm : bool
        Start the processes of the lab together with the server.
    """
    import uvicorn

    from .app import create_app
    from .connections import Connection, Door

    app, door = create_app(settings, warm=warm), Door(settings)
    config = uvicorn.Config(
        app, http=partial(Connection, door), ws="none",  # type: ignore[arg-type]
        log_config=None, log_level="warning", access_log=False, server_header=False,
        timeout_keep_alive=15, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve(host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve the lab until it is interrupted.

    Parameters
    ----------
    host, port : str, int
        Where to listen; port 0 takes a free one.
    say : callable
        Told the address when the page can be opened.
    """
    found = listening(host, port)  # before anything slow: a mistake is told at once
    server = make_server(Settings() if is_loopback(host) else Settings(hosts=("*",)))
    shown = f"[{host}]" if ":" in host else host

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[found]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.02)
        if server.started:
            say(f"http://{shown}:{found.getsockname()[1]}/")
        await serving

    write_log()
    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
