"""Layers of branches above the directions: products that steps on residuals have improved.

Filters of products see a branch through two moments of the label; where there are rows enough, the
steps [LW-6] that start from such moments find the branches themselves, with their link. Both are
candidates for the layers above the directions, and the rows held out choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._branches import Branches, find_branches
from ._data import SplitData, beats
from ._link import Link
from ._selection import Spectrum

# Standard deviations by which a layer more must be better, and branches than other models.
_CLEAR, _CLEAR_OF_OTHERS = 1.0, 2.0


@dataclass(frozen=True)
class BranchLayer:
    """Branches as features of the layer below.

    Parameters
    ----------
    branches : Branches
        The functions.
    """

    branches: Branches

    @property
    def weights(self) -> np.ndarray:
        """All count alike (k,)."""
        return np.ones(self.branches.matrix.shape[1])

    @property
    def filters(self) -> np.ndarray:
        """Coefficients (k, P) of whitened products."""
        return self.branches.matrix.T

    @property
    def spectra(self) -> list[Spectrum]:
        """None: steps have moved the filters away from eigenvectors."""
        return []

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Features (n, k)."""
        return self.branches(X)


@dataclass(frozen=True)
class BranchReadout:
    """The link of branches, within the range of the labels.

    Far out the polynomials below grow faster than anything that the rows have shown.

    Parameters
    ----------
    link : Link
        Function of the branches.
    range : tuple of float
        Smallest and largest label.
    """

    link: Link
    range: tuple[float, float]

    def __call__(self, H: np.ndarray) -> np.ndarray:
        """Outputs (n, 1)."""
        return np.clip(self.link(H), *self.range)[:, None]


@dataclass(frozen=True)
class BranchLevel:
    """Layers of branches and what they predict.

    Parameters
    ----------
    layers : tuple of BranchLayer
        Each a function of the one below it, the first of the coordinates along the directions.
    readout : BranchReadout
        Function of the last ones.
    errors : ndarray (n_held,)
        On the rows held out, none of which the link that is compared has seen.
    rows, held : ndarray (n, k), (n_held, k)
        The last branches at the rows to learn from and at those held out.
    """

    layers: tuple[BranchLayer, ...]
    readout: BranchReadout
    errors: np.ndarray
    rows: np.ndarray
    held: np.ndarray


def branch_levels(
    data: SplitData, most: int, others: np.ndarray, rng: np.random.Generator
) -> list[BranchLevel]:
    """Layers of branches, each with a layer more; none unless the last are clearly better.

    Parameters
    ----------
    data : SplitData
        Coordinates along the directions; the rows held out fit the links.
    most : int
        Largest number of layers.
    others : ndarray (n_held,)
        Errors of the best model without branches. That model gains when all rows are fitted, so
        that it must be beaten by more than chance.
    rng : Generator
        Units of the links.
    """
    ends = float(data.y.min()), float(data.y.max())
    levels: list[BranchLevel] = []
    layers: tuple[BranchLayer, ...] = ()
    least = others
    while len(levels) < most:
        found = find_branches(data, np.eye(data.X.shape[1]), rng)
        if found is None or not beats(found.errors, least, _CLEAR if levels else 0.0):
            break
        layers += (BranchLayer(found.branches),)
        data = SplitData(found.branches(data.X), data.y, found.branches(data.X_held), data.y_held)
        readout, least = BranchReadout(found.link, ends), found.errors
        levels.append(BranchLevel(layers, readout, found.errors, data.X, data.X_held))
    return levels if beats(least, others, _CLEAR_OF_OTHERS) else []
