"""What a user should hear about a table before it is learned from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.errors import BadData, number_of
from .rows import Rows

FEW_ROWS = 20
_SHOWN = 5
_PERFECT = 1e-10  # share of the variance of a label that a single column leaves


def refuse_text(X: Any, owner: str) -> None:
    """Raise if a data frame has columns that are not numbers, and name them."""
    names, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is None or dtypes is None:
        return
    kinds = [getattr(dtype, "kind", None) for dtype in dtypes]
    # Object columns may hold numbers: those are left to scikit-learn, which tries to convert them.
    text = [
        name
        for name, kind, dtype in zip(names, kinds, dtypes, strict=True)
        if kind == "M" or str(dtype) in ("category", "str", "string") or _holds_text(X, name, kind)
    ]
    if text:
        raise BadData(
            f"{owner} needs numbers, and in X these columns hold text, categories or dates: "
            f"{_listed(text)}. Encode them first, for example with "
            "sklearn.preprocessing.OneHotEncoder."
        )


def _holds_text(X: Any, name: Any, kind: str | None) -> bool:
    if kind != "O":
        return False
    column = X[name]
    return any(isinstance(value, str) for value in np.asarray(column, dtype=object).ravel()[:1000])


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) if isinstance(name, str) else str(name) for name in names[:_SHOWN])
    return shown + (", ..." if len(names) > _SHOWN else "")


def warn_of_few_rows(n: int, owner: str) -> None:
    """Warn if there are too few rows to look for directions."""
    if n < FEW_ROWS:
        warnings.warn(
            f"{owner} fits ridge regression alone to {number_of(n, 'row')}: it takes at "
            f"least {FEW_ROWS} different rows to look for directions",
            UserWarning,
            stacklevel=4,
        )


def warn_of_columns(rows: Rows, names: Sequence[Any], owner: str) -> None:
    """Warn of columns that repeat each other, and of a column that is the label itself.

    Parameters
    ----------
    rows : Rows
        Standardized rows.
    names : sequence
        Names of the columns.
    owner : str
        Name of the learner.
    """
    correlations = (rows.X * rows.weights[:, None]).T @ rows.X / rows.weights.sum()
    pairs = np.argwhere(np.triu(np.abs(correlations) > 1 - 1e-12, 1)).tolist()
    if pairs:
        shown = "; ".join(f"{names[i]} and {names[j]}" for i, j in pairs[:_SHOWN])
        warnings.warn(
            f"{owner}: these columns of X are equal up to scale: {shown}"
            f"{'; ...' if len(pairs) > _SHOWN else ''}. What depends on one is "
            "shared between both. Leave one of them out",
            UserWarning,
            stacklevel=4,
        )
    shares = ((rows.X * rows.weights[:, None]).T @ rows.Y / rows.weights.sum()) ** 2
    leaks = np.flatnonzero((shares > 1 - _PERFECT).any(axis=1)).tolist()
    if leaks and len(rows) >= FEW_ROWS:
        warnings.warn(
            f"{owner}: column {_listed([names[c] for c in leaks])} of X is a linear function of "
            "the target (R² = 1): the target leaks into it. Leave it out, unless this is meant",
            UserWarning,
            stacklevel=4,
        )
