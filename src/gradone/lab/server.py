"""Running the server: on this machine only, unless told otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import secrets
import signal
import socket
from collections.abc import Callable, Sequence
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
        proxy_headers=False,  # who is served fairly by address must not choose it
    )  # fmt: skip
    return uvicorn.Server(config)


def settings_for(host: str, allowed: Sequence[str] = ()) -> Settings:
    """Settings of a lab that listens on a host: off this machine only with a token.

    Examples
    --------
    >>> settings_for("127.0.0.1").token
    ''
    >>> settings_for("0.0.0.0")
    Traceback (most recent call last):
    gradone.base.errors.BadData: other machines can reach 0.0.0.0: say under which name ...
    """
    names = [_in_address(name).lower() for name in allowed]
    for name in names:
        if not re.fullmatch(r"[\w.-]+|\[.*\]", name):
            raise BadData(f"--allow-host is a name or an address without a port, got {name!r}")
    if is_loopback(host):
        return Settings(hosts=(*names, *Settings.hosts))
    if not names:
        raise BadData(
            f"other machines can reach {host}: say under which name or address they do with "
            "--allow-host, for example --allow-host lab.example.org. Requests for other names are "
            "refused, and the printed address holds a token without which nobody is answered."
        )
    return Settings(hosts=(*names, *Settings.hosts), token=secrets.token_urlsafe(24))


def _in_address(host: str) -> str:
    """A host as it stands in an address of the web: version 6 in brackets."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).version == 6:
            return f"[{host}]"
    return host


def serve(host: str, port: int, say: Callable[[str], None], *, allowed: Sequence[str] = ()) -> None:
    """Serve the lab until it is interrupted.

    Parameters
    ----------
    host, port : str, int
        Where to listen; port 0 takes a free one.
    say : callable
        Told the address when the page can be opened.
    allowed : sequence of str
        Further names under which the page may be asked for; where other machines can reach the
        host there must be one, and the address that is told holds a token.
    """
    settings = settings_for(host, allowed)
    found = listening(host, port)  # before anything slow: a mistake is told at once
    server = make_server(settings)
    shown = settings.hosts[0] if settings.token else _in_address(host)
    token = f"?token={settings.token}" if settings.token else ""

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[found]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.02)
        if server.started:
            say(f"http://{shown}:{found.getsockname()[1]}/{token}")
        await serving

    write_log()
    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
