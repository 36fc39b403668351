r"""Random features of the rows of a table: the covariance of the features themselves.

A fit of squares to frozen features :math:`\varphi` knows the inputs by second moments only, the
covariance of the features and their covariance with the labels [LC-1]. Of a table both are
averages over its rows; the covariance of the *inputs* would do for the linear part of a target
alone, because products of real columns are correlated with the columns themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import OutOfRegime
from ...base.seeds import stream
from ...targets.activation import Activation
from ...targets.inputs.rows import Rows
from ...targets.on_inputs import OnInputs
from ._covariate_fits import SquareFit
from .learning_curve import moments_of_table

_DRAWS = 4  # of the first layer
_ROWS = 4  # of the table for each feature; with fewer the moments fit themselves
STATED = 0.1  # measured on digits: targets on principal axes, tanh and relu, width 2 d and 8 d
NOTE = (
    "The moments are those of the rows of the table, and its features are not Gaussian: the stated "
    "error is ten percent and the spread of the first layer."
)
_NAMES = {
    "test_mse": "test_mse",
    "excess_mse": "excess_mse",
    "train_mse": "train_mse",
    "train_loss": "train_mse",
    "effective_ridge": "nu2",
}


def rows_points(
    target: OnInputs,
    sigma: Activation,
    alpha: np.ndarray,
    width_ratio: np.ndarray,
    ridge: np.ndarray,
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Values by name over (alpha, width_ratio, ridge), for columns that are standardized.

    Parameters
    ----------
    target : OnInputs
        On rows of a table, along principal axes.
    sigma : Activation
        Of the features.
    alpha, width_ratio, ridge : ndarray
        n/d, width/d and the penalty.
    """
    law = target.inputs
    assert isinstance(law, Rows)
    X, d = law.whitened, law.d
    y = np.asarray(target.target.mean(X @ target.rows(d).T), np.float64)
    found = np.empty((_DRAWS, len(_NAMES), len(alpha), len(width_ratio), len(ridge)))
    for j, ratio in enumerate(width_ratio):
        width = _width(ratio, len(X), d)
        for draw in range(_DRAWS):
            rng = stream(0, "init", theory="random_features", width=width, replicate=draw)
            W = rng.standard_normal((d, width)) / np.sqrt(d)
            features = np.asarray(sigma(X @ W)) / np.sqrt(width)
            fit = SquareFit(moments_of_table(features, y), target.noise)
            for i, k in np.ndindex(len(alpha), len(ridge)):
                point: dict[str, Any] = dict(
                    fit(n=float(alpha[i]) * d, ridge=float(ridge[k])).quantities
                )
                found[draw, :, i, j, k] = [point[name][0] for name in _NAMES.values()]
    values: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, draws in zip(_NAMES, np.swapaxes(found, 0, 1), strict=True):
        mean = draws.mean(axis=0)
        spread = np.abs(draws - mean).max(axis=0)
        values |= {name: ((), mean), f"{name}_err": ((), STATED * np.abs(mean) + spread)}
    return values


def _width(ratio: float, rows: int, d: int) -> int:
    if ratio * d > rows / _ROWS:
        raise OutOfRegime(
            f"the table has {rows} rows, enough for the covariance of {rows // _ROWS} features: "
            f"width_ratio is at most {rows / _ROWS / d:.3g} here, got {ratio:g}. The limit of a "
            "Gaussian kernel is gd.theory.anisotropic_ridge(..., length=...)"
        )
    return max(1, round(ratio * d))
