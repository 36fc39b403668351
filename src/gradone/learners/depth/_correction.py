r"""A first stage whose noise is what the label keeps to itself, not the whole label.

In :math:`C = \overline{t\, u u^\top}` the bulk of the eigenvalues is noise of size
:math:`\overline{t^2}`, although much of t may be predicted already. Taking the prediction f off and
putting its exact mean back,

.. math:: C' = \frac1F \sum_{j=1}^F \left(\mathbb{E}_{u \sim N(0, I)}[f_j(u)(u u^\top - I)]
          + \overline{(t - f_j)(u u^\top - I)}^{\text{ fold } j}\right),    [LW-8]

has the same mean and the noise of t - f: the number of samples at which a direction shows falls by
the factor :math:`v = \overline{(t - f)^2}/\overline{t^2}`. Each :math:`f_j` and its directions come
from the other folds. More directions leave a smaller v, so that a few rounds are made.

The same works for features of any inputs with a known law in place of u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ._moments import Moments
from ._ridge_path import Readout, cross_fitted

_FOLDS = 4
_TOO_FAR = 6.0  # standard deviations from the law of the inputs at which it is another one


class KnownFeatures(Protocol):
    """Functions of the inputs whose moments under their law are known."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values (n, q)."""

    def moments(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second (s, m, m) and first (s, m) moments of functions with coefficients C (q, s)."""


K = TypeVar("K", bound=KnownFeatures)


class Stage(Protocol[K]):
    """What is filtered: features of inputs, and what is known of their law."""

    def lift(self, X: np.ndarray) -> np.ndarray:
        """Features (n, m) whose moments are taken."""

    def find(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal directions (k, m) that stand out of moments, and their weights (k,)."""

    def known(self, basis: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> K:
        """Functions of the directions found."""

    def gaps(self, X: np.ndarray, features: K, fit: Readout) -> np.ndarray:
        """Numbers (n, any) whose means are 0 if the law of the inputs is what it should be."""


@dataclass(frozen=True)
class Corrected:
    """Moments after the correction.

    Parameters
    ----------
    moments : Moments
        The moments, with the noise that is left.
    shares : list of ndarray (s,)
        Share of the weights that is not explained, for each round.
    fits : list of Readout
        What explains the weights, fitted without one fold each.
    fitted : ndarray (n, s)
        Their outputs on the rows that they have not seen.
    """

    moments: Moments
    shares: list[np.ndarray]
    fits: list[Readout]
    fitted: np.ndarray


def corrected_moments(
    stage: Stage[K],
    X: np.ndarray,
    T: np.ndarray,
    rng: np.random.Generator,
    *,
    rounds: int,
    start: bool = True,
) -> Corrected:
    """Moments [LW-8] of features of the rows.

    Parameters
    ----------
    stage : Stage
        The features, what stands out of their moments, and functions of it.
    X : ndarray (n, d)
        Rows.
    T : ndarray (n, s)
        Weights, each with mean 0.
    rng : Generator
        Folds and random functions.
    rounds : int
        Rounds of the correction.
    start : bool
        Whether the first round starts from directions that stand out of the plain moments, or
        without any.
    """
    n, s = T.shape
    found = Corrected(Moments.of(stage.lift(X), T), [], [], np.zeros((n, s)))
    if not rounds:
        return found
    fold = rng.permutation(n) % _FOLDS
    rows = [fold == j for j in range(_FOLDS)]
    lifted = [stage.lift(X[mine]) for mine in rows]
    parts = [Moments.of(U, T[mine]) for U, mine in zip(lifted, rows, strict=True)]
    nothing = np.zeros((0, lifted[0].shape[1])), np.zeros(0)
    for number in range(rounds):
        features = []
        for j in range(_FOLDS):
            others = Moments.joined(parts[:j] + parts[j + 1 :])
            basis, weights = stage.find(others) if number or start else nothing
            features.append(stage.known(basis, weights, rng))
        fits, fitted, errors = cross_fitted(list(features), X, T, fold)
        if not number:
            # Of rows that have chosen neither the directions nor the fit: others agree too well.
            known = zip(rows, features, fits, strict=True)
            if _far_from_zero([stage.gaps(X[mine], f, fit) for mine, f, fit in known]):
                break
        parts = [
            _put_back(Moments.of(U, (T - fitted)[mine]), made, fit)
            for U, mine, made, fit in zip(lifted, rows, features, fits, strict=True)
        ]
        sizes = np.sum(T**2, axis=0)  # 0 for a class without rows
        share = errors / np.where(sizes > 0, sizes, 1.0)
        found = Corrected(Moments.joined(parts), [*found.shares, share], fits, fitted)
    return found


def _far_from_zero(gaps: list[np.ndarray]) -> bool:
    """Whether the mean of some column is too many standard deviations away from 0."""
    pooled = np.concatenate(gaps)
    limits = _TOO_FAR * pooled.std(axis=0) / np.sqrt(len(pooled))
    return bool((abs(pooled.mean(axis=0)) > limits).any())


def _put_back(left: Moments, features: KnownFeatures, fit: Readout) -> Moments:
    """Moments of what is left, and the exact ones of what was taken off."""
    second, first = features.moments(fit.coefficients)
    return Moments(left.second + second, left.first + first, left.noise)
