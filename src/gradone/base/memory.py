"""Memory that is known in advance: refuse before the first allocation what will not fit."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .errors import BadData, TooLarge


def available_memory() -> int:
    """Bytes that can be allocated now without swapping, within the limits of the container."""
    free = _free_of_machine()
    for limit_file, used_file in _CGROUPS:
        try:
            limit, used = Path(limit_file).read_text().strip(), Path(used_file).read_text().strip()
            free = min(free, int(limit) - int(used))
        except (OSError, ValueError):  # no such control group, or "max"
            continue
    return max(free, 0)


_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def _free_of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    if hasattr(os, "sysconf"):
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    return 4 << 30  # nothing is known: assume a small laptop


def human_bytes(count: float) -> str:
    """Size in words.

    Examples
    --------
    >>> human_bytes(8e9)
    '8.0 GB'
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def read_bytes(given: float | str, name: str = "memory") -> int:
    """Number of bytes from a number, or from a text such as ``"2 GB"``.

    Examples
    --------
    >>> read_bytes("1.5 GB"), read_bytes("300MB"), read_bytes(2e6)
    (1500000000, 300000000, 2000000)
    >>> read_bytes("much")
    Traceback (most recent call last):
    gradone.base.errors.BadData: memory is a positive number of bytes, or a text such as "2 GB"; ...
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kMGT]?)B?\s*", str(given), re.IGNORECASE)
    try:
        scale = 1000 ** " kmgt".index(found[2].lower() or " ") if found else 0
        count = round(float(found[1]) * scale) if found else 0
    except (ValueError, OverflowError):
        count = 0
    if count < 1 or isinstance(given, bool):
        raise BadData(
            f'{name} is a positive number of bytes, or a text such as "2 GB"; got {given!r}'
        )
    return count


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise :class:`TooLarge` if `needed` bytes exceed 90 % of what is available.

    Parameters
    ----------
    needed : int
        Bytes at the peak.
    what, remedy : str
        What needs them, and which parameter to change.

    Examples
    --------
    >>> require_memory(10**18, "X of 10^9 x 10^8 numbers", "Use a smaller n, or stream().")
    Traceback (most recent call last):
    gradone.base.errors.TooLarge: X of 10^9 x 10^8 numbers needs 1000000.0 TB, ...
    """
    free = available_memory()
    if needed > 0.9 * free:
        raise TooLarge(
            f"{what} needs {human_bytes(needed)}, but only {human_bytes(free)} are available. "
            f"{remedy}"
        )
