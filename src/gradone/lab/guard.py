"""What is looked at before a request is answered: where it comes from, how long, how slow it is."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

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
        b"frame-ancestors 'self'; base-uri 'none'; form-action 'self'",
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
    names the host that it believes to talk to, and the page from which a request was sent. A lab
    that other machines can reach needs a token as well.

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
            if self._is_new(scope):
                await _let_in(scope, send, self.settings.token)
                return
            body = await self._body(receive)
        except Refused as reason:
            # Shown as Python shows it: a line of a path must not look like a line of the log.
            _LOG.warning("refused %s %.80r: %s", scope["method"], scope["path"], reason)
            await _refuse(send, reason.status, str(reason))
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), _with_headers(send))

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope)
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_known(host):
            raise Refused(421, f"this lab does not answer for the host {host[:80]!r}")
        if _is_from_elsewhere(scope, headers, host):
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
        return name in self.settings.hosts

    def _is_new(self, scope: Scope) -> bool:
        """Whether a page was opened with the token, so that a cookie keeps it from now on."""
        if not self.settings.token:
            return False
        headers = _headers(scope)
        cookies = headers.get(b"cookie", b"").decode("latin-1").split(";")
        kept = dict(one.strip().partition("=")[::2] for one in cookies).get(_cookie(headers), "")
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        bearer = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        is_right = [self._is_token(given) for given in (query.get("token", ""), kept, bearer)]
        if not any(is_right):
            raise Refused(
                401, "this lab needs a token: open the whole address that it printed at its start"
            )
        return is_right[0] and scope["path"] == "/" and scope["method"] == "GET"

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.settings.token.encode())

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


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; those that say where a request belongs must not be there twice."""
    names = [key.lower() for key, _ in scope["headers"]]
    for name in (b"host", b"origin", b"sec-fetch-site", b"authorization"):
        if names.count(name) > 1:
            raise Refused(400, f"the header '{name.decode()}' may be given once")
    return {key.lower(): value for key, value in scope["headers"]}


def _is_from_elsewhere(scope: Scope, headers: Mapping[bytes, bytes], host: str) -> bool:
    """Whether a browser says that a page of another place has sent a request.

    To open the page from a link is nobody's secret: it is the only request that may come from
    elsewhere.
    """
    origin = headers.get(b"origin")
    own = f"{scope.get('scheme', 'http')}://{host}".lower()
    if origin is not None and origin.decode("latin-1").lower() != own:
        return True
    is_opened = (
        scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
    site = headers.get(b"sec-fetch-site", b"none").lower()
    return site not in (b"none", b"same-origin") and not is_opened


def _cookie(headers: Mapping[bytes, bytes]) -> str:
    """Name of the cookie that keeps the token: labs on other ports have others."""
    port = headers[b"host"].decode("latin-1").rpartition(":")[2]
    return f"gradone-lab-{port if port.isdecimal() else 80}"


async def _let_in(scope: Scope, send: Send, token: str) -> None:
    """Answer to the address with the token: the page without it, and a cookie."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode([(name, value) for name, value in pairs if name != "token"])
    cookie = f"{_cookie(_headers(scope))}={token}; Path=/; HttpOnly; SameSite=Lax"
    headers = [
        (b"location", f"/?{query}".rstrip("?").encode()),
        (b"set-cookie", cookie.encode()),
        (b"cache-control", b"no-store"),
        (b"content-length", b"0"),
        *HEADERS,
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


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
