r"""Symmetries of a target: orthogonal maps of its directions that no label can tell apart.

.. math:: G = \{S \in O(r) : g(S z) = g(z) \text{ for all } z\}     [SY-1]

Hidden directions :math:`W^\star` and :math:`S W^\star` give the same labels, so an algorithm finds
the directions up to a member of G only. Maps that change the label, as ``y -> -y`` for an odd
function, do not belong to it: the label is seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import BadData, OutOfRegime
from .candidate_maps import candidate_maps
from .language.expression import Expression
from .rotations import RotationGroup, null_space, rotations_that_keep
from .tangents import gradient, random_points, tangents

if TYPE_CHECKING:
    from .target import Target

MAX_DIRECTIONS = 5
_POINTS = 4096
_FIRST = 64  # points on which most candidates fail
_SAME = 1e-9
_Cosets = list[np.ndarray]


class SymmetryGroup:
    r"""Group of orthogonal maps S with g(S z) = g(z): finitely many, times rotations.

    Parameters
    ----------
    elements : ndarray (m, r, r)
        One map of each connected part, the identity first; for a finite group all of it.
    connected : RotationGroup
        The rotations that can be reached from the identity.

    Examples
    --------
    >>> symmetry_group(Expression("sign(z1*z2)"))
    SymmetryGroup(r=2, order 4)
    >>> symmetry_group(Expression("z1**2 + z2**2 + z3"))
    SymmetryGroup(r=3, 2 parts, 1 generator of rotations)
    """

    def __init__(self, elements: np.ndarray, connected: RotationGroup) -> None:
        self.elements, self.connected = elements, connected
        self.elements.setflags(write=False)  # one group serves all who ask
        self.r = connected.r

    @property
    def rotations(self) -> np.ndarray:
        """Generators (q, r, r) of the rotations: antisymmetric, orthonormal; q = 0 if finite."""
        return self.connected.generators

    @property
    def order(self) -> float:
        """Number of maps, infinite if there are rotations."""
        return math.inf if len(self.rotations) else len(self.elements)

    def align(self, M: np.ndarray) -> np.ndarray:
        """Of all matrices M S with S in the group the one of largest trace.

        Parameters
        ----------
        M : ndarray (..., r, r)
            Overlaps of found (rows) and hidden (columns) directions. Matrices that hold NaN stay.

        Examples
        --------
        >>> symmetry_group(Expression("max(z1, z2)")).align(np.array([[0.1, 0.8], [0.7, 0.0]]))
        array([[0.8, 0.1],
               [0. , 0.7]])
        """
        M = np.asarray(M, dtype=np.float64)
        if M.shape[-2:] != (self.r, self.r):
            raise BadData(
                f"an overlap matrix has the shape (..., {self.r}, {self.r}), not {M.shape}"
            )
        if M.ndim > 2:
            return np.array([self.align(part) for part in M]).reshape(M.shape)
        if np.isnan(M).any():
            return M.copy()
        turned = [part @ self.connected.best(part) for part in M @ self.elements]
        return max(turned, key=lambda part: float(np.trace(part)))

    def contains(self, S: np.ndarray) -> bool:
        """Whether an orthogonal matrix belongs to the group."""
        return any(self.connected.contains(element.T @ S) for element in self.elements)

    def __repr__(self) -> str:
        count, q = len(self.elements), len(self.rotations)
        if not q:
            return f"SymmetryGroup(r={self.r}, order {count})"
        words = f"{count} part{'s' * (count > 1)}, {q} generator{'s' * (q > 1)} of rotations"
        return f"SymmetryGroup(r={self.r}, {words})"


@lru_cache(maxsize=64)
def symmetry_group(expression: Expression) -> SymmetryGroup:
    """Symmetries of a function [SY-1], found from the function.

    Parameters
    ----------
    expression : Expression
        Function of at most five variables.

    Notes
    -----
    Rotations come from linear equations that hold to rounding. Isolated maps are sought among
    those that permute, up to signs, the linear forms typed in the function or the axes of its
    quadratic parts (all changes of sign and permutations of the variables, in whatever frame the
    function was typed), and among turns by a third to a twelfth of a circle in a plane of two such
    axes. Each is accepted only if it keeps the function to nine digits at 4096 points of several
    widths. Isolated maps of other kinds are not found.

    Examples
    --------
    >>> symmetry_group(Expression("sign(z1*z2*z3)")).order
    24
    """
    r = expression.r
    if r > MAX_DIRECTIONS:
        raise OutOfRegime(
            f"symmetries are searched for at most {MAX_DIRECTIONS} directions, the function has "
            f"r = {r}"
        )
    found = tangents(expression)
    connected = rotations_that_keep(found)
    unused = null_space(found.normals) if len(found.normals) else np.eye(r)
    keeps = Invariance(expression)
    kept: _Cosets = []
    for maps in candidate_maps(expression, connected, unused):
        kept += keeps.select(maps)
    return SymmetryGroup(np.array(_closed(kept, connected)), connected)


def label_symmetries(target: Target) -> SymmetryGroup:
    r"""Symmetries of the law of the label: maps of z, together with some map of latent noise.

    .. math:: g(S z, T \xi) = g(z, \xi), \qquad S \in O(r), \quad T \in O(q)

    Examples
    --------
    >>> from gradone import Target
    >>> label_symmetries(Target("z*xi")).order
    2
    """
    group = symmetry_group(target.joint)
    if not target.q:
        return group
    r = target.r
    turns, maps = group.rotations, group.elements
    if turns[:, r:].any():
        raise OutOfRegime(
            f"the symmetries of '{target.text}' are not known: rotations mix its directions with "
            "latent noise"
        )
    blocks = maps[~(np.abs(maps[:, :r, r:]) > _SAME).any(axis=(1, 2)), :r, :r]
    connected = RotationGroup(turns[:, :r, :r])
    return SymmetryGroup(np.array(_closed(blocks, connected)), connected)


class Invariance:
    """Test on random points whether a function stays the same.

    Parameters
    ----------
    expression : Expression
        The function.
    """

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        z = random_points(_POINTS, expression.r, part="symmetries")
        with np.errstate(over="ignore", invalid="ignore"):
            value = np.asarray(expression(z))
            slope = np.linalg.norm(gradient(expression.tree, z), axis=1)
            size = np.abs(value) + slope * np.linalg.norm(z, axis=1)
        usable = np.isfinite(size)
        self.z, self.value, size = z[usable], value[usable], size[usable]
        # What is typical counts where the function happens to vanish.
        typical = np.median(size[size > 0]) if size.any() else 0.0
        self.allowed = _SAME * np.maximum(size, 1e-3 * typical)

    def is_kept_by(self, other: Expression) -> bool:
        """Whether another expression of the same variables is the same function."""
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.abs(np.asarray(other(self.z)) - self.value)
        return bool((gaps <= self.allowed).all())

    def select(self, maps: np.ndarray) -> _Cosets:
        """Those of the maps (m, r, r) that keep the function."""
        moved = self.z[:_FIRST] @ maps.swapaxes(1, 2)
        gaps = np.abs(self.expression(moved) - self.value[:_FIRST])
        likely = maps[(gaps <= self.allowed[:_FIRST]).all(axis=1)]
        return [
            S
            for S in likely
            if (np.abs(self.expression(self.z @ S.T) - self.value) <= self.allowed).all()
        ]


def _closed(maps: Iterable[np.ndarray], connected: RotationGroup) -> _Cosets:
    """One map of each connected part of the group that the maps generate with the rotations."""
    group: _Cosets = [np.eye(connected.r)]
    keys = {_key(group[0])}

    def is_new(S: np.ndarray) -> bool:
        if not len(connected.generators):
            return _key(S) not in keys
        return not any(connected.contains(T.T @ S) for T in group)

    active: _Cosets = []
    for S in maps:
        if not is_new(S):
            continue
        active.append(S)
        for T in group:  # grows while it is read
            for generator in active:
                if is_new(product := T @ generator):
                    keys.add(_key(product))
                    group.append(product)
    return group


def _key(S: np.ndarray) -> bytes:
    return (np.round(S, 6) + 0.0).tobytes()
