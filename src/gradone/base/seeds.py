"""Random streams addressed by name, not by order of creation.

A cell of an experiment (a role, a dimension, a replicate) always gets the same generator, whatever
else was drawn before it, so a larger grid contains the smaller one bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import BadData


def canonical(value: Any) -> str:
    """Canonical JSON text of a value: equal numbers give equal text.

    Parameters
    ----------
    value : None, bool, number, str, mapping, sequence or array
        NaN and infinities are refused; ``-0.0`` is written as ``0``.

    Examples
    --------
    >>> canonical({"d": np.int64(100), "alpha": 1.50})
    '{"alpha":1.5,"d":100}'
    >>> canonical(100.0) == canonical(100)
    True
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(value: Any) -> Any:
    """Value in the types of JSON, numbers in one form."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else _plain(float(value))
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise BadData(f"{number} cannot name a cell; use finite numbers, or None for 'absent'")
        return int(number) if number.is_integer() else number
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise BadData("the keys of a cell must be text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    raise BadData(f"{type(value).__name__} cannot name a cell; use numbers, text, lists or dicts")


def fingerprint(*parts: Any) -> bytes:
    """16-byte name of a value: blake2b of its canonical text.

    Examples
    --------
    >>> fingerprint("data", {"d": 100}) == fingerprint("data", {"d": 100.0})
    True
    """
    return hashlib.blake2b(canonical(list(parts)).encode(), digest_size=16).digest()


def stream(seed: int, role: str, **cell: Any) -> np.random.Generator:
    """Independent random generator addressed by seed, role and cell.

    Parameters
    ----------
    seed : int
        Non-negative; 0 is a seed like any other.
    role : str
        ``"directions"``, ``"data"``, ``"noise"``, ``"init"``, ``"batches"`` or ``"test"``.
    **cell
        What the numbers may depend on, for example ``d`` and ``replicate``.

    Examples
    --------
    >>> a = stream(0, "data", d=10).standard_normal(2)
    >>> b = stream(0, "data", d=10).standard_normal(5)
    >>> bool((a == b[:2]).all())
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise BadData(f"seed must be an integer >= 0, got {seed!r}")
    words = struct.unpack("<4I", fingerprint(role, cell))
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=words))
