"""Rows of training data in their order, block by block, from arrays or from a stream of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ...base.errors import BadData
from .._standardize import row_blocks

Block = tuple[np.ndarray, np.ndarray]


class Rows:
    """A source of blocks (X, y) that can be read from its beginning any number of times.

    Parameters
    ----------
    open_blocks : callable
        Gives the blocks from the beginning.
    d : int
        Number of columns of X.
    dtype : numpy.dtype
        Precision of X.
    """

    def __init__(self, open_blocks: Callable[[], Iterator[Block]], d: int, dtype: Any) -> None:
        self._open, self.d, self.dtype = open_blocks, d, dtype

    def reader(self) -> Reader:
        """A reader that stands at the first row."""
        return Reader(self._open())


class Reader:
    """A place among the rows of a source, which moves on as they are taken.

    Examples
    --------
    >>> rows = array_rows(np.zeros((5, 1)), np.arange(5.0), rows=3)
    >>> reader = rows.reader()
    >>> [y.tolist() for _, y in reader.take(4)], [y.tolist() for _, y in reader.take()]
    ([[0.0, 1.0, 2.0], [3.0]], [[4.0]])
    """

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._rest: Block | None = None

    def take(self, count: int | None = None) -> Iterator[Block]:
        """Blocks of the next `count` rows, all that are left if None."""
        taken = 0
        while count is None or taken < count:
            block = self._rest if self._rest is not None else next(self._blocks, None)
            self._rest = None
            if block is None:
                return
            X, y = block
            size = len(y) if count is None else min(len(y), count - taken)
            if size < len(y):
                self._rest = X[size:], y[size:]
            taken += size
            yield X[:size], y[:size]


def array_rows(X: np.ndarray, y: np.ndarray, *, rows: int, order: np.ndarray | None = None) -> Rows:
    """Rows of two arrays, in their order or in another."""

    def blocks() -> Iterator[Block]:
        for part in row_blocks(len(y), rows):
            chosen: Any = part if order is None else order[part]
            yield X[chosen], y[chosen]

    return Rows(blocks, X.shape[1], X.dtype)


def stream_rows(chunks: Any, *, rows: int, passes: int) -> Rows:
    """Rows of a stream of chunks, checked as they come.

    Parameters
    ----------
    chunks : iterable or callable
        Of samples with ``X`` and ``y``, or of pairs (X, y); a function is called for every pass.
    rows : int
        Largest number of rows of a block.
    passes : int
        How often the stream will be read.
    """
    one_shot = not callable(chunks) and iter(chunks) is chunks
    if one_shot and passes > 1:
        raise BadData(
            "this stream can be read once and is needed twice, to standardize the columns or to "
            "remove the linear part. Give a function that returns the chunks, such as "
            "lambda: target.stream(...), or use standardize=False and preprocess=False."
        )
    opened = iter(chunks() if callable(chunks) else chunks)
    first = next(opened, None)
    if first is None:
        raise BadData("the stream has no chunk")
    begin = _checked(first, None)[0]
    d = begin.shape[1]

    def again() -> Iterator[Any]:
        if one_shot:
            return chain([first], opened)
        return iter(chunks() if callable(chunks) else chunks)

    def blocks() -> Iterator[Block]:
        for chunk in again():
            X, y = _checked(chunk, d)
            for part in row_blocks(len(y), rows):
                yield X[part], y[part]

    return Rows(blocks, d, begin.dtype)


def _checked(chunk: Any, d: int | None) -> Block:
    """Arrays of one chunk."""
    pair = (chunk.X, chunk.y) if hasattr(chunk, "X") else chunk
    try:
        X, y = (np.asarray(part) for part in pair)
    except (TypeError, ValueError):
        raise BadData(
            f"a chunk must have X and y, or be a pair (X, y), got {type(chunk).__name__}"
        ) from None
    if X.dtype != np.float32:
        X = X.astype(np.float64, copy=False)
    if X.ndim != 2 or y.shape != (len(X),) or (d is not None and X.shape[1] != d):
        columns = "d" if d is None else d
        raise BadData(
            f"a chunk must have X of shape (rows, {columns}) and y of shape (rows,), got "
            f"{X.shape} and {y.shape}"
        )
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise BadData("a chunk of the stream contains NaN or infinite numbers; leave them out")
    return X, y.astype(np.float64, copy=False)
