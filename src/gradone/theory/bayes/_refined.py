"""Averages by rules that become finer, and what they leave unresolved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._state_evolution import Averages

# Of a refinement by one or by two rules: they are not trusted to converge faster.
_LEAST_GAIN = {1: 0.02, 2: 0.05}
CHANNEL_ERROR = 2.0  # in units of what the last finer channel adds on few prior means


class Refined(NamedTuple):
    """Averages at one overlap matrix by rules over prior means that become finer."""

    rules: tuple[Averages, ...]
    """From the coarsest to the finest rule."""
    finer: Averages
    """What finer channels add."""
    doubt: Averages
    """What the last of them adds."""
    lost: tuple[float, float] = (0.0, 0.0)
    """What the finer channel may lack of J(M) as well: a share, and a multiple of the identity."""
    power: int = 1
    """Of the gain of a refinement that the next one gains at least."""

    def left(self, *levels: np.ndarray) -> np.ndarray:
        """Error of something by the finest rule, from its values by all rules."""
        return left_by_rules(*levels, power=self.power)

    @property
    def best(self) -> Averages:
        """By the finest rule, with what finer channels add."""
        return self.rules[-1].plus(self.finer)

    @property
    def before(self) -> Averages:
        """The same without the last of the finer channels."""
        return self.best.plus(self.doubt, -1.0)


def left_by_rules(*levels: np.ndarray, power: int) -> np.ndarray:
    r"""Error of the finest of three rules, or of five nested ones, with steps that shrink.

    By the square root of two from one to the next. The error of the trapezoidal rule of step h
    falls like :math:`\exp(-c/h^2)`: a refinement gains the square of what the one before gained.
    Where an integrand has features on several scales it gains as much as the one before at least.
    Of nested rules, two in a row may share their error, that along the axes or that along the
    diagonals: two refinements are taken for one, which gains as much as the two before.

    Examples
    --------
    >>> left_by_rules(*np.array([[1.1], [0.2], [0.1]]), power=2).round(3).tolist()
    [0.002]
    >>> left_by_rules(*np.array([[1.1], [1.0], [0.3], [0.1], [0.1]]), power=1).round(3).tolist()
    [0.04]
    """
    *coarser, fine = levels
    half = len(coarser) // 2
    changes = np.abs(np.array(coarser) - fine)
    before, last = float(changes[:half].max(initial=0.0)), changes[half:].max(axis=0)
    ratio = float(last.max(initial=0.0)) / before if before else 1.0
    return last * min(max(ratio**power, _LEAST_GAIN[half]), 1.0)


def scalar_errors(at: Refined) -> np.ndarray:
    """Errors of the mean of log Z and of the error of labels where they were computed."""
    levels = np.array([averages[1:] for averages in at.rules])
    by_rules = [at.left(*column) for column in levels.T[:, :, None]]
    return np.concatenate(by_rules) + CHANNEL_ERROR * np.abs(at.doubt[1:])
