"""What layers of filters find: directions, plain and corrected, and features made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...base.errors import BadData, OutOfRegime
from ...targets.hierarchical import HierarchicalTarget, QuadraticForms
from ...targets.sampled import whole_number
from .._registry import THEORIES, Theory
from ._labels import draw_labels
from .filter_layers import drawn_levels, second_level_share

if TYPE_CHECKING:
    import xarray as xr

_MOST_SAMPLES = 1e8
LABELS = {
    "plain_overlap2": ("q_0^2", "mean squared overlap of the directions, without the correction"),
    "overlap2": ("q^2", "mean squared overlap of the directions, after the correction"),
    "residual_share": ("v", "share of the label that is not explained after the first layer"),
    "feature_overlap2": (
        "q_h^2",
        "share of the second level that filters of exact directions show",
    ),
}


@THEORIES.add("neural_lofi")
class NeuralLoFiTheory(Theory):
    r"""Directions that the first layer of filters finds, and features that the second one does.

    Taking what is explained off the labels and putting its exact mean back leaves the mean of the
    label-weighted covariance and the noise of the rest alone, as if there were more samples,

    .. math:: q^2 = 1 - \frac{n_c}{n}\,v, \qquad
              v = \frac{\mathbb{E}(y - f)^2}{\mathrm{Var}\,y},                           [NL-5]

    and v is the error of two layers [DT-6] that see directions of this overlap: iterated from the
    plain overlaps, with what :math:`n_c/n` of these is at finite d by [DT-1]. The second layer has
    the outliers [NL-6] of :math:`\mathbb{E}[t\,\psi\psi^\top]`, or the first order [NL-7]; the
    share of its features that the better of them shows is known for exact directions.
    :func:`gradone.theory.filter_layers` tells for each feature and layer the edges, the outlier,
    the overlap and the samples from which it is found.

    Parameters
    ----------
    kappa : array
        :math:`\log n/\log d`.
    d : int
        Dimension.
    rounds : int
        Rounds of the correction.

    Notes
    -----
    Nothing here is proven. *Derived*: the plain overlaps, and the second level above exact
    directions, by deterministic equivalents that agree with simulations (see the page).
    *Heuristic*: [NL-5], since the fits of later rounds have indirectly seen the rows that they are
    applied to, and since the fit is a polynomial here and random ramps in the learner.
    *Conjectured*: that a correction does not change the exponents of levels above the first, and
    that directions of overlap near 1 serve the second layer as well as exact ones. Errors ``q_err``
    are those of the numbers.
    At d = 64, n = d^1.8 the overlaps of `Sight` are 0.81, 0.886 after one round and 0.913 after
    three, and measured ones 0.80, 0.889 and 0.938: ramps explain more than polynomials of degree 3.

    References
    ----------
    dandi2026lofi, dandi2025depth

    Examples
    --------
    >>> import gradone as gd
    >>> t = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> found = gd.predict(t, "neural_lofi", kappa=2.0, d=64)
    >>> round(found.plain_overlap2.item(), 2), round(found.overlap2.item(), 2)
    (0.92, 0.97)
    """

    answers = tuple(LABELS)
    axes = ("kappa",)
    numerics = 3
    seconds = 2.0
    regime = "finite d and n >> d; inputs Gaussian; directions, and features of the second level"
    cites = ("dandi2026lofi", "dandi2025depth")
    kinds = (HierarchicalTarget,)

    def obstacle(self, target: HierarchicalTarget) -> str | None:
        """Why the theory does not cover a target, or None."""
        if isinstance(target, QuadraticForms):
            return "quadratic forms use every direction, so there is no first layer to learn"
        return None

    def predict(
        self, target: HierarchicalTarget, *, kappa: Any, d: int = 64, rounds: int = 5
    ) -> xr.Dataset:
        """Overlaps at each kappa."""
        d, rounds = whole_number("d", d, least=4), whole_number("rounds", rounds, least=0)
        samples = np.rint(d**kappa)
        if samples.max() > _MOST_SAMPLES:
            raise OutOfRegime(
                f"n = d^kappa = {samples.max():.1e} is beyond the finite-size theory, which goes "
                f"to {_MOST_SAMPLES:g}"
            )
        if samples.min() <= d:
            raise BadData(f"inputs are whitened, which needs more than d = {d} samples: kappa > 1")
        draws, levels = draw_labels(target, d), drawn_levels(target, d)
        found = []
        for n in map(int, samples):
            share = second_level_share(*levels, n)
            found.append([*_at(target, draws, d, n, rounds), (share.value, share.error)])
        values: dict[str, Any] = {}
        for i, name in enumerate(LABELS):
            values[name] = ("kappa", np.array([row[i][0] for row in found]))
            values[f"{name}_err"] = ("kappa", np.array([row[i][1] for row in found]))
        return curve(
            values,
            {"kappa": kappa},
            source=f"theory:{self.name}",
            target=target.text,
            params={"noise": target.noise, "d": d, "rounds": rounds},
            labels=LABELS,
        )


def _at(
    target: HierarchicalTarget, draws: Any, d: int, n: int, rounds: int
) -> list[tuple[float, float]]:
    """Plain overlap, corrected overlap and the share that is left, with their errors."""
    from ._errors import errors_from_overlaps
    from .first_stage import checked_stage, stage_from_draws

    plain = stage_from_draws(draws, d, n, checked_stage("gauss", "spectral", "edge", True))
    variance, sizes = float(np.var(draws.y)), draws.sizes
    cosine2 = np.minimum(plain.cosine2, 1.0)
    share, error = 1.0, 0.0
    for number in range(rounds + 1):
        directions = np.empty(int(sizes.sum()))
        for group, value in zip(draws.groups, cosine2, strict=True):
            directions[group] = value
        left, spread = errors_from_overlaps(target, d, n, directions).two_layer
        share, error = min((left + target.noise) / variance, 1.0), spread / variance
        if number < rounds:
            cosine2 = 1 - (1 - np.minimum(plain.cosine2, 1.0)) * share  # [NL-5]
    before = plain.overlap2
    return [
        (before.value, before.error),
        (float(cosine2 @ sizes / sizes.sum()), before.error + (1 - before.value) * error),
        (share, error),
    ]
