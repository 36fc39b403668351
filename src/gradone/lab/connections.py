"""Connections that cost something only while they are used: the slow and the silent are closed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .settings import Settings

_LOG = logging.getLogger(__name__)
_USUAL = 8  # silent connections that a browser opens in advance, and does not use
_EVERY = 50  # lines of the log for those who are put out: one for so many
_BUSY = json.dumps(
    {"message": "The lab is busy: there are too many connections. Please try again in a moment."}
).encode()
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 3\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_BUSY), _BUSY)
)


class Door:
    """Who is in, and who of them does nothing.

    Parameters
    ----------
    settings : Settings
        How many may be in, and how slow they may be.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.idle: dict[Connection, None] = {}  # in the order in which they fell idle
        self.silent = self.evicted = 0

    def make_room(self, count: int) -> bool:
        """Close the connection that has been idle for longest if there are too many."""
        if count <= self.settings.connections:
            return True
        longest = next(iter(self.idle), None)
        if longest is None:
            return False
        if self.evicted % _EVERY == 0:
            words = "too many connections: closing those that were idle for longest (%d so far)"
            _LOG.warning(words, self.evicted + 1)
        self.evicted += 1
        del self.idle[longest]
        longest.transport.abort()
        return True

    def count_silent(self) -> None:
        """Note a connection that came and said nothing; browsers leave some."""
        self.silent += 1
        if self.silent % _USUAL == 0:
            _LOG.warning("closed %d connections that sent no request", _USUAL)


class _Timer:
    """Something that happens after a time, unless it is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._handle is not None

    def start(self, seconds: float, action: Callable[..., None], *given: Any) -> None:
        self.stop()
        self._handle = self._loop.call_later(seconds, action, *given)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Connection(H11Protocol):
    """A connection whose client must send its requests, and take its answers, within a time.

    Parameters
    ----------
    door : Door
        Who else is in.
    """

    def __init__(self, door: Door, **given: Any) -> None:
        super().__init__(**given)
        self._door = door
        self._request_timer = _Timer(self.loop)
        self._reading_timer = _Timer(self.loop)
        self._has_spoken = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a client in if there is room."""
        super().connection_made(transport)
        if not self._door.make_room(len(self.connections)):
            _LOG.warning("refused a connection: there are %d already", len(self.connections))
            transport.write(_FULL)
            transport.close()
            return
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        if self._is_idle and not self._request_timer.is_set:
            self._await_request()  # a byte now and then does not buy more time
        self._has_spoken = True
        super().data_received(data)
        if not self._is_idle:
            self._door.idle.pop(self, None)
            self._request_timer.stop()

    def on_response_complete(self) -> None:
        """The next request may come."""
        self._has_spoken = False
        self._door.idle[self] = None
        super().on_response_complete()
        if not self._is_idle:  # it was there already
            self._door.idle.pop(self, None)

    def pause_writing(self) -> None:
        """The client does not take what it has asked for."""
        super().pause_writing()
        seconds = self._door.settings.reading_seconds
        words = f"closed a connection that did not read for {seconds:g} seconds"
        self._reading_timer.start(seconds, self.hang_up, words)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._reading_timer.stop()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._door.idle.pop(self, None)
        self._request_timer.stop()
        self._reading_timer.stop()
        super().connection_lost(exc)

    def hang_up(self, words: str) -> None:
        """Close the connection without waiting for the other side."""
        _LOG.warning("%s (%s)", words, self.client[0] if self.client else "unknown")
        self.transport.abort()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        self._door.idle[self] = None
        seconds = self._door.settings.request_seconds
        self._request_timer.start(seconds, self._miss_request)

    def _miss_request(self) -> None:
        seconds = self._door.settings.request_seconds
        if self._has_spoken:
            self.hang_up(f"closed a connection whose request took more than {seconds:g} seconds")
        else:
            self._door.count_silent()
            self.transport.abort()
