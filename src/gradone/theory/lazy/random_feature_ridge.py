"""Ridge regression on random features of any spectrum, without a limit of the dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.axes import axis_values
from ...base.errors import BadData
from .._inputs import like_vector, nonnegative, spectrum_values
from ._deterministic_equivalents import Spectrum, equivalents, with_errors
from ._points import Point, points_curve

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "bias": (r"\mathcal{B}", "excess error without label noise"),
    "variance": (r"\mathcal{V}", "excess error caused by label noise"),
    "nu1": (r"\nu_1", "effective penalty of the samples"),
    "nu2": (r"\nu_2", "effective penalty of samples and features"),
    "upsilon": (r"\Upsilon", "share of the samples that is used up"),
    "chi": (r"\chi", "fluctuation of the features"),
}


def random_feature_ridge(
    *,
    eigenvalues: Any,
    coefficients: Any,
    n: Any,
    width: Any,
    ridge: Any,
    noise: float = 0.0,
    multiplicities: Any = None,
) -> xr.Dataset:
    r"""Deterministic equivalents of random-feature ridge regression.

    The features are :math:`h(x, w) = \sum_k\sqrt{\eta_k}\,\psi_k(x)\varphi_k(w)` with orthonormal
    functions of the input and of the weights, the target is :math:`\sum_k b_k\psi_k(x)`, and the
    predictor is :math:`\langle a, h\rangle/\sqrt p` with ``ridge`` times :math:`|a|^2`. The
    excess error is

    .. math:: \frac{\nu_2^2}{1-\Upsilon}\langle b, (1+\chi S)(S+\nu_2)^{-2}b\rangle
              + \frac{\Upsilon}{1-\Upsilon}\,\sigma^2, \qquad
              \nu_2\Big(1-\frac{T_1}{n}\Big)\Big(1-\frac{T_1}{p}\Big) = \frac{\lambda}{n}

    with S = diag(:math:`\eta`) and :math:`T_1 = \mathrm{Tr}\,S(S+\nu_2)^{-1}` (tags [DF-1] to
    [DF-4]; the page on the lazy regime has the rest).

    Parameters
    ----------
    eigenvalues : array (k,)
        :math:`\eta_k \ge 0`, in any order. The target's part at eigenvalue zero is never learned.
    coefficients : array (k,)
        :math:`b_k`, of every member of the level.
    n : number or array
        Samples.
    width : number or array
        Features p; ``inf`` is kernel ridge regression.
    ridge : number or array
        Penalty; 0 is the limit of a vanishing one.
    noise : float
        Variance of the label noise.
    multiplicities : array (k,), optional
        Number of members of each level, 1 by default.

    Returns
    -------
    xarray.Dataset
        ``excess_mse`` = ``bias`` + ``variance``, ``test_mse``, ``train_mse``, ``nu1``, ``nu2``,
        ``upsilon`` and ``chi`` over (n, width, ridge). Infinite where n = width and ridge = 0.

    Notes
    -----
    Errors are those of the solver. The formulas are not a limit but bounds with a relative error
    that vanishes like an inverse power of n and of the width, for features that concentrate.
    Infinite power laws come from :func:`power_law`.

    References
    ----------
    Defilippis, Loureiro and Misiakiewicz 2024, arXiv:2405.15699.

    Examples
    --------
    >>> import gradone as gd
    >>> levels = gd.theory.power_law(capacity=1.5, source=0.4, terms=4000)
    >>> found = gd.theory.random_feature_ridge(
    ...     **levels, n=300, width=[200, 2000], ridge=0.01, noise=0.1)
    >>> found.excess_mse.values.ravel().round(4)
    array([0.1645, 0.0764])
    """
    eta = spectrum_values(eigenvalues)
    b = like_vector("coefficients", coefficients, "eigenvalues", len(eta))
    members = (
        np.ones_like(eta)
        if multiplicities is None
        else like_vector("multiplicities", multiplicities, "eigenvalues", len(eta))
    )
    if not (members > 0).all():
        place = int(np.flatnonzero(members <= 0)[0])
        raise BadData(f"multiplicities must be > 0, got {members[place]:g} at position {place}")
    spectrum = Spectrum(eta, b**2, members)
    noise = nonnegative("noise", noise, what="a variance")

    def point(n: float, width: float, ridge: float) -> Point:
        return Point(
            with_errors(*equivalents(spectrum, n=n, width=width, ridge=ridge, noise=noise))
        )

    return points_curve(
        point,
        {
            "n": axis_values("n", n),
            "width": axis_values("width", width, infinite=True),
            "ridge": axis_values("ridge", ridge, zero=True),
        },
        source="theory:random_feature_ridge",
        target=f"coefficients in {len(eta)} levels",
        params={"noise": noise},
        answers=("excess_mse", "test_mse", "train_mse", *LABELS),
        labels=LABELS,
    )
