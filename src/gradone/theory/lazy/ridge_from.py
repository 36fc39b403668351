"""Penalties of papers and libraries, converted to the one meaning of ``ridge``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...base.errors import BadData, did_you_mean
from .._inputs import nonnegative, positive


@dataclass(frozen=True)
class Convention:
    """One way to write a penalty.

    Parameters
    ----------
    objective : str
        What is minimized, with L for the penalty that the source quotes.
    formula : str
        The same penalty in the convention of this package.
    needs : tuple of str
        Sizes that the conversion needs.
    convert : callable
        Penalty, n and width to ridge.
    """

    objective: str
    formula: str
    needs: tuple[str, ...]
    convert: Callable[[float, float, float], float]


PENALTIES = MappingProxyType(
    {
        "mean_half": Convention(
            "(1/2n) sum (y - <a,phi>/sqrt(p))^2 + L |a|^2",
            "2 n L",
            ("n",),
            lambda penalty, n, width: 2 * n * penalty,
        ),
        "mean_half_unscaled": Convention(
            "(1/2n) sum (y - <a,phi>)^2 + L |a|^2",
            "2 n L / p",
            ("n", "width"),
            lambda penalty, n, width: 2 * n * penalty / width,
        ),
        "mean_per_width": Convention(
            "(1/n) sum (y - <a,phi>/sqrt(p))^2 + (L/p) |a|^2",
            "n L / p",
            ("n", "width"),
            lambda penalty, n, width: n * penalty / width,
        ),
        "mean": Convention(
            "(1/n) sum (y - <a,phi>/sqrt(p))^2 + L |a|^2",
            "n L",
            ("n",),
            lambda penalty, n, width: n * penalty,
        ),
        "unscaled": Convention(
            "sum loss(y, <w,phi>) + (L/2) |w|^2, without 1/sqrt(p)",
            "L / p",
            ("width",),
            lambda penalty, n, width: penalty / width,
        ),
        "kernel": Convention(
            "(K + L I)^-1 y with K = lim phi phi^T / p",
            "L",
            (),
            lambda penalty, n, width: penalty,
        ),
        "kernel_mean": Convention(
            "(K + L n I)^-1 y with K = lim phi phi^T / p",
            "n L",
            ("n",),
            lambda penalty, n, width: n * penalty,
        ),
        "sklearn_ridge": Convention(
            "scikit-learn Ridge(alpha=L) on the columns phi/sqrt(p)",
            "L",
            (),
            lambda penalty, n, width: penalty,
        ),
        "sklearn_C": Convention(
            "scikit-learn LogisticRegression(C=L) or LinearSVC(C=L, loss='hinge') on phi/sqrt(p)",
            "1 / L",
            (),
            lambda penalty, n, width: 1 / positive("C", penalty),
        ),
        "exponent": Convention(
            "scaling laws: penalty n^-L of the mean over the samples",
            "n^(1 - L)",
            ("n",),
            lambda penalty, n, width: n ** (1 - penalty),
        ),
    }
)
"""Known conventions by name."""


def ridge_from(convention: str, penalty: float, *, n: Any = None, width: Any = None) -> float:
    r"""Penalty of a paper or a library in the convention of this package.

    Everywhere in gradone ``ridge`` is the :math:`\lambda` of

    .. math:: \min_a \sum_{i=1}^n \big(y_i - \langle a, \varphi_i\rangle/\sqrt p\big)^2
              + \lambda\,|a|^2, \qquad
              \min_a \sum_{i=1}^n \ell\big(y_i, \langle a, \varphi_i\rangle/\sqrt p\big)
              + \frac\lambda2\,|a|^2                                             [PN-1]

    for the square loss, and for the logistic, hinge and Huber losses.

    Parameters
    ----------
    convention : str
        How the source writes its objective: see the table below.
    penalty : float
        The number L that the source quotes.
    n, width : int, optional
        Samples and number p of features, where the conversion needs them.

    Returns
    -------
    float
        The value to pass as ``ridge``.

    Notes
    -----
    ========================  ==================================================  ===========
    convention                objective                                           ridge
    ========================  ==================================================  ===========
    ``"mean_half"``           (1/2n) sum (y - <a,phi>/sqrt p)^2 + L \|a\|^2       2 n L
    ``"mean_half_unscaled"``  (1/2n) sum (y - <a,phi>)^2 + L \|a\|^2              2 n L / p
    ``"mean_per_width"``      (1/n) sum (y - <a,phi>/sqrt p)^2 + (L/p) \|a\|^2    n L / p
    ``"mean"``                (1/n) sum (y - <a,phi>/sqrt p)^2 + L \|a\|^2        n L
    ``"unscaled"``            sum loss(y, <w,phi>) + (L/2) \|w\|^2                L / p
    ``"kernel"``              (K + L I)^-1 y                                      L
    ``"kernel_mean"``         (K + L n I)^-1 y                                    n L
    ``"sklearn_ridge"``       ``Ridge(alpha=L)`` on phi/sqrt p                    L
    ``"sklearn_C"``           ``LogisticRegression(C=L)``, ``LinearSVC(C=L)``     1 / L
    ``"exponent"``            penalty n^-L of a mean over samples                 n^(1 - L)
    ========================  ==================================================  ===========

    scikit-learn's estimators fit an intercept unless told otherwise.

    Examples
    --------
    >>> ridge_from("mean_half", 1e-3, n=500)
    1.0
    >>> ridge_from("sklearn_C", 10.0)
    0.1
    >>> ridge_from("mean_per_width", 0.1, n=200)
    Traceback (most recent call last):
    gradone.base.errors.BadData: the convention 'mean_per_width' needs width: ...
    """
    if convention not in PENALTIES:
        raise BadData(
            f"unknown convention {convention!r}. Known: {', '.join(PENALTIES)}."
            f"{did_you_mean(str(convention), PENALTIES)}"
        )
    chosen = PENALTIES[convention]
    number = nonnegative("penalty", penalty)
    sizes = {"n": n, "width": width}
    if missing := [name for name in chosen.needs if sizes[name] is None]:
        raise BadData(
            f"the convention '{convention}' needs {' and '.join(missing)}: in it ridge is "
            f"{chosen.formula}, the objective {chosen.objective}"
        )
    given = {name: positive(name, sizes[name]) for name in chosen.needs}
    return chosen.convert(number, given.get("n", 1.0), given.get("width", 1.0))  # [PN-1]
