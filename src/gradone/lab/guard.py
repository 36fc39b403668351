"""What is looked at before a request is answered: where it comes from, how long, how slow it is."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from .settings import Settings

_LOG = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class Refused(Exception):
    """A request that is not answered: the status that says so, and why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Guard:
    """Refuses requests for another host, from another page, and those too long or too slow.

    A page elsewhere must not drive a lab that listens on the machine of its reader: a browser
    names the host that it believes to talk to, and the page from which a request was sent.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    settings : Settings
        Hosts that are known, the longest and the slowest request.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await self._body(receive)
        except Refused as reason:
            # Shown as Python shows it: a line of a path must not look like a line of the log.
            _LOG.warning("refused %s %.80r: %s", scope["method"], scope["path"], reason)
            await _refuse(send, reason.status, str(reason))
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), _with_headers(send))

    def _check(self, scope: Scope) -> None:
        headers = {key.lower(): value for key, value in scope["headers"]}
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_known(host):
            raise Refused(421, f"this lab does not answer for the host {host[:80]!r}")
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            if _place(origin.decode("latin-1")) != host.lower():
                raise Refused(403, "requests from other pages are refused")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.settings.body_bytes:
            raise Refused(413, f"a request may hold {self.settings.body_bytes} bytes")
        if len(scope.get("query_string", b"")) > self.settings.body_bytes:
            raise Refused(414, f"an address may hold {self.settings.body_bytes} bytes")
        if {"..", "."} & set(scope["path"].replace("\\", "/").split("/")) or "\0" in scope["path"]:
            raise Refused(404, "there is nothing at this address")

    def _is_known(self, host: str) -> bool:
        name = host.lower()
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        return "*" in self.settings.hosts or name in self.settings.hosts

    async def _body(self, receive: Receive) -> bytes | None:
        """Body of a request, which may be longer than it says; None if its sender is gone."""
        found = b""
        try:
            async with asyncio.timeout(self.settings.request_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    found += message.get("body", b"")
                    if len(found) > self.settings.body_bytes:
                        raise Refused(413, f"a request may hold {self.settings.body_bytes} bytes")
                    if not message.get("more_body", False):
                        return found
        except TimeoutError:
            words = f"a request must be sent within {self.settings.request_seconds:g} seconds"
            raise Refused(408, words) from None


def _place(address: str) -> str | None:
    """Host and port of an address, if it is one."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Input of a request whose body was read already."""
    is_read = False

    async def replayed() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sent


async def _refuse(send: Send, status: int, words: str) -> None:
    body = json.dumps({"message": words}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),  # the rest of a long or slow request is not waited for
        *HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
