r"""Covariances of the inputs with a few eigenvalues: what flow and engine have to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import BadData


class Covariance(NamedTuple):
    r"""Covariance :math:`\sum_k s_k P_k` of the inputs, with projectors :math:`P_k`.

    Parameters
    ----------
    eigenvalues, fractions : ndarray (K,)
        :math:`s_k`, and the part of all dimensions that has it.
    signal : list of ndarray (r, r)
        :math:`T_k = W^\star P_k W^{\star\top}`, with :math:`\sum_k s_k T_k = 1`, so that the
        projections of the inputs on the hidden directions are standard.
    """

    eigenvalues: np.ndarray
    fractions: np.ndarray
    signal: list[np.ndarray]


def read_covariance(given: Mapping[str, Any], r: int) -> Covariance:
    """A covariance from the arguments of a user, checked.

    Parameters
    ----------
    given : mapping
        ``eigenvalues`` and ``fractions``, one for each block, and ``signal``: for each block a
        number (times the identity) or an r x r matrix; by default the directions are spread evenly.
    r : int
        Number of hidden directions.

    Examples
    --------
    >>> read_covariance({"eigenvalues": [2.5, 0.5], "fractions": [0.25, 0.75]}, 1).signal
    [array([[0.25]]), array([[0.75]])]
    >>> read_covariance({"eigenvalues": [2.0, 1.0], "fractions": [0.5, 0.6]}, 1)
    Traceback (most recent call last):
    gradone.base.errors.BadData: covariance: the fractions must sum to 1, got 1.1
    """
    if not isinstance(given, Mapping):
        raise BadData(f"covariance must be {{'eigenvalues': ..., 'fractions': ...}}, got {given!r}")
    unknown = set(given) - {"eigenvalues", "fractions", "signal"}
    if unknown or not {"eigenvalues", "fractions"} <= set(given):
        raise BadData(
            "covariance needs the keys 'eigenvalues' and 'fractions' and may have 'signal', "
            f"got {sorted(map(str, given))}"
        )
    s, f = (np.array(given[key], dtype=float) for key in ("eigenvalues", "fractions"))
    if s.ndim != 1 or s.shape != f.shape or not (s > 0).all() or not (f > 0).all():
        raise BadData("covariance needs as many fractions as eigenvalues, all of them > 0")
    if abs(f.sum() - 1) > 1e-9:
        raise BadData(f"covariance: the fractions must sum to 1, got {f.sum():g}")
    signal = given.get("signal", f / (s @ f))
    matrices = [np.asarray(T, float) * (np.eye(r) if np.ndim(T) == 0 else 1.0) for T in signal]
    if len(matrices) != len(s) or any(T.shape != (r, r) for T in matrices):
        raise BadData(f"covariance: signal needs a number or an {r} x {r} matrix per block")
    for T in matrices:
        if np.linalg.eigvalsh(T)[0] < -1e-12 or np.abs(T - T.T).max() > 1e-12:
            raise BadData(
                "covariance: signal matrices must be symmetric, without negative eigenvalues"
            )
    if np.abs(sum(x * T for x, T in zip(s, matrices, strict=True)) - np.eye(r)).max() > 1e-9:
        raise BadData(
            "covariance: the sum of eigenvalues times signal must be the identity, so that the "
            "projections z of the inputs are standard"
        )
    return Covariance(s, f, matrices)
