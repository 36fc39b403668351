"""Symmetries of a target in the frame of a lattice: how much of it need not be looked at."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...targets.signed_permutations import Symmetries

_FRAME = 1e-9  # size of what counts as rounding in a frame


class Move(NamedTuple):
    """A map of z, and whether it keeps the label or changes its sign."""

    S: np.ndarray
    keeps: bool


class Lattice:
    """Axes of a frame, some of which carry overlap, and what symmetries save there.

    Parameters
    ----------
    symmetries : Symmetries
        Of the target.
    Q : array (r, r)
        Axes of the frame as orthonormal columns.
    learned : array (r,) of bool
        Which of them carry overlap.

    Examples
    --------
    >>> from gradone.targets.language.expression import Expression
    >>> from gradone.targets.signed_permutations import symmetries
    >>> target = symmetries(Expression("z1**2 + sign(z1*z2*z3)"))
    >>> lattice = Lattice(target, np.eye(3), np.array([True, False, False]))
    >>> lattice.mirrors[0].S.tolist()  # with z1, z3 changes its sign
    [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]
    """

    def __init__(self, symmetries: Symmetries, Q: np.ndarray, learned: np.ndarray) -> None:
        self.Q = Q
        self.axes, self.rest = np.flatnonzero(learned), np.flatnonzero(~learned)
        self._group = [Move(S, bool(keeps)) for S, keeps in zip(*symmetries, strict=True)]
        self._framed = [Move(_rounded(Q.T @ S @ Q), keeps) for S, keeps in self._group]
        flips = [m for m in self._framed if not (m.S - np.diag(np.diag(m.S))).any()]
        self._flips = [m for m in flips if (np.abs(np.diag(m.S)) == 1).all()]

    @cached_property
    def mirrors(self) -> list[Move | None]:
        """For each axis with overlap, a symmetry that flips it and no other of these axes."""
        return [self._mirror(int(axis)) for axis in self.axes]

    @cached_property
    def halved(self) -> np.ndarray:
        """(r,) axes along which prior means from 0 on represent all."""
        found, left = np.zeros(len(self.Q), dtype=bool), self._flips
        for axis in self.axes:
            found[axis] = any(move.S[axis, axis] < 0 for move in left)
            left = [move for move in left if move.S[axis, axis] > 0]
        return found

    def _mirror(self, axis: int) -> Move | None:
        others = [a for a in self.axes if a != axis]
        for move in sorted(self._flips, key=lambda m: (not m.keeps, -np.trace(m.S))):
            signs = np.diag(move.S)
            if signs[axis] < 0 and (signs[others] > 0).all():
                return move
        return None

    def folded(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, r) of the frame on the near side of all mirrors; whether labels are kept."""
        keeps = np.ones(len(u), dtype=bool)
        for axis, mirror in zip(self.axes, self.mirrors, strict=True):
            if mirror is not None:
                beyond = u[:, axis] < 0
                u = np.where(beyond[:, None], u * np.diag(mirror.S), u)
                if not mirror.keeps:
                    keeps ^= beyond
        return u, keeps

    def moves(self, steps: np.ndarray) -> list[Move]:
        """Symmetries that map the lattice with these steps to itself, up to mirrors."""
        found: dict[bytes, Move] = {}
        for move in self._framed:
            if self._acts(move, steps):
                move = self._on_this_side(move)
                found.setdefault((move.S + 0.0).tobytes() + bytes([move.keeps]), move)
        return list(found.values())

    def images(self, steps: np.ndarray) -> list[Move]:
        """Symmetries under which images of all points are spread, too.

        One of each coset of those that map the lattice to itself: without them, noise of the cloud
        would be taken for a signal that the symmetry excludes.
        """
        acting = [m.S for m in self._framed if self._acts(m, steps)]
        found: list[Move] = []
        covered: list[np.ndarray] = []
        for move, framed in zip(self._group, self._framed, strict=True):
            if not any(np.abs(framed.S - S).max() < _FRAME for S in covered):
                found.append(move)
                covered += [S @ framed.S for S in acting]
        return found

    def _acts(self, move: Move, steps: np.ndarray) -> bool:
        size = np.abs(move.S)
        whole = ((size == 0) | (size == 1)).all()
        apart = not size[np.ix_(self.axes, self.rest)].any()
        if not (whole and apart and np.allclose(size @ steps, steps)):
            return False
        has_mirror = np.zeros(len(size))
        has_mirror[self.axes] = [mirror is not None for mirror in self.mirrors]
        return np.array_equal(size @ has_mirror, has_mirror)

    def _on_this_side(self, move: Move) -> Move:
        """A map followed by the mirrors of axes that it flips."""
        for axis, mirror in zip(self.axes, self.mirrors, strict=True):
            if mirror is not None and move.S[axis].sum() < 0:
                move = Move(mirror.S @ move.S, move.keeps == mirror.keeps)
        return move


def _rounded(S: np.ndarray) -> np.ndarray:
    """Map whose entries are exact where they are 0 or 1 up to rounding."""
    near = np.round(S)
    return np.where(np.abs(S - near) < _FRAME, near, S)
