"""Gaussian inputs with any covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import BadData
from ._law import LAWS, Law

_ROUNDING = 1e-10  # of the largest eigenvalue: a negative one that is not larger is zero


@LAWS.add("gaussian")
class Gaussian(Law):
    r"""Rows :math:`x \sim N(0, \Sigma)`; without arguments :math:`\Sigma = I`, the default law.

    Parameters
    ----------
    covariance : array (d, d), optional
        The matrix :math:`\Sigma`.
    spectrum : array (d,), optional
        The diagonal of a diagonal one.
    power_law : float, optional
        Exponent a of the diagonal :math:`\lambda_k \propto k^{-a}`, in any dimension; its trace is
        d unless another one is given.
    trace : float, optional
        Trace to which :math:`\Sigma` is scaled.
    d : int, optional
        Dimension of a power law, for theories that have to know its eigenvalues.

    Notes
    -----
    Labels are :math:`y = g(W^\star x)`: a projection has the variance that the covariance gives it.
    With :math:`A = (W^\star\Sigma W^{\star\top})^{1/2}` and whitened inputs they are those of the
    target :math:`g(Az)`, :math:`z \sim N(0, I)`.

    Examples
    --------
    >>> Gaussian(power_law=0.5).covariance(4).round(3)
    array([1.437, 1.016, 0.829, 0.718])
    >>> Gaussian(spectrum=[1.0, -1.0])
    Traceback (most recent call last):
    gradone.base.errors.BadData: the spectrum has the negative value -1; eigenvalues are >= 0
    """

    def __init__(
        self,
        *,
        covariance: Any = None,
        spectrum: Any = None,
        power_law: float | None = None,
        trace: float | None = None,
        d: int | None = None,
    ) -> None:
        given = {"covariance": covariance, "spectrum": spectrum, "power_law": power_law}
        chosen = [key for key, value in given.items() if value is not None]
        if len(chosen) > 1:
            raise BadData(f"give one of covariance, spectrum and power_law, got {chosen}")
        if trace is not None and not (_is_number(trace) and 0 < trace < np.inf):
            raise BadData(f"trace must be a finite number > 0, got {trace!r}")
        if trace is not None and not chosen:
            raise BadData("trace scales a covariance, a spectrum or a power_law: give one of them")
        if d is not None and chosen != ["power_law"]:
            raise BadData("d is for a power_law; a covariance or a spectrum has its own")
        self._values: np.ndarray | None = None
        self._trace, self._d = trace, d
        if covariance is not None:
            self._values = _matrix(covariance)
        elif spectrum is not None:
            self._values = _spectrum(spectrum)
        elif power_law is not None and not (_is_number(power_law) and np.isfinite(power_law)):
            raise BadData(f"power_law must be a finite number, got {power_law!r}")
        self._power = power_law
        self.arguments = {key: _plain(given[key]) for key in chosen}
        if trace is not None:
            self.arguments["trace"] = float(trace)
        if d is not None:
            self.arguments["d"] = int(d)
        self._root: np.ndarray | None = None

    @property
    def is_isotropic(self) -> bool:
        """Whether the covariance is the identity, by construction."""
        return not self.arguments

    @property
    def is_diagonal(self) -> bool:
        """Whether the coordinates are independent."""
        return self._values is None or self._values.ndim == 1

    @property
    def dimension(self) -> int | None:
        """The only dimension in which the law exists, or None."""
        return self._d if self._values is None else len(self._values)

    def check(self, d: int) -> None:
        """Refuse a dimension in which the law does not exist."""
        if self.dimension is not None and d != self.dimension:
            raise BadData(f"these inputs have d = {self.dimension} dimensions, got d = {d}")

    def covariance(self, d: int) -> np.ndarray:
        """Covariance of a row, as its diagonal (d,) or as a matrix (d, d)."""
        self.check(d)
        if self._values is not None:
            values, trace = self._values, self._trace
        elif self._power is not None:
            values = np.arange(1.0, d + 1) ** -float(self._power)
            trace = float(d) if self._trace is None else self._trace
        else:
            return np.ones(d)
        if trace is None:
            return values
        return values * (trace / (values.sum() if values.ndim == 1 else np.trace(values)))

    def cumulants(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis: none."""
        return np.zeros(len(W)), np.zeros(len(W))

    def draw(self, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill the rows of `out` (n, d)."""
        rng.standard_normal(out=out)
        if self.is_isotropic:
            return
        d = out.shape[1]
        if self._root is None or len(self._root) != d:
            values = self.covariance(d)
            if values.ndim == 1:
                self._root = np.sqrt(values)
            else:
                sizes, vectors = np.linalg.eigh(values)
                self._root = (vectors * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T
        if self._root.ndim == 1:
            out *= self._root
        else:
            out[...] = out @ self._root


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return np.asarray(value, np.float64).tolist()


def _floats(value: Any, what: str) -> np.ndarray:
    try:
        found = np.array(value, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if not found.size or not np.isfinite(found).all():
        raise BadData(f"{what} must be finite numbers, got {value!r}")
    return found


def _spectrum(value: Any) -> np.ndarray:
    found = _floats(value, "the spectrum")
    if found.ndim != 1:
        raise BadData(f"the spectrum must have the shape (d,), got {found.shape}")
    if (found < 0).any():
        raise BadData(f"the spectrum has the negative value {found.min():g}; eigenvalues are >= 0")
    if not found.any():
        raise BadData("the spectrum is zero everywhere: all rows would be the same")
    return found


def _matrix(value: Any) -> np.ndarray:
    found = _floats(value, "the covariance")
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise BadData(f"the covariance must have the shape (d, d), got {found.shape}")
    largest = np.abs(found).max()
    if np.abs(found - found.T).max() > _ROUNDING * largest:
        raise BadData("the covariance is not symmetric; use (C + C.T)/2 if that is rounding")
    sizes = np.linalg.eigvalsh(found)
    if sizes[0] < -_ROUNDING * sizes[-1] or sizes[-1] <= 0:
        raise BadData(
            f"the covariance has the eigenvalue {sizes[0]:.3g}; a covariance has none below 0, "
            "and one above"
        )
    return (found + found.T) / 2
