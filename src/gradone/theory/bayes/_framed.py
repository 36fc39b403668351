"""State evolution of a target in as few coordinates as it needs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.target import Target
from ._fixed_points import FixedPoint, StateEvolution


class FramedEvolution:
    """State evolution in the natural frame of a target, answered in the variables as typed.

    A target that depends on few linear forms of its variables costs as much as those few; what it
    does not depend on keeps overlap zero.

    Parameters
    ----------
    target : Target
        What is observed.
    """

    def __init__(self, target: Target) -> None:
        frame = natural_frame(target.joint, target.q)
        self.target, self.rows = target, frame.rows[: len(frame.rows) - target.q, : target.r]
        self.inner = StateEvolution(Target.of(frame.expression, target.noise, latent=target.q))

    def uninformed_curve(self, alphas: Iterable[float]) -> list[FixedPoint]:
        """Fixed points from an uninformed start; each alpha goes on from the one below."""
        return self._curve(alphas, upwards=True)

    def informed_curve(self, alphas: Iterable[float]) -> list[FixedPoint]:
        """Fixed points from an informed start; each alpha goes on from the one above."""
        return self._curve(alphas, upwards=False)

    def _curve(self, alphas: Iterable[float], *, upwards: bool) -> list[FixedPoint]:
        # More data never lowers an overlap, so a neighbor is a start on the right side.
        alphas = np.asarray(list(alphas), dtype=np.float64)
        found: dict[int, FixedPoint] = {}
        before: np.ndarray | None = None
        solve = self.inner.uninformed if upwards else self.inner.informed
        for i in np.argsort(alphas if upwards else -alphas):
            found[int(i)] = solve(float(alphas[i]), before)
            before = found[int(i)].M if found[int(i)].converged else None
        return [self.typed(found[i]) for i in range(len(alphas))]

    def typed(self, point: FixedPoint) -> FixedPoint:
        """Fixed point in the variables as typed."""
        return point._replace(M=self.embed(point.M))

    def embed(self, M: np.ndarray) -> np.ndarray:
        """Matrix of the natural frame in the variables as typed."""
        return self.rows.T @ M @ self.rows

    def zero_one_error(self, point: FixedPoint) -> Estimate:
        """Probability that the most probable label is wrong at a fixed point as typed."""
        M = self.rows @ point.M @ self.rows.T
        found = self.inner.channel.label_error(M)
        # The error of M enters as it does in the mean square of the label.
        spread = point.at_error.test_mse / max(point.at.test_mse, 1e-12)
        return Estimate(found.value, found.error + spread * found.value, found.kind)
