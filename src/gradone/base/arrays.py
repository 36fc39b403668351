"""Arrays of any library: NumPy, and whatever speaks the array API (torch, CuPy)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from .errors import BadData
from .units import check_range

Labels = Literal["follow", "exact", "any"]


def array_namespace(x: Any) -> Any:
    """Namespace of the functions that act on `x`; NumPy for arrays, lists and numbers.

    Examples
    --------
    >>> array_namespace([1.0, 2.0]).__name__
    'numpy'
    """
    if isinstance(x, np.ndarray | np.generic | list | tuple | int | float):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(x)


def as_floats(x: Any) -> tuple[Any, Any]:
    """Namespace of `x`, and `x` as an array of floats (float32 stays, integers become float64).

    Examples
    --------
    >>> xp, x = as_floats([[1, 2]])
    >>> x.dtype
    dtype('float64')
    """
    xp = array_namespace(x)
    if xp is np:
        x = np.asarray(x)
        if x.dtype not in (np.float32, np.float64):
            x = x.astype(np.float64)
        return xp, x
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float64)
    return xp, x


def to_numpy(x: Any) -> np.ndarray:
    """Array of any library as a NumPy array.

    Examples
    --------
    >>> to_numpy([1.0]).shape
    (1,)
    """
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):  # torch
        x = x.detach().cpu()
    try:
        return np.from_dlpack(x)
    except (AttributeError, TypeError, BufferError, RuntimeError):
        return np.asarray(x)


def like(x: Any, values: np.ndarray, *, dtype: Any = None) -> Any:
    """NumPy values as an array of the library and device of `x`, of its dtype unless told.

    Examples
    --------
    >>> like(np.zeros(1, np.float32), np.array([0.5])).dtype
    dtype('float32')
    """
    xp, dtype = array_namespace(x), x.dtype if dtype is None else dtype
    if xp is np:
        return values.astype(dtype, copy=False)
    import array_api_compat

    # A copy: torch refuses values that run backwards through memory.
    return xp.asarray(values.copy(), dtype=dtype, device=array_api_compat.device(x))


def apply_elementwise(function: Any, x: Any) -> Any:
    """Apply a NumPy ufunc to an array of any library and return an array of that library."""
    xp = array_namespace(x)
    if xp is np:
        return function(x)
    return like(x, np.asarray(function(to_numpy(x))))


def check_fit(
    learner: Any,
    X: Any,
    y: Any,
    *,
    labels: Labels = "follow",
    min_samples: int = 2,
    reset: bool = True,
    multi_output: bool = False,
    fixed_units: str = "",
) -> tuple[Any, Any, Any]:
    """Training data of a learner, checked: the namespace of X, then X (n, d) and y (n,).

    NumPy arrays, lists and data frames go through scikit-learn's validation; arrays of other
    libraries are checked where they are, and y is brought to the library and device of X. Sets
    ``n_features_in_`` (and ``feature_names_in_``, where X has names).

    Parameters
    ----------
    learner : estimator
        The scikit-learn estimator that is being fitted.
    X : array-like (n, d)
        Inputs; float32 stays, other numbers become float64.
    y : array-like (n,)
        Labels.
    labels : {"follow", "exact", "any"}
        Labels are numbers in the dtype of X; numbers in their own precision (for learners that
        compare them with the values of a channel); or anything, text included (then y is a NumPy
        array).
    min_samples : int
        Smallest number of rows that the learner can use.
    reset : bool
        False for more data of a fitted learner: library and features must be those of the first.
    multi_output : bool
        Whether y may also be (n, k), several labels for each row.
    fixed_units : str
        Which of "X" and "y" the learner uses as they are ("Xy" for both); it brings the others to
        unit size itself, so that any size in the range of floats will do.
    """
    if not reset:
        _check_namespace(learner, X, "partial_fit")
    if not _is_foreign(X):
        from sklearn.utils.validation import validate_data

        y = to_numpy(y) if _is_foreign(y) else y
        X, y = in_our_words(
            lambda: validate_data(
                learner,
                X,
                y,
                dtype=[np.float64, np.float32],
                multi_output=multi_output,
                ensure_min_samples=min_samples,
                reset=reset,
            )
        )
        y = _check_labels(learner, y, X.shape[0], labels, multi_output)
        learner._namespace = np.__name__
        _check_ranges(learner, X, y, fixed_units)
        return np, X, y.astype(X.dtype, copy=False) if labels == "follow" else y
    xp, X = _check_in_place(learner, X, min_samples)
    if reset:
        learner.n_features_in_ = int(X.shape[1])
        vars(learner).pop("feature_names_in_", None)
    else:
        _check_features(learner, X)
    learner._namespace = xp.__name__
    y = to_numpy(y) if _is_foreign(y) else np.asarray(y)
    y = _check_labels(learner, y, X.shape[0], labels, multi_output)
    _check_ranges(learner, to_numpy(X), y, fixed_units)
    if labels == "any":
        return xp, X, y
    return xp, X, like(X, y, dtype=None if labels == "follow" else xp.float64)


def check_new(learner: Any, X: Any, *, method: str = "predict") -> tuple[Any, Any]:
    """New inputs of a fitted learner, checked: their namespace and X (n, d).

    Parameters
    ----------
    learner : estimator
        A fitted estimator that was given its data by :func:`check_fit`.
    X : array-like (n, d)
        Inputs, of the same library as those that the learner was fitted with.
    method : str
        The method that was called, for the text of an error.
    """
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(learner)
    if _check_namespace(learner, X, method) == np.__name__:
        return np, in_our_words(
            lambda: validate_data(learner, X, dtype=[np.float64, np.float32], reset=False)
        )
    xp, X = _check_in_place(learner, X, 1)
    _check_features(learner, X)
    return xp, X


def _check_namespace(learner: Any, X: Any, method: str) -> str:
    """Name of the library of new inputs, which must be that of the training data."""
    name: str = array_namespace(X).__name__ if _is_foreign(X) else np.__name__
    if name != learner._namespace:
        raise BadData(
            f"Inputs passed to {type(learner).__name__}.{method}() must use the same namespace as "
            f"those of fit: the learner was fitted with arrays of {learner._namespace}, these are "
            f"of {name}. Convert them, or fit again."
        )
    return name


def _check_features(learner: Any, X: Any) -> None:
    if X.shape[1] != learner.n_features_in_:
        raise BadData(
            f"X has {X.shape[1]} features, but {type(learner).__name__} is expecting "
            f"{learner.n_features_in_} features as input."
        )


def _is_foreign(x: Any) -> bool:
    """Whether an array belongs to another library than NumPy."""
    if isinstance(x, np.ndarray | np.generic | list | tuple):
        return False
    import array_api_compat

    return bool(array_api_compat.is_array_api_obj(x))


def _check_in_place(learner: Any, X: Any, min_samples: int) -> tuple[Any, Any]:
    """What scikit-learn checks of an array, in the array's own library."""
    name = type(learner).__name__
    if X.ndim != 2:
        raise BadData(
            f"{name} needs X of shape (n, d), got an array with {X.ndim} dimensions. Reshape your "
            "data: one row for each sample."
        )
    xp = array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise BadData(f"Complex data not supported: {name} needs real numbers in X")
    if X.shape[0] < min_samples or X.shape[1] < 1:
        raise BadData(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) while a minimum "
            f"of {min_samples} sample(s) and 1 feature(s) is required by {name}."
        )
    if not xp.isdtype(X.dtype, (xp.float32, xp.float64)):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise BadData(f"Input X of {name} contains NaN or infinity. Remove or fill these rows.")
    return xp, X


def _check_labels(
    learner: Any, y: np.ndarray, n: int, labels: Labels, multi_output: bool
) -> np.ndarray:
    """Labels, checked: in float64 where they must be numbers, or are and come as objects."""
    name = type(learner).__name__
    if y.ndim not in ((1, 2) if multi_output else (1,)) or y.shape[0] != n:
        raise BadData(f"{name} needs one label for each of the {n} rows of X, got shape {y.shape}")
    if labels != "any":
        try:
            y = y.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise BadData(f"{name} needs numbers as labels, got {y.dtype}") from None
    elif y.dtype.kind == "O":
        y = _plain_labels(y, name)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise BadData(f"Input y of {name} contains NaN or infinity. Remove these rows.")
    return y


def _plain_labels(y: np.ndarray, name: str) -> np.ndarray:
    """Labels that are Python objects, as numbers or as text."""
    kinds = {type(label) for label in y.ravel().tolist()}
    if kinds <= {str, np.str_}:
        return y.astype(str)
    try:
        if any(issubclass(kind, str | bytes) for kind in kinds):
            raise TypeError
        return y.astype(np.float64)  # as objects they would be classes, one for each row
    except (TypeError, ValueError, OverflowError):
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise BadData(
            f"Unknown label type: {name} needs numbers or text in y, got {shown}"
        ) from None


def _check_ranges(learner: Any, X: np.ndarray, y: np.ndarray, fixed_units: str) -> None:
    name = type(learner).__name__
    check_range(X, f"X of {name}", dtype=X.dtype, fixed_units="X" in fixed_units)
    if y.dtype.kind == "f":
        check_range(y, f"y of {name}", dtype=X.dtype)  # predictions have the precision of X
        if "y" in fixed_units:
            check_range(y, f"y of {name}", dtype=y.dtype, fixed_units=True)


class _BadType(BadData, TypeError):
    """Data of a type that cannot be used; scikit-learn expects a TypeError."""


_T = TypeVar("_T")


def in_our_words(check: Callable[[], _T]) -> _T:
    """What a check of scikit-learn returns; what it refuses is bad data."""
    try:
        with np.errstate(all="ignore"):  # it sums to find infinities
            return check()
    except TypeError as error:
        raise _BadType(str(error)) from None
    except (ValueError, OverflowError) as error:
        raise BadData(str(error)) from None
