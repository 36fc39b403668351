r"""Gauss-Newton steps on the directions of a smoother, accepted by a corrected score.

The smoother S is fitted anew at every B, so the derivative of its residuals
:math:`r = (I - S) Y` is that of the model minus what the smoother absorbs,

.. math:: J = (I - S)\, \Big[\frac{\partial f}{\partial z_k}(x_i)\, x_{id}\Big], \qquad
          \delta B = (J^\top J + \mu \tfrac{\operatorname{tr} J^\top J}{dk} I)^{-1} J^\top r.

A step counts as better by the leave-one-out error that also knows of the parameters in B,

.. math:: \frac1n \sum_i \Big(\frac{r_i}{1 - h_i - h^J_i}\Big)^2    [FR-2]

with h the diagonal of S and :math:`h^J` that of :math:`J (J^\top J + \mu ..)^{-1} J^\top`. Without
:math:`h^J` the error would be blind to the d k numbers that were fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .smoother import SmootherFit

_DAMPINGS = (1 / 8, 1.0, 8.0)
_FIRST_DAMPING = 0.1
_SCALE = 1.6
_MUCH = 0.05  # relative gain of a step after which the penalty is chosen anew
_ENOUGH = 1e-3  # relative gain below which two steps in a row end the refinement
_PERFECT = 1e-6


@dataclass(frozen=True)
class Refined:
    """A fit, and its corrected score."""

    fit: SmootherFit
    score: float


class _Steps:
    """Gauss-Newton steps from one fit, for any damping."""

    def __init__(self, fit: SmootherFit) -> None:
        rows, self.fit = fit.rows, fit
        gradients = fit.gradients()
        n, k, q = gradients.shape
        d = rows.X.shape[1]
        blocks = []
        for output in range(q):
            J = (rows.X[:, :, None] * gradients[:, None, :, output]).reshape(n, d * k)
            blocks.append(fit.unexplained(rows.centered(J)))
        gram = sum(block.T @ block for block in blocks)
        inner = sum(block.T @ fit.residuals[:, output] for output, block in enumerate(blocks))
        self._values, axes = np.linalg.eigh(gram)
        self._values = np.maximum(self._values, 0.0)
        self._unit = self._values.mean()
        self._inner, self._axes = axes.T @ inner, axes
        self._turned = np.stack([(block @ axes) ** 2 for block in blocks])

    def step(self, damping: float) -> np.ndarray:
        """Change of B."""
        delta = self._axes @ (self._inner / (self._values + damping * self._unit + 1e-300))
        return delta.reshape(self.fit.B.shape)

    def leverage(self, damping: float) -> np.ndarray:
        """Of B on the predictions (n, q)."""
        return (self._turned @ (1 / (self._values + damping * self._unit + 1e-300))).T


def refined(fit: SmootherFit, iterations: int, *, hopeless: float = np.inf) -> Refined:
    """The fit after at most that many Gauss-Newton steps.

    Parameters
    ----------
    fit : SmootherFit
        Where to start.
    iterations : int
        Largest number of steps.
    hopeless : float
        Score above which a fit is given up after two steps.
    """
    damping = smallest = _FIRST_DAMPING
    steps = _Steps(fit)
    best = Refined(fit, fit.score(steps.leverage(smallest)))
    weak = 0
    for iteration in range(iterations):
        if iteration == 2 and best.score > hopeless:
            break
        trials = []
        for factor in _DAMPINGS:
            # Small steps at large damping must not look as if B had cost nothing: the leverage is
            # that of the smallest damping that was ever used.
            least = min(smallest, damping * factor)
            trial = fit.at(fit.B + steps.step(damping * factor), penalty=fit.penalty)
            trials.append((trial.score(steps.leverage(least), hat=fit.hat), factor, least, trial))
        anew = iteration % 3 == 2
        if anew:
            for scale in (_SCALE, 1 / _SCALE):
                trial = fit.at(fit.B * scale, penalty=fit.penalty)
                score = trial.score(steps.leverage(smallest), hat=trial.leveraged().hat)
                trials.append((score, 1.0, smallest, trial))
        score, factor, least, trial = min(trials, key=lambda t: t[0])
        if not score < best.score:
            if damping >= 8 * _FIRST_DAMPING:
                break
            damping *= 8
            continue
        damping = float(np.clip(damping * factor, 1e-5, 1e3))
        # The penalty that suits a fit changes little as long as the fit does.
        anew |= score < (1 - _MUCH) * best.score
        fit, smallest = trial.complete() if anew else trial.leveraged(), least
        steps = _Steps(fit)
        score = fit.score(steps.leverage(smallest))
        if not (anew or score < best.score):
            steps = _Steps(fit.complete())
            score = fit.score(steps.leverage(smallest))
        gain = 1 - score / best.score
        if score < best.score:
            best = Refined(fit, score)
        weak = weak + 1 if gain < _ENOUGH else 0
        if weak == 2 or best.score < _PERFECT:
            break
    return best
