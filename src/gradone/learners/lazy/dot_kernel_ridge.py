"""Ridge regression with the kernels of infinitely wide random features and networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from ...base.arrays import array_namespace, check_fit, check_new, like, to_numpy
from ...base.cost import Cost, Need
from ...base.errors import BadData, did_you_mean
from ...base.memory import require_memory
from ...base.units import units
from ...targets.activation import Activation
from ...targets.sampled import whole_number
from .._registry import LEARNERS
from .._standardize import chunk_rows, row_blocks, standardization
from ._dot_kernels import DotKernel, PolynomialKernel, Rows, closed_kernel
from ._frozen_features import check_number
from ._hermite_kernel import HermiteKernel
from ._ridge_system import RidgeSystem
from ._validation import held_out_rows, ridge_candidates

KERNELS = ("readout", "ntk", "polynomial")
_PER_DECADE = 2


@LEARNERS.add("dot_kernel_ridge")
class DotKernelRidge(RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression in the limit of infinite width.

    .. math:: f(x) = \sum_i \alpha_i K(x, x_i) + a_0, \qquad \alpha = (K + \lambda I)^{-1} y, \qquad
              K(x, x') = \mathbb{E}_{w, b}[\sigma(u)\,\sigma(u')]     [KR-1]

    with :math:`u = \langle w, x\rangle + b`, :math:`w \sim N(0, I/d)`: the limit of
    :class:`RandomFeatures` with the same ridge.

    Parameters
    ----------
    kernel : {"readout", "ntk", "polynomial"}
        The kernel of random features [KR-1]; the tangent kernel of the two-layer network, to which
        :math:`\mathbb{E}[uu']\,\mathbb{E}[\sigma'(u)\sigma'(u')]` is added; or
        :math:`\sum_j v_j (\langle x, x'\rangle/d + \beta^2)^j`.
    activation : str
        :math:`\sigma`, a function of ``z``. ``relu``, ``abs``, ``step``, ``sign``, ``erf(z)`` and
        ``erf(z/sqrt(2))`` have closed forms; others are summed by their Hermite series.
    ridge : float or None
        :math:`\lambda`, without a factor n; 0 is the limit of a vanishing ridge. None: chosen by
        the square error on a fifth of the rows, then all rows are fitted.
    coefficients : sequence of float
        :math:`v_0, v_1, \ldots` of the polynomial kernel, not negative.
    bias_scale : float
        :math:`\beta`, standard deviation of the Gaussian biases b.
    degree : int
        Last term of the Hermite series; what is left off acts as a ridge.
    fit_intercept : bool
        Whether the constant :math:`a_0`, which is not penalized, is fitted or 0.
    standardize : bool
        Centre and scale the columns of X, so that u has variance near 1. False: the numbers are
        used as they are.
    chunk_size : int, optional
        Rows of the kernel that are made at a time; chosen by size if None.
    random_state : int, numpy.random.Generator or None
        Of the rows that choose the ridge.

    Attributes
    ----------
    dual_coef_ : array (n,) or (n, k)
        :math:`\alpha`; one column for each output if y has columns.
    intercept_ : float or array (k,)
        :math:`a_0`.
    inputs_ : array (n, d)
        Training inputs, centred and scaled.
    ridge_ : float
        The ridge that was used.
    train_mse_ : float
        Mean square error on the training rows, averaged over the outputs.
    series_tail_ : float
        Largest share of :math:`K(x, x)` that the Hermite series leaves off; 0 for closed forms. The
        kernel of two inputs of correlation t is off by at most this share of their sizes times
        :math:`|t|^{degree + 1}`.
    mean_, scale_ : array (d,)
        Centre and scale of the inputs; 0 and 1 without standardization.

    Notes
    -----
    It learns no direction: with n of order :math:`d^k` samples the polynomials up to degree k are
    learned, of those only the degrees that the kernel contains.

    Cost: 2 n^2 d operations for the covariances, one pass of the kernel's function over n^2/2
    numbers (one for each term of a series), and one Cholesky factor, n^3/3; one
    eigendecomposition for all values of `fit_path`. The n x n kernel is held, in double precision
    whatever X is, with one copy: for more samples than that allows take :class:`RandomFeatures`.
    Predictions make blocks of the kernel and hold none.

    References
    ----------
    ghorbani2019linearized, mei2021hyper

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1 + He2(z2)/2").sample(n=600, d=10, seed=0)
    >>> learner = DotKernelRidge(activation="relu(z)", ridge=0.01).fit(s.X, s.y)
    >>> fresh = gd.Target("z1 + He2(z2)/2").sample(n=600, d=10, seed=0, role="test")
    >>> bool(learner.score(fresh.X, fresh.y) > 0.9)
    True
    """

    cites = ("ghorbani2019linearized", "mei2021hyper")
    cost = Cost(
        "2 n^2 d + n^3/3 operations, and n^2 numbers of memory",
        lambda s: (
            s.n * (s.n + s.test_samples) * (2 * s.d + 1e3) + s.n**3 / 3
        ),  # an entry counts as a thousand
        lambda s: [
            Need(24 * s.n * (s.n + s.test_samples) + 2**25, f"the kernel of {s.n} samples", "n")
        ],
    )

    def __init__(
        self,
        kernel: str = "readout",
        *,
        activation: str = "relu(z)",
        ridge: float | None = 1.0,
        coefficients: Sequence[float] = (1.0, 1.0, 1.0),
        bias_scale: float = 0.0,
        degree: int = 40,
        fit_intercept: bool = True,
        standardize: bool = True,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.kernel = kernel
        self.activation = activation
        self.ridge = ridge
        self.coefficients = coefficients
        self.bias_scale = bias_scale
        self.degree = degree
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.chunk_size = chunk_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> DotKernelRidge:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,) or (n, k)
            Labels, numbers.

        Returns
        -------
        DotKernelRidge
            Itself.
        """
        X, labels, unit = self._checked(X, y)
        gram = self._begin(X)
        ridge = self.ridge
        if ridge is None:
            ridge = self._chosen_ridge(gram, labels)
        self._store(X, ridge, unit, *self._solutions(gram, labels, [ridge])[0])
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Inputs, labels in units of theirs, and the units: the fit is linear in the labels."""
        fixed = "" if self.standardize else "X"
        _, X, y = check_fit(self, X, y, labels="exact", multi_output=True, fixed_units=fixed)
        unit = units(to_numpy(y))
        return X, to_numpy(y) / unit, unit

    def fit_path(self, X: Any, y: Any, ridge: Sequence[float]) -> list[DotKernelRidge]:
        """Learners for many values of the ridge, from one decomposition.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,) or (n, k)
            Labels, numbers.
        ridge : sequence of float
            Values that take the place of the parameter.

        Returns
        -------
        list of DotKernelRidge
            Fitted, one for each value; this one is left as it is.
        """
        ridges = [float(value) for value in ridge]
        learners = [clone(self).set_params(ridge=value) for value in ridges]
        if not learners:
            raise BadData("fit_path needs at least one value of the ridge")
        for learner in learners:
            learner._kernel()
        first = learners[0]
        X, labels, unit = first._checked(X, y)
        gram = first._begin(X)
        common = {k: v for k, v in vars(first).items() if k not in first.get_params(deep=False)}
        solutions = first._solutions(gram, labels, ridges)
        for learner, value, solution in zip(learners, ridges, solutions, strict=True):
            vars(learner).update(common)
            learner._store(X, value, unit, *solution)
        return learners

    def predict(self, X: Any) -> Any:
        """Labels of new inputs, (n,) or (n, k) as those of the fit.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        alpha = to_numpy(self.dual_coef_)
        out = np.empty((X.shape[0], *alpha.shape[1:]))
        for part, values in self._across(to_numpy(X)):
            out[part] = values @ alpha
        return like(X, out + to_numpy(self.intercept_))

    def kernel_matrix(self, X: Any) -> Any:
        """Kernel (m, n) of new inputs with the training inputs.

        Parameters
        ----------
        X : array-like (m, d)
            Inputs.
        """
        _, X = check_new(self, X, method="kernel_matrix")
        return like(X, np.concatenate([values for _, values in self._across(to_numpy(X))]))

    # ---- the kernel

    def _kernel(self) -> DotKernel:
        """The kernel of the parameters, which are checked."""
        if self.kernel not in KERNELS:
            raise BadData(
                f"kernel must be one of {', '.join(map(repr, KERNELS))}, got {self.kernel!r}."
                f"{did_you_mean(str(self.kernel), KERNELS)}"
            )
        for name in ("fit_intercept", "standardize"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise BadData(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)
        if self.ridge is not None:
            check_number("ridge", self.ridge, zero=True)
        check_number("bias_scale", self.bias_scale, zero=True)
        if self.kernel == "polynomial":
            for value in self.coefficients:
                check_number("coefficients", value, zero=True)
            return PolynomialKernel(tuple(map(float, self.coefficients)))
        activation, tangent = Activation(self.activation), self.kernel == "ntk"
        degree = whole_number("degree", self.degree)
        return closed_kernel(activation, tangent=tangent) or HermiteKernel(
            activation, degree, tangent
        )

    def _inputs(self, X: np.ndarray) -> np.ndarray:
        """Rows as the kernel sees them."""
        return (X - to_numpy(self.mean_)) / to_numpy(self.scale_) if self.standardize else X

    def _covariances(self, left: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
        """Covariances of preactivations (a, b), or the variances (a,) of one set of rows."""
        d, offset = left.shape[1], float(self.bias_scale) ** 2
        if right is None:
            return np.einsum("ij,ij->i", left, left) / d + offset
        covariances: np.ndarray = left @ right.T
        covariances /= d
        covariances += offset
        return covariances

    def _across(self, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of a block, and their kernel with the training inputs."""
        kernel, known = self._kernel(), to_numpy(self.inputs_).astype(np.float64, copy=False)
        for part in row_blocks(len(X), self._block_rows(len(known))):
            inputs = self._inputs(X[part]).astype(np.float64, copy=False)
            facts = kernel.rows(self._covariances(inputs))
            yield part, kernel(self._covariances(inputs, known), facts, self._rows)

    def _block_rows(self, columns: int) -> int:
        return self.chunk_size or chunk_rows(columns)

    def _begin(self, X: Any) -> np.ndarray:
        """Keep the inputs; their kernel (n, n)."""
        kernel, rows = self._kernel(), to_numpy(X)
        n, d = rows.shape
        require_memory(
            3 * 8 * n * n,
            f"the {n} x {n} kernel of {n} samples, with a copy,",
            "Use fewer samples, or RandomFeatures.",
        )
        mean, scale = np.zeros(d), np.ones(d)
        if self.standardize:
            columns = standardization(rows, owner=type(self).__name__, rows=self.chunk_size)
            mean, scale = columns.mean, np.where(columns.scale > 0, columns.scale, 1.0)
        self.mean_, self.scale_ = like(X, mean), like(X, scale)
        inputs = self._inputs(rows)
        self.inputs_ = like(X, inputs)
        inputs = inputs.astype(np.float64, copy=False)
        facts: Rows = kernel.rows(self._covariances(inputs))
        self._rows = facts
        self.series_tail_ = kernel.tail(facts) if isinstance(kernel, HermiteKernel) else 0.0
        gram = np.empty((n, n))
        for part in row_blocks(n, self._block_rows(n)):
            rest = slice(part.start, n)
            covariances = self._covariances(inputs[part], inputs[rest])
            block = kernel(covariances, facts.part(part), facts.part(rest))
            gram[part, rest] = block
            gram[rest, part] = block.T
        np.fill_diagonal(gram, facts.diagonal)
        return gram

    # ---- the fit

    def _solutions(
        self, gram: np.ndarray, y: np.ndarray, ridges: Sequence[float]
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Coefficients, constants and training errors for every value of the ridge."""
        labels = y.reshape(len(y), -1)
        center, means = np.zeros(labels.shape[1]), np.zeros(len(y))
        if self.fit_intercept:
            # With a free constant the coefficients sum to zero: the kernel may be centred.
            center, means = labels.mean(axis=0), gram.mean(axis=0)
            gram = gram - means - means[:, None] + means.mean()
        system = RidgeSystem(gram, labels - center)
        found = []
        for ridge, alpha in zip(ridges, system.solutions(ridges), strict=True):
            errors = ridge * alpha if ridge > system.rounding else system.residuals(alpha)
            constants = (center - means @ alpha).reshape(y.shape[1:])
            found.append((alpha.reshape(y.shape), constants, np.mean(errors**2, axis=0)))
        return found

    def _chosen_ridge(self, gram: np.ndarray, y: np.ndarray) -> float:
        """The ridge with the smallest square error on rows that were held out."""
        used, fresh = held_out_rows(len(y), np.random.default_rng(self.random_state))
        ridges = ridge_candidates(float(gram.diagonal().mean()), per_decade=_PER_DECADE)
        across = gram[np.ix_(fresh, used)]
        errors = [
            float(np.mean((y[fresh] - across @ alpha - constants) ** 2))
            for alpha, constants, _ in self._solutions(gram[np.ix_(used, used)], y[used], ridges)
        ]
        return ridges[int(np.argmin(errors))]

    def _store(
        self,
        X: Any,
        ridge: float,
        unit: np.ndarray,
        alpha: np.ndarray,
        constants: np.ndarray,
        mse: np.ndarray,
    ) -> None:
        double = array_namespace(X).float64
        with np.errstate(over="ignore"):  # a square that floats cannot hold is infinite
            self.ridge_, self.train_mse_ = ridge, float(np.mean(mse * unit * unit))
        alpha, constants = alpha * unit, constants * unit
        self.dual_coef_ = like(X, alpha, dtype=double)
        single = constants.ndim == 0
        self.intercept_ = float(constants) if single else like(X, constants, dtype=double)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.target_tags.multi_output = True
        return tags
