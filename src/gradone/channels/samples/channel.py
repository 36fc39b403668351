"""Posterior of the projections of single samples: what message passing asks for."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ...base.errors import BadData
from ...base.seeds import stream
from ...calculus.sobol import SobolSequence
from ...targets.frame import natural_frame
from ...targets.language.bounds import interval
from ...targets.target import Target
from .general import General
from .grids import root
from .label import FormulaLabel

_ROUNDING = 1e-5  # labels may have been computed in single precision
_SHOWN = 8
_LABELS = 2**11  # drawn at knowing nothing


class Posterior(NamedTuple):
    """Posterior of z for n labels, each with its own prior mean and a common prior covariance."""

    log_z: np.ndarray
    """(n,) logarithm of the evidence Z; -inf where the label is impossible (g and dg are 0)."""
    g: np.ndarray
    """(n, r) output function."""
    dg: np.ndarray
    """(n, r, r) its derivative with respect to omega, a symmetric matrix."""
    error: np.ndarray
    """(n,) error of log Z, and of mean and covariance of z in units of the prior."""


class SampleChannel:
    r"""Posterior of the projections z given a label, under a Gaussian prior.

    With :math:`z \sim N(\omega, V)` and the label drawn from P(y | z):

    .. math::
        Z = \mathbb{E}[P(y|z)], \qquad g_{out} = V^{-1}\,\mathbb{E}[z - \omega \mid y],
        \qquad \partial_\omega g_{out} = V^{-1} \mathrm{Cov}[z \mid y] V^{-1} - V^{-1}    [PC-1]

    so that :math:`g_{out} = \partial_\omega \log Z`.

    Parameters
    ----------
    target : Target
        The target whose output is observed, of up to four directions and latent variables.
    resolution : int
        Number of times that the step of every rule inside is halved.
    exact : bool
        Whether rules may be used that cover some targets only. Without them a channel is a check.

    Examples
    --------
    Phase retrieval, where :math:`g = (|z| \tanh(|z| \omega/V) - \omega)/V`:

    >>> channel = SampleChannel(Target("z**2"))
    >>> found = channel.posterior(np.array([4.0]), np.array([[0.3]]), np.array([[0.5]]))
    >>> round(float(found.g[0, 0]), 9), round(float((2 * np.tanh(2 * 0.3 / 0.5) - 0.3) / 0.5), 9)
    (2.734618428, 2.734618428)
    """

    def __init__(self, target: Target, *, resolution: int = 0, exact: bool = True) -> None:
        self.target, self.r = target, target.r
        frame = natural_frame(target.joint)
        label = FormulaLabel(frame.expression, target.noise, resolution, exact=exact)
        self._rule, self._basis = General(label), frame.rows

    def posterior(self, y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> Posterior:
        """Posterior at labels `y` (n,), prior means `omega` (n, r), covariance `V` (r, r)."""
        center, spread = self._in_basis(omega, V)
        y = np.asarray(y, dtype=np.float64)
        log_z, mean, covariance, error = self._rule.moments(y, center, spread)
        whiten = np.linalg.inv(root(spread)) @ self._basis[:, : self.r]
        identity = np.eye(len(spread))
        is_possible = np.isfinite(log_z)
        g = np.where(is_possible[:, None], mean, 0.0) @ whiten
        change = np.where(is_possible[:, None, None], covariance - identity, 0.0)
        dg = whiten.T @ change @ whiten
        return Posterior(log_z, g, (dg + dg.transpose(0, 2, 1)) / 2, error)

    def outcome(
        self, number: int, omega: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Probability (n,) of one of finitely many labels, and the mean (n, r) of z where it is.

        A smooth function of the prior: no step depends on the sample.
        """
        center, spread = self._in_basis(omega, V)
        sums = self._rule.outcome(number, center, spread)
        move = sums.first @ np.linalg.inv(root(spread)) @ self._basis[:, : self.r] @ V
        return sums.mass, sums.mass[:, None] * omega + move

    def mean(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Mean of the label at prior means `omega` (m, r): the Bayes-optimal prediction (m,)."""
        return self._rule.mean(*self._in_basis(omega, V))

    def most_probable(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Most probable label (m,) of a channel with finitely many."""
        which = self._rule.probabilities(*self._in_basis(omega, V)).argmax(axis=1)
        return self._rule.values[which]

    def finer(self, times: int) -> SampleChannel:
        """Channel in which every step is halved so many times."""
        return SampleChannel(self.target, resolution=times)

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and their probabilities before anything is known: all of them, or a sample."""
        if not self.target.noise and self.target.channel.kind == "discrete":
            return self._rule.values, self._rule.probabilities(
                *self._in_basis(np.zeros((1, self.r)), np.eye(self.r))
            )[0]
        k = len(self._basis)
        points = SobolSequence(k + 1, stream(0, "points", r=k, what="labels")).draw(_LABELS)
        z = ndtri(points)
        y = self._rule.expression(z[:, :k]) + np.sqrt(self.target.noise) * z[:, k]
        return y, np.full(len(y), 1 / len(y))

    def check_labels(self, y: np.ndarray) -> None:
        """Raise :class:`~gradone.BadData` if some label cannot come out of this channel."""
        y = np.asarray(y, dtype=np.float64)
        text, values = self.target.text, self._rule.values
        if self.target.noise:
            bad, allowed = ~np.isfinite(y), "finite numbers"
        elif self.target.channel.kind == "discrete":
            nearest = values[np.abs(y[:, None] - values).argmin(axis=1)]
            bad = ~(np.abs(y - nearest) <= _ROUNDING * (1 + np.abs(nearest)))
            more = f", ... ({len(values)} values)" if len(values) > _SHOWN else ""
            allowed = "the values " + ", ".join(f"{v:.6g}" for v in values[:_SHOWN]) + more
        else:
            low, high = interval(self._rule.expression.tree)
            slack = [_ROUNDING * (1 + abs(end)) for end in (low, high)]
            bad = ~((y >= low - slack[0]) & (y <= high + slack[1]) & np.isfinite(y))
            allowed = f"values between {low:g} and {high:g}"
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise BadData(
                f"the label {y[row]:g} in row {row} cannot come out of '{text}', which takes "
                f"{allowed} ({bad.sum()} such labels). Check that the labels belong to this "
                "target, and their scale, or give the target a noise > 0."
            )

    def _in_basis(self, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prior mean and covariance of the forms that the label depends on."""
        basis = self._basis[:, : self.r]
        hidden = self._basis[:, self.r :]
        omega, V = np.asarray(omega, dtype=np.float64), np.asarray(V, dtype=np.float64)
        return omega @ basis.T, basis @ V @ basis.T + hidden @ hidden.T


@lru_cache(maxsize=32)
def sample_channel(target: Target) -> SampleChannel:
    """Channel of a target for single samples."""
    return SampleChannel(target)
