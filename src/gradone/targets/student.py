r"""The student of every dynamics: a two-layer network before its first update.

.. math:: f(x) = \sum_{j=1}^{p} a_j\,\sigma(\langle w_j, x\rangle + b_j)

Flows, engines and learners take the same student. How it is trained is said in :mod:`.training`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np

from ..base.errors import BadData, one_of
from .activation import Activation
from .sampled import whole_number

Start: TypeAlias = Literal["random", "orthogonal"] | tuple[np.ndarray, np.ndarray]
Rows: TypeAlias = tuple[tuple[float, ...], ...]

INITS = ("random", "orthogonal")


class Overlaps(Mapping[str, Rows]):
    """Overlaps M = W W*^T (width, r) and norms Q = W W^T (width, width) of the first weights.

    Examples
    --------
    >>> Overlaps([[0.3]], [[1.0]])
    {'M': ((0.3,),), 'Q': ((1.0,),)}
    """

    def __init__(self, M: Any, Q: Any) -> None:
        self._matrices = {"M": _rows(M), "Q": _rows(Q)}

    def __getitem__(self, name: str) -> Rows:
        return self._matrices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matrices)

    def __len__(self) -> int:
        return len(self._matrices)

    def __hash__(self) -> int:
        return hash(tuple(self._matrices.values()))

    def __repr__(self) -> str:
        return repr(self._matrices)


@dataclass(frozen=True)
class Student:
    r"""Two-layer network :math:`f(x) = \sum_j a_j\,\sigma(\langle w_j, x\rangle + b_j)`.

    Parameters
    ----------
    width : int
        Number p of neurons.
    activation : str or Activation
        Function :math:`\sigma` of ``z``, for example ``"tanh(z + 0.2)"``.
    readout : "signs", float or array
        Second layer a at the start: 1, -1, 1, ...; one number for all neurons; or one for each.
        There is no factor 1/width: write it here if it is wanted.
    bias : float or array
        Biases b at the start: one number for all neurons, or one for each.
    init : "random", "orthogonal", {"M": ..., "Q": ...} or array (width, d)
        First weights W: independent rows, uniform on the unit sphere; orthonormal rows without
        overlap with the target (M = 0, Q = I); given overlaps M = W W*^T and norms Q = W W^T
        (Q = I if it is left out), for theories and engines; the weights themselves, for learners.

    Examples
    --------
    >>> student = Student(width=3, bias=0.2)
    >>> student
    Student(width=3, activation='relu(z)', readout='signs', bias=0.2, init='random')
    >>> student.a, student.b
    ((1.0, -1.0, 1.0), (0.2, 0.2, 0.2))
    >>> Student(width=1, init={"M": [[1.3]]})
    Traceback (most recent call last):
    gradone.base.errors.BadData: init: Q - M M^T must have no negative eigenvalue, ...
    """

    width: int = 4
    activation: str | Activation = "relu(z)"
    readout: Any = "signs"
    bias: Any = 0.0
    init: Any = "random"

    def __post_init__(self) -> None:
        width = whole_number("width", self.width)
        checked = {
            "width": width,
            "activation": _text(self.activation),
            "readout": _read_readout(self.readout, width),
            "bias": _per_neuron("bias", self.bias, width),
            "init": _read_init(self.init, width),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def for_target(cls, target: Any, width: int = 800) -> Any:
        """Student that climbs the staircase of a target, with its predicted cosines.

        Parameters
        ----------
        target : Target or str
            With a linear part, where the staircase begins.
        width : int
            Number of neurons.

        Returns
        -------
        ClimbingStudent
            A student with ``steps``, ``step_size``, ``batch_ratio``, ``degrees``, ``cosines``;
            ``climbs``, whether all directions are expected to stand out of the noise; and
            ``giant_step``, the parameters for ``gd.learners.GiantStep``.

        Notes
        -----
        A term of degree m shows its last direction through the m-th Hermite coefficient of the
        activation: relu without biases lacks those of order 3, 5, ..., and tanh all even ones.

        Examples
        --------
        >>> student = Student.for_target("z1 + z1*z2 + z1*z2*z3")
        >>> student.activation, student.steps, student.degrees, student.climbs
        ('sin(z + pi/4)', 4, (1, 2, 3), True)
        """
        # The choice needs the analysis and the theory, which stand above the targets.
        climbing: Any = import_module("gradone.algorithms.climbing_student")
        return climbing.climbing_student(target, width)

    @cached_property
    def sigma(self) -> Activation:
        r"""The function :math:`\sigma`."""
        return Activation(str(self.activation))

    @property
    def a(self) -> tuple[float, ...]:
        """Second layer at the start, one number for each neuron."""
        if self.readout == "signs":
            return tuple(1.0 if j % 2 == 0 else -1.0 for j in range(self.width))
        return _spread(self.readout, self.width)

    @property
    def b(self) -> tuple[float, ...]:
        """Biases at the start, one for each neuron."""
        return _spread(self.bias, self.width)

    def start(self, r: int) -> Start:
        """Start in the space of a target of r directions: its name, or M (width, r) and Q.

        Examples
        --------
        >>> Student(width=1, init={"M": [[0.3]]}).start(1)
        (array([[0.3]]), array([[1.]]))
        """
        if isinstance(self.init, tuple):
            raise BadData(
                "init: an array of weights starts a learner; theories and engines have no vectors "
                'of dimension d and take overlaps {"M": ..., "Q": ...}'
            )
        if isinstance(self.init, str):
            name: Any = self.init
            return name
        M, Q = (np.array(self.init[name]) for name in ("M", "Q"))
        if M.shape[1] != r:
            raise BadData(
                f"init: M must have a column for each of the {r} directions of the target, got "
                f"shape {M.shape}"
            )
        return M, Q


def _text(activation: Any) -> str:
    """Text of an activation that can be read."""
    return (activation if isinstance(activation, Activation) else Activation(activation)).text


def _rows(matrix: Any) -> Rows:
    return tuple(tuple(map(float, row)) for row in matrix)


def _spread(value: Any, width: int) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,) * width


def _per_neuron(name: str, value: Any, width: int) -> float | tuple[float, ...]:
    """One finite number for all neurons, or a tuple with one for each."""
    try:
        numbers = np.asarray(value)
        numbers = numbers.astype(np.float64) if numbers.dtype.kind in "fiu" else np.empty((0, 0))
    except ValueError:  # ragged
        numbers = np.empty((0, 0))
    if numbers.shape not in ((), (width,)) or not np.isfinite(numbers).all():
        raise BadData(f"{name} needs {width} finite numbers, one for each neuron, got {value!r}")
    return tuple(map(float, numbers)) if numbers.ndim else float(numbers)


def _read_readout(readout: Any, width: int) -> str | float | tuple[float, ...]:
    if isinstance(readout, str):
        return one_of("readout", readout, ("signs",), more=", a number, or one for each neuron")
    a = _per_neuron("readout", readout, width)
    if not np.any(a):
        raise BadData("readout must not be 0 for every neuron: no neuron would receive a gradient")
    return a


def _read_init(init: Any, width: int) -> str | Overlaps | Rows:
    if isinstance(init, str):
        more = ', {"M": ..., "Q": ...} or an array of weights'
        return one_of("init", init, INITS, more=more)
    if not isinstance(init, Mapping):
        return _rows(_matrix("the weights", init, width, None))
    if set(init) - {"M", "Q"} or "M" not in init:
        raise BadData(f"init needs the key 'M' and may have 'Q', got {sorted(map(str, init))}")
    M = _matrix("M", init["M"], width, None)
    Q = _matrix("Q", init.get("Q", np.eye(width)), width, width)
    scale = float(np.abs(Q).max())
    if np.abs(Q - Q.T).max() > 1e-12 * scale:
        raise BadData("init: Q must be symmetric")
    if (np.diag(Q) <= 0).any():
        raise BadData("init: every neuron must have a norm Q_jj > 0")
    Q = (Q + Q.T) / 2
    lowest = float(np.linalg.eigvalsh(Q - M @ M.T)[0])
    if lowest < -1e-12 * width * scale:
        raise BadData(
            f"init: Q - M M^T must have no negative eigenvalue, got {lowest:.3g}: no weights have "
            "these overlaps; make M smaller or Q larger"
        )
    return Overlaps(M, Q)


def _matrix(name: str, value: Any, rows: int, columns: int | None) -> np.ndarray:
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    fits = matrix.ndim == 2 and matrix.shape[0] == rows and columns in (None, matrix.shape[1])
    if not fits or not matrix.size or not np.isfinite(matrix).all():
        shape = f"{rows} rows" if columns is None else f"shape ({rows}, {columns})"
        got = f"an array of shape {matrix.shape}" if matrix.size > 8 else repr(value)
        raise BadData(f"init: {name} must be finite numbers, {shape}, got {got}")
    return matrix
