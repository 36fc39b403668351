# mypy: disable-error-code="no-untyped-call,attr-defined,no-any-return"
"""Machine code on disk: compiled once on a machine, by one process, and never half written.

``njit`` is numba's, but what functions of gradone keep on disk is written under a lock: a process
that needs a function which another one compiles waits for it. The code is written before the index
that points to it: numba does it the other way round, and if it is killed in between after an
update, the new index finds the old code.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba import njit as njit
from numba.core import caching, dispatcher

from .cache import compilation_record

_PATIENCE = 60.0  # seconds for which one process waits until another has compiled
_OURS = ("gradone.", "gradone_compiled_")


class _WholeFiles(caching.IndexDataCacheFile):
    """Index and code of one function; the index never points to code that is not its own."""

    def save(self, key: Any, data: Any) -> None:
        known = self._load_index()
        name = self._data_name(uuid.uuid4().int >> 80)
        self._save_data(name, data)
        self._save_index({**known, key: name})
        kept = {name, *known.values()}
        start, _, end = self._data_name_pattern.partition("{number:d}")
        for file in Path(self._cache_path).glob(f"{start}*{end}"):
            if file.name not in kept:  # code of an earlier text of the function
                file.unlink(missing_ok=True)


class _Once(caching.FunctionCache):
    """Cache of a function that is compiled by one process while the others wait."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _WholeFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            _LOCK.acquire(f"{self._py_func.__module__}.{self._py_func.__name__}")
            found = super().load_overload(sig, target_context)  # compiled while we waited
            if found is not None:
                _LOCK.release(compiled=False)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        finally:
            _LOCK.release()


class _Lock:
    """Lock of a file that the system gives up for a process that ends; taken again by its owner.

    The file has a line for everything that was compiled: what, by which process, in how many
    seconds of its time.
    """

    def __init__(self) -> None:
        self._file: Any = None
        self._depth = 0
        self._what, self._began = "", 0.0

    def acquire(self, what: str) -> None:
        """Wait until nobody else compiles; who waits too long goes on without the lock."""
        self._depth += 1
        if self._depth > 1:
            return
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            compilation_record().parent.mkdir(parents=True, exist_ok=True)
            self._file = compilation_record().open("a+", encoding="utf-8")
            deadline = time.monotonic() + _PATIENCE
            while time.monotonic() < deadline:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.05)
        self._what, self._began = what, time.process_time()
        for listener in _LISTENERS:
            listener(what)

    def release(self, *, compiled: bool = True) -> None:
        """Let others compile."""
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            seconds = time.process_time() - self._began
            with contextlib.suppress(OSError), self._file as file:
                if compiled:
                    file.write(f"{self._what} {os.getpid()} {seconds:.2f}\n")
            self._file = None


_LOCK = _Lock()
_LISTENERS: list[Callable[[str], object]] = []


@contextlib.contextmanager
def announced(listener: Callable[[str], object]) -> Iterator[None]:
    """Tell a listener the name of every function that this process compiles and keeps."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def _cache_of(function: Callable[..., Any]) -> Any:
    kind = _Once if function.__module__.startswith(_OURS) else caching.FunctionCache
    return kind(function)


dispatcher.FunctionCache = _cache_of  # who asks numba for a cache of other functions gets numba's
