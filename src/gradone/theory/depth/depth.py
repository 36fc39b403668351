"""The advantage of depth: errors of lazy, two-layer, three-layer and deep learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...analysis.depth.exponents import LEARNERS, DepthLearner
from ...analysis.depth.plateaus import plateau
from ...base.curves import curve
from ...base.errors import BadData, NotConverged, OutOfRegime
from ...targets.hierarchical import HierarchicalTarget
from ...targets.sampled import whole_number
from .._registry import THEORIES, Theory
from ._labels import Draws, Score, draw_labels

if TYPE_CHECKING:
    import xarray as xr

    from .first_stage import Stage

_MOST_SAMPLES = 1e9
_NAMES = {
    "lazy": "kernels, random features",
    "two_layer": "two layers",
    "three_layer": "three layers",
    "deep": "one layer per level",
}
LABELS = {
    f"{learner}_excess_mse": (r"\mathbb{E}(g - \hat f)^2", f"error without label noise: {words}")
    for learner, words in _NAMES.items()
} | {"overlap2": ("M_W^2", "mean squared overlap of a first-layer row with the hidden directions")}


@THEORIES.add("depth")
class DepthTheory(Theory):
    r"""Errors against log n / log d: why three layers need fewer samples than two.

    .. math::
        \text{lazy:}\;\; \|P_{>\kappa}\,g\|^2, \qquad
        \text{two layers:}\;\; \|P_{>\kappa/\epsilon}\,g\|^2, \qquad
        \text{three:}\;\; \mathbb{E}\,\mathrm{Var}(g(h) \mid \text{the part of } h
        \text{ of degree} \le \kappa/\epsilon), \qquad \kappa > 1 + \epsilon              [DT-9]

    in the limit of large d, by the plateaus [DE-4] to [DE-7]. With `d` the errors at this
    dimension instead, and what the first layer finds: [DT-1] to [DT-6].

    Parameters
    ----------
    kappa : array
        :math:`\log n/\log d`; 0 is allowed.
    d : int, optional
        Dimension of the curve; the limit if it is not given.
    score, method, select, whitened : optional
        The first stage at finite d, as of :func:`gradone.theory.first_stage`.
    networks : sequence of {"lazy", "two_layer", "three_layer", "deep"}
        Which errors to compute; all by default. At finite d there is none of ``"deep"``.

    Notes
    -----
    ``lazy_excess_mse``, ``two_layer_excess_mse`` and ``three_layer_excess_mse``; in the limit also
    ``deep_excess_mse``, of a network with a layer for each level of the target; with `d` also
    ``overlap2``, and the lazy learner is the quadratic kernel with its best penalty. At finite d
    three layers are those of one preconditioned step from zero second-layer weights, which sees
    the sum of several branches only. Errors ``q_err`` are those of the numbers. Against
    simulations at d = 64 to 256 overlaps are right to 0.01, the kernel to 0.01, two layers to
    0.04, three layers to 0.035.

    References
    ----------
    Dandi et al. 2025, arXiv:2502.13961; Nichani, Damian & Lee 2023, arXiv:2305.06986.

    Examples
    --------
    >>> import gradone as gd
    >>> t = gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5)
    >>> found = gd.predict(t, "depth", kappa=[1.4, 1.6, 2.1])
    >>> found.three_layer_excess_mse.values.round(4), found.two_layer_excess_mse.values.round(4)
    (array([0.6939, 0.    , 0.    ]), array([0.6939, 0.1318, 0.1318]))
    >>> found = gd.predict(t, "depth", kappa=[1.8, 2.2], d=64)
    >>> found.overlap2.values.round(2)
    array([0.78, 0.96])
    """

    answers = tuple(LABELS)
    axes = ("kappa",)
    may_be_zero = ("kappa",)
    seconds = 0.5
    regime = "d -> infinity with n = d^kappa away from the thresholds; with d also finite d, n >> d"
    cites = ("dandi2025depth", "nichani2023three")
    kinds = (HierarchicalTarget,)

    def obstacle(self, target: HierarchicalTarget) -> str | None:
        """Why the theory does not cover a target, or None."""
        return None

    def predict(
        self,
        target: HierarchicalTarget,
        *,
        kappa: Any,
        d: int | None = None,
        score: Score = "gauss",
        method: Literal["spectral", "power"] = "spectral",
        select: Literal["edge", "size"] = "edge",
        whitened: bool = False,
        networks: Sequence[DepthLearner] = LEARNERS,
    ) -> xr.Dataset:
        """Errors at each kappa."""
        params: dict[str, Any] = {"noise": target.noise}
        if not networks or not set(networks) <= set(LEARNERS):
            raise BadData(f"networks are some of {', '.join(LEARNERS)}, got {networks!r}")
        if d is None:
            if (score, method, select, whitened) != ("gauss", "spectral", "edge", False):
                raise BadData(
                    "score, method, select and whitened have a meaning at finite d only: give d"
                )
            values = _limits(target, kappa, networks)
        else:
            from .first_stage import checked_stage

            d = whole_number("d", d, least=4)
            stage = checked_stage(score, method, select, whitened)
            params |= {"d": d, **stage._asdict()}
            values = _finite(target, kappa, d, stage, networks)
        return curve(
            {name: ("kappa", array) for name, array in values.items()},
            {"kappa": kappa},
            source=f"theory:{self.name}",
            target=target.text,
            params=params,
            labels=LABELS,
        )


def _limits(
    target: HierarchicalTarget, kappa: np.ndarray, networks: Sequence[DepthLearner]
) -> dict[str, np.ndarray]:
    """Plateaus of some networks, [DE-4] to [DE-7]: [DT-9]."""
    values = {}
    for learner in networks:
        found = [plateau(target, float(k), learner) for k in kappa]
        values[f"{learner}_excess_mse"] = np.array([e.value for e in found])
        values[f"{learner}_excess_mse_err"] = np.array([e.error for e in found])
    return values


def _finite(
    target: HierarchicalTarget,
    kappa: np.ndarray,
    d: int,
    stage: Stage,
    networks: Sequence[DepthLearner],
) -> dict[str, np.ndarray]:
    """Overlap and errors at dimension d."""
    samples = np.maximum(np.rint(d**kappa), 2)
    if samples.max() > _MOST_SAMPLES:
        raise OutOfRegime(
            f"n = d^kappa = {samples.max():.1e} is beyond the finite-size theory, which goes to "
            f"{_MOST_SAMPLES:g}; leave d out for the limit of large d"
        )
    from ._errors import label_levels

    learn = bool(set(networks) - {"lazy"})
    draws = draw_labels(target, d) if learn else None
    levels = label_levels(target, d) if "lazy" in networks else None
    names = [f"{name}_excess_mse" for name in LEARNERS if name in networks and name != "deep"]
    names = ["overlap2", *names] if learn else names
    values = {f"{name}{end}": np.full(len(kappa), np.nan) for name in names for end in ("", "_err")}
    converged, status = np.ones(len(kappa), dtype=bool), np.full(len(kappa), "", dtype=object)
    for i, n in enumerate(samples.astype(int)):
        try:
            found = _at(target, draws, levels, d, int(n), stage)
        except NotConverged as error:
            converged[i], status[i] = False, str(error)
            continue
        for name in names:
            values[name][i], values[f"{name}_err"][i] = found[name]
    return values | {"converged": converged, "status": status.astype(str)}


def _at(
    target: HierarchicalTarget,
    draws: Draws | None,
    levels: np.ndarray | None,
    d: int,
    n: int,
    stage: Stage,
) -> dict[str, tuple[float, float]]:
    """Overlap, errors of the kernel, of two and of three layers, each with its error."""
    from ._errors import errors_from_overlaps, quadratic_kernel_error
    from .first_stage import stage_from_draws

    found = {}
    if levels is not None:
        found["lazy_excess_mse"] = quadratic_kernel_error(levels, d, n, noise=target.noise)
    if draws is None:
        return found
    first = stage_from_draws(draws, d, n, stage)
    cosine2 = np.empty(int(draws.sizes.sum()))
    for group, value in zip(draws.groups, first.cosine2, strict=True):
        cosine2[group] = min(value, 1.0)
    layers = errors_from_overlaps(target, d, n, cosine2)
    return found | {
        "overlap2": (first.overlap2.value, first.overlap2.error),
        "two_layer_excess_mse": layers.two_layer,
        "three_layer_excess_mse": layers.three_layer,
    }
