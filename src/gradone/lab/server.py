"""Running the server: on this machine only, unless told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable

from ..base.errors import BadData
from .settings import Settings


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
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise BadData(
            f"cannot listen on {host}, port {port}: {error.strerror}. "
            "Choose another port (0 takes a free one) or address."
        ) from None
    return found


def serve(host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve the lab until it is interrupted.

    Parameters
    ----------
    host, port : str, int
        Where to listen; port 0 takes a free one.
    say : callable
        Told the address when the page can be opened.
    """
    import uvicorn

    from .app import create_app

    found = listening(host, port)
    names = Settings().hosts if is_loopback(host) else ("*",)
    app = create_app(Settings(hosts=names))
    config = uvicorn.Config(
        app, log_level="warning", limit_concurrency=400, timeout_keep_alive=15,
        timeout_graceful_shutdown=2, server_header=False, ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    shown = f"[{host}]" if ":" in host else host

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[found]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.02)
        if server.started:
            say(f"http://{shown}:{found.getsockname()[1]}/")
        await serving

    logging.getLogger("gradone.lab").setLevel(logging.WARNING)
    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
