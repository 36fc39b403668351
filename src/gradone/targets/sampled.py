"""The face that all targets share: samples, whole and in chunks."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from ..base.errors import BadData
from ..base.memory import require_memory
from .inputs import Law
from .sampling import DataSet, Labeler, Role, Sample, block_rows


class Sampled(ABC):
    """What every target can do once it has a realization: samples, whole and in chunks."""

    noise: float
    kind: ClassVar[tuple[str, str]]
    """What a person calls one target of the class, and several of them."""
    inputs: Law | None = None
    """Law of the rows; None is the standard Gaussian one."""

    @abstractmethod
    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> Labeler:
        """Target in dimension d: the hidden directions are drawn, labels can be computed."""

    def sample(
        self,
        n: int,
        d: int,
        *,
        seed: int = 0,
        replicate: int = 0,
        dtype: DTypeLike = np.float64,
        role: Role = "data",
        inputs: Law | str | None = None,
        directions: Any = "random",
    ) -> Sample:
        """Independent samples of the target.

        Parameters
        ----------
        n, d : int
            Number of samples, input dimension.
        seed, replicate : int
            Address of the random numbers; a larger n extends a smaller one bit for bit.
        dtype : dtype
            float64, or float32 for the same numbers rounded (W_star stays float64).
        role : str
            ``"test"`` gives fresh rows with the same hidden directions.
        inputs, directions
            Law of the rows and hidden directions, as of :meth:`on`.

        Examples
        --------
        >>> from gradone import Target
        >>> s = Target("He2(z1)", noise=0.1).sample(n=100, d=20)
        >>> s.X.shape, s.y.shape, s.W_star.shape
        ((100, 20), (100,), (1, 20))
        """
        on = self.on(inputs, directions)
        return on._data(n, d, None, seed, replicate, dtype, role).read(n)

    def stream(
        self,
        n: int,
        d: int,
        *,
        chunk: int = 8192,
        seed: int = 0,
        replicate: int = 0,
        dtype: DTypeLike = np.float64,
        role: Role = "data",
        inputs: Law | str | None = None,
        directions: Any = "random",
    ) -> Iterator[Sample]:
        """Same numbers as :meth:`sample`, at most `chunk` rows at a time.

        Examples
        --------
        >>> from gradone import Target
        >>> [s.n for s in Target("He2(z1)").stream(n=25, d=10, chunk=10)]
        [10, 10, 5]
        """
        # Checked here and not in the generator: a mistake must not wait for the first chunk.
        on = self.on(inputs, directions)
        data = on._data(n, d, whole_number("chunk", chunk), seed, replicate, dtype, role)
        return (data.read(chunk) for _ in range(0, n, chunk))

    def on(self, inputs: Law | str | None = None, directions: Any = "random") -> Sampled:
        """The target on inputs of another law, wherever a target is asked for.

        Parameters
        ----------
        inputs : law of ``gradone.inputs`` or its text, optional
            Law of the rows; standard Gaussian by default.
        directions : "random", "axes", "eigenvectors", sequence of int, or array (r, d)
            Hidden directions: uniform; the first coordinates; the leading eigenvectors of the
            covariance; these coordinates, from 0; or these rows.

        Examples
        --------
        >>> from gradone import Target
        >>> Target("z1*z2").on("uniform", directions=[3, 0])
        Target('z1*z2').on(inputs.uniform(), (3, 0))
        >>> Target("z1*z2").on()
        Target('z1*z2')
        """
        from .on_inputs import on_inputs

        return on_inputs(self, inputs, directions)

    def _data(
        self,
        n: int,
        d: int,
        chunk: int | None,
        seed: int,
        replicate: int,
        dtype: DTypeLike,
        role: Role,
    ) -> DataSet:
        n, d = whole_number("n", n), whole_number("d", d)
        replicate = whole_number("replicate", replicate, least=0)
        kind = _float_type(dtype)
        if role not in ("data", "test"):
            raise BadData(f"role must be 'data' or 'test', got {role!r}")
        held, remedy = n, "Use a smaller n, dtype='float32', or read it in chunks with stream()."
        if chunk is not None:
            held, remedy = min(n, chunk), "Use a smaller chunk."
        blocks = 3 * 8 * block_rows(d) * d
        # Before anything is drawn, and again when the number of features is known.
        require_memory(held * d * kind.itemsize + blocks, f"X of {held} x {d} numbers", remedy)
        labeler = self.realization(d, seed=seed, replicate=replicate)
        width = d + 1 + sum(labeler.feature_widths)
        require_memory(
            held * width * kind.itemsize + blocks, f"{held} rows of {width} numbers", remedy
        )
        if (rows := None if self.inputs is None else self.inputs.rows_of(role)) and n > rows:
            raise BadData(f"there are {rows} rows of these inputs for role={role!r}, got n = {n}")
        return DataSet(
            labeler,
            n,
            seed=seed,
            replicate=replicate,
            noise=self.noise,
            dtype=kind,
            role=role,
            inputs=self.inputs,
        )


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """Integer parameter, checked.

    Examples
    --------
    >>> whole_number("n", 2.5)
    Traceback (most recent call last):
    gradone.base.errors.BadData: n must be an integer >= 1, got 2.5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise BadData(f"{name} must be an integer >= {least}, got {value!r}")
    return number


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float32, np.float64):
        raise BadData(f"dtype must be float64 or float32, got {dtype!r}")
    return kind
