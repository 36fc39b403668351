"""Arrays as text and bytes, and back, bit for bit; never by pickling.

Finite numbers and text of dimension 0 become JSON, which a person can read and SQL can search; all
other arrays become the bytes of an ``.npz`` file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import BadData

# What json gives back for them is the same type and the same bits.
_PLAIN = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))


def pack(arrays: Mapping[str, np.ndarray]) -> tuple[str, bytes]:
    """Scalars as JSON text, the rest as the bytes of an ``.npz`` file (empty if there is none).

    Examples
    --------
    >>> pack({"test_mse": np.array(0.25), "n_iter": np.array(3)})
    ('{"n_iter":3,"test_mse":0.25}', b'')
    """
    scalars: dict[str, Any] = {}
    others: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise BadData(f"'{name}' holds Python objects; a store keeps numbers and text")
        if _is_plain(array):
            scalars[name] = array.item()
        else:
            others[name] = array
    text = json.dumps(scalars, sort_keys=True, separators=(",", ":"))
    return text, _npz(others) if others else b""


def _is_plain(array: np.ndarray) -> bool:
    if array.ndim > 0:
        return False
    if array.dtype.kind == "U":
        # A text array may be wider than its text, and an empty one has the width of one character.
        return bool(array.dtype == np.asarray(array.item()).dtype)
    return array.dtype in _PLAIN and math.isfinite(array.item())


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    # Names are numbered: a name such as "file" would collide with a parameter of savez.
    names = sorted(arrays)
    numbered = {f"a{i}": arrays[name] for i, name in enumerate(names)}
    text = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    np.savez(buffer, names=text, allow_pickle=False, **numbered)
    return buffer.getvalue()


def unpack(scalars: str, arrays: bytes) -> dict[str, np.ndarray]:
    """Arrays from their packed form.

    Examples
    --------
    >>> found = unpack(*pack({"overlap": np.eye(2), "status": np.array("fine")}))
    >>> found["overlap"].shape, str(found["status"])
    ((2, 2), 'fine')
    """
    found = {name: np.asarray(value) for name, value in json.loads(scalars).items()}
    if arrays:
        with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
            names = json.loads(file["names"].tobytes())
            found |= {name: file[f"a{i}"] for i, name in enumerate(names)}
    return dict(sorted(found.items()))


def digest(*parts: str | bytes) -> bytes:
    """16 bytes by which damage to stored parts is noticed.

    Examples
    --------
    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode()
        found.update(len(raw).to_bytes(8, "little"))
        found.update(raw)
    return found.digest()
