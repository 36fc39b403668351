"""What is looked at before a request is answered: where it comes from, and how long it is."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from .settings import Settings

_LOG = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

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


class Guard:
    """Refuses requests for another host, from another page, and those that are too long.

    A page elsewhere must not drive a lab that listens on the machine of its reader: a browser
    names the host that it believes to talk to, and the page from which a request was sent.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    settings : Settings
        Hosts that are known, and the longest request.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {key.lower(): value for key, value in scope["headers"]}
        problem = self._problem(scope, headers)
        if problem is not None:
            status, words = problem
            _LOG.warning("refused %s %s: %s", scope["method"], scope["path"], words)
            await _refuse(send, status, words)
            return
        await self.app(scope, self._counted(receive), _with_headers(send))

    def _problem(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        """Why a request is refused, with the status to say so."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_known(host):
            return 421, f"this lab does not answer for the host {host[:80]!r}"
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            if urlsplit(origin.decode("latin-1")).netloc.lower() != host.lower():
                return 403, "requests from other pages are refused"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.settings.body_bytes:
            return 413, f"a request may hold {self.settings.body_bytes} bytes"
        if len(scope.get("query_string", b"")) > self.settings.body_bytes:
            return 414, f"an address may hold {self.settings.body_bytes} bytes"
        return None

    def _is_known(self, host: str) -> bool:
        name = host.lower()
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        return "*" in self.settings.hosts or name in self.settings.hosts

    def _counted(self, receive: Receive) -> Receive:
        """Input of a request, cut off where it becomes longer than it may: it may not say so."""
        seen = 0

        async def counted() -> MutableMapping[str, Any]:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return {"type": "http.disconnect"} if seen > self.settings.body_bytes else message

        return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sent


async def _refuse(send: Send, status: int, words: str) -> None:
    import json

    body = json.dumps({"message": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *HEADERS]})
    await send({"type": "http.response.body", "body": body})
