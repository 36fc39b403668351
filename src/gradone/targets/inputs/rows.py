"""Inputs that are the rows of a table of one's own."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import BadData
from ...base.seeds import stream
from ._law import LAWS, Fill, Law

_SMALLEST = 1e-3  # of the largest eigenvalue: smaller ones are dropped
_SHARE = 4  # one row of so many is kept for tests


@LAWS.add("rows")
class Rows(Law):
    """Rows of a table, without repetition, in their principal coordinates.

    Parameters
    ----------
    X : array (rows, columns), or path of a ``.npy`` file
        The table. It is centered, turned to its principal axes, and scaled by one number to a mean
        variance of 1; axes with less than a thousandth of the largest variance are dropped.

    mark : str, optional
        Fingerprint that the table must have; the text of a stored law has it, so that numbers of
        one table are not taken for those of another.

    Notes
    -----
    The projections z of a target are standardized. A quarter of the rows is kept for tests.
    Sweeps with a store and other processes need the path of a file.

    Examples
    --------
    >>> law = Rows(np.random.default_rng(0).standard_normal((40, 3)) * [3.0, 1.0, 1e-3])
    >>> law.d, law.rows_of("data"), law.rows_of("test")
    (2, 30, 10)
    """

    is_standardized = True

    def __init__(self, X: Any, mark: str | None = None) -> None:
        self._path = str(X) if isinstance(X, str | Path) else ""
        self.is_stored = bool(self._path)
        if self._path:
            try:
                X = np.load(self._path, allow_pickle=False)
            except (OSError, ValueError) as error:
                raise BadData(f"the rows of '{self._path}' cannot be read: {error}") from None
        try:
            table = np.array(X, np.float64)
        except (TypeError, ValueError):
            table = np.empty(0)
        if table.ndim != 2 or len(table) < 8 or not np.isfinite(table).all():
            raise BadData(
                f"rows must be finite numbers (rows, columns), at least 8 rows, got {table.shape}"
            )
        found = hashlib.blake2b(np.ascontiguousarray(table).tobytes(), digest_size=8).hexdigest()
        if mark is not None and mark != found:
            raise BadData(f"the table '{self._path}' has changed: its mark is {found}, not {mark}")
        table = table - table.mean(axis=0)
        sizes, axes = np.linalg.eigh(table.T @ table / len(table))
        kept = sizes > _SMALLEST * sizes[-1]
        if not kept.any() or sizes[-1] <= 0:
            raise BadData("all rows of the table are the same: there is nothing to learn from")
        self.d = int(kept.sum())
        order = np.argsort(-sizes[kept])
        scale = np.sqrt(self.d / sizes[kept].sum())
        self._table = (table @ axes[:, kept][:, order]) * scale
        self._variances = sizes[kept][order] * scale**2
        self.arguments = {"X": self._path or f"{len(table)} rows", "mark": found}

    def check(self, d: int) -> None:
        """Refuse a dimension in which the law does not exist."""
        if d != self.d:
            raise BadData(f"these rows have d = {self.d} principal axes, got d = {d}")

    def covariance(self, d: int) -> np.ndarray:
        """Variances of the principal coordinates (d,)."""
        self.check(d)
        return self._variances

    @property
    def whitened(self) -> np.ndarray:
        """The table (rows, d) in principal coordinates of variance 1."""
        return np.asarray(self._table / np.sqrt(self._variances))

    def rows_of(self, role: str) -> int | None:
        """Number of rows of the data, or of the tests."""
        test = len(self._table) // _SHARE
        return test if role == "test" else len(self._table) - test

    def cumulants(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis (r,) of the projections of all rows of the table."""
        z = self._table @ W.T
        z /= z.std(axis=0)
        return (z**3).mean(axis=0), (z**4).mean(axis=0) - 3

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d) without repetition."""
        out[...] = self._table[rng.permutation(len(self._table))[: len(out)]]

    def source(self, d: int, *, seed: int, replicate: int, role: str) -> Fill:
        """What fills the blocks of one data set, one after the other."""
        order = stream(seed, "data", d=d, replicate=replicate, part="rows").permutation(
            len(self._table)
        )
        test = self.rows_of("test") or 0
        order = order[:test] if role == "test" else order[test:]
        place = 0

        def fill(out: np.ndarray) -> None:
            nonlocal place
            chosen = order[place : place + len(out)]
            place += len(chosen)
            out[: len(chosen)] = self._table[chosen]
            out[len(chosen) :] = 0.0

        return fill
