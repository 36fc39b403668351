r"""Averages over labels of a target in other coordinates than its own.

With a target whose coordinates are forms B z of the directions z, and of others of which nothing is
known, prior means :math:`\omega` of z are prior means :math:`B\omega`:

.. math:: J_z(M) = B^\top J(B M B^\top)\,B. \qquad [LA-1]

Latent variables are such others: nothing is ever known of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.target import Target
from ..rules import channel_averages
from .boxes import Boxes
from .general import ChannelAverages
from .moments import AverageRule, Averages, Combine


class Embedded:
    """Averages of the directions z, from those of a target of the forms B z.

    Parameters
    ----------
    inner : AverageRule
        Averages of that target.
    rows : array (k, r)
        The forms B.
    """

    def __init__(self, inner: AverageRule, rows: np.ndarray) -> None:
        self._inner, self._rows = inner, rows

    def at(self, M: np.ndarray, *, coarse: bool = False) -> Averages:
        """Averages at the overlap matrix `M`."""
        return self._of_z(self._inner.at(self._forms(M), coarse=coarse))

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` with all corrections, and what each source of error changes in them."""
        best, sources = self._inner.estimate(self._forms(M))
        return self._of_z(best), [self._of_z(source) for source in sources]

    def pairs(self, M: np.ndarray, combine: Combine, **choice: Any) -> np.ndarray:
        """Means of products of entries of a matrix made of g and H, (r, r, r, r)."""
        found, B = self._inner.pairs(self._forms(M), combine, **choice), self._rows
        return np.asarray(np.einsum("abcd,ai,bj,ck,dl->ijkl", found, B, B, B, B, optimize=True))

    def label_error(self, M: np.ndarray) -> Estimate:
        """Probability that the most probable value of a discrete label is wrong."""
        return self._inner.label_error(self._forms(M))

    def _forms(self, M: np.ndarray) -> np.ndarray:
        return self._rows @ M @ self._rows.T

    def _of_z(self, found: Averages) -> Averages:
        return found._replace(information=self._rows.T @ found.information @ self._rows)


class JointAverages(Embedded):
    r"""Averages of targets with latent noise, which are targets of r + q directions.

    Parameters
    ----------
    target : Target
        Target with latent noise, of up to four variables.

    Examples
    --------
    Probit labels without prior knowledge: :math:`J = 2/(\pi (1 + D))`.

    >>> channel = JointAverages(Target("sign(z + sqrt(0.5)*xi)"))
    >>> round(float(channel.at(np.zeros((1, 1))).information[0, 0] * np.pi), 6)
    1.333333
    """

    @staticmethod
    def covers(target: Target) -> bool:
        """Whether there is latent noise that must be, or may well be, a direction."""
        is_averaged_out = ChannelAverages.covers(target)
        return not is_averaged_out or (target.q > 0 and Boxes.covers(_joint(target)[0]))

    def __init__(self, target: Target) -> None:
        joint, rows = _joint(target)
        super().__init__(channel_averages(joint), rows[:, : target.r])


def _joint(target: Target) -> tuple[Target, np.ndarray]:
    """Target of all variables in as few coordinates as it needs, and these as rows."""
    framed = natural_frame(target.joint)
    return Target.of(framed.expression, target.noise), framed.rows
