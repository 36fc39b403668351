"""Eigenvalues of the feature covariance before and after one giant step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.axes import axis_values
from ...base.curves import curve
from ...targets.activation import Activation
from ...targets.target import Target
from .._registry import THEORIES, refusal
from ._one_direction import OneDirectionTheory, one_direction
from ._one_step_readout import fields
from ._one_step_spike import Spike, activation_moments, read_activation, spike_obstacle, spike_of
from ._readout_law import ReadoutLaw, readout_law
from ._spectrum_blocks import BlockBulk
from ._spectrum_solver import Bulk
from ._swept import Swept, one_number

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "density": (r"\rho(x)", "density of the eigenvalues of the bulk"),
    "share_below": (r"P(\lambda \le x)", "share of the eigenvalues up to x"),
    "lower_edge": ("x_-", "smallest eigenvalue of the bulk, zeros apart"),
    "edge": ("x_+", "largest eigenvalue of the bulk"),
    "largest_eigenvalue": (r"\lambda_1", "largest eigenvalue"),
    "outliers": ("k", "number of eigenvalues outside the bulk"),
    "tail_index": (r"\hat\alpha", "tail index of the largest 5 % of the bulk"),
}
TAIL = 0.05
"""Share of the eigenvalues whose tail index is told."""

_OF_BULK = ("density", "share_below")
_COARSE, _FINE = 1, 2  # resolutions of the means over kappa
_SPACING = {_COARSE: 0.1, _FINE: 0.05}  # of the values that stand for a Gaussian second layer
_LARGEST = 4.0  # and the largest of them: beyond it is less than one neuron of 15,000
_GRID = 600


@THEORIES.add("feature_spectrum")
class FeatureSpectrumTheory(OneDirectionTheory):
    r"""Spectrum of the covariance of the features, before and after one giant step.

    The features are :math:`\Phi_{ik} = \sigma(\langle w_k, x_i\rangle)`, their covariance
    :math:`\Phi^\top\Phi/n`. Given the component :math:`\kappa` of the input along the spike they
    have other moments [OS-3], so the bulk is that of a sample covariance whose samples differ in
    size,

    .. math:: c\beta C_1(C_2-z)\,\tau^2 + (C_2-z+cC_1-c\beta C_1)\,\tau - 1 = 0, \qquad
              \rho(x) = \mathrm{Im}\,\tau(x+i0)/\pi                                       [FS-1]

    with :math:`C_i = \mathbb{E}[\mu_i^2/(1+\mu_1^2V_1+\mu_2^2V_2)]`. The mean of the features over
    neurons makes a large outlier close to width times :math:`\mathbb{E}\mu_0^2` [FS-2].

    A second layer of several values has blocks of neurons that the step moves and stretches by
    different amounts [FS-3], and several outliers [FS-4]. With a Gaussian one the squared norms
    :math:`c_u` of the rows have no largest value, and the bulk ends in a long tail. Its index is
    that of Hill: the inverse of the mean of :math:`\log(\lambda/x_q)` over the largest 5 % of the
    eigenvalues of the bulk, :math:`x_q` being the smallest of them.

    Parameters
    ----------
    readout_ratio : array
        Samples of the covariance, per dimension.
    batch_ratio : float or array
        Samples of the step, per dimension; ``inf`` is the population gradient.
    step_size : float or array
        s of the giant step.
    activation : str
        Activation of the student.
    width_ratio : float or array
        Width per dimension.
    width : float
        Width at which outliers are placed; the bulk does not depend on it.
    readout : {"ones", "signs", "gaussian"} or mapping
        Readout weights before the step; a mapping gives the share of each value.
    eigenvalue : array, optional
        Where density and cumulative share are wanted; 300 points over all bulks by default.

    Notes
    -----
    ``step`` is 0 before the step (random features) and 1 after it. Zero eigenvalues, of which there
    is a share 1 - n/width if width > n, count in ``share_below`` and not in ``density``. Without an
    outlier ``largest_eigenvalue`` is the edge. An activation whose slope grows without bound has a
    bulk without an end; the edge is then where the density falls below what doubles can show. So
    may that of a Gaussian second layer, whose ``edge`` is where one eigenvalue of ``width`` lies
    above. Of several values only outliers above the bulk are told.

    Errors compare two resolutions of the means over :math:`\kappa` and of the Gaussian second
    layer; that of ``share_below`` also counts what is missing in the total mass. They do not count
    that the noise of a step is not isotropic: with activations that are not odd, such as relu, and
    a Gaussian second layer the upper quantiles of the bulk of a real step are 5 to 10 % larger.

    References
    ----------
    Dandi et al. 2024, arXiv:2410.18938; Cui et al. 2024, arXiv:2402.04980.

    Examples
    --------
    The tanh saturates, so the bulk shrinks, and a large outlier appears:

    >>> import gradone as gd
    >>> found = gd.predict("sin(z)", "feature_spectrum", readout_ratio=2.0, batch_ratio=20.0,
    ...                    step_size=3.0, activation="tanh(z)", width=1000)
    >>> found.edge.values.round(3), found.largest_eigenvalue.values.round(2)
    (array([[2.093, 1.452]]), array([[  2.09, 275.64]]))
    """

    answers = tuple(LABELS)
    axes = ("readout_ratio",)
    seconds = 0.5
    numerics = 3
    regime = (
        "d, n, width and batch -> infinity in proportion; one direction; unit rows; fresh samples"
    )
    cites = ("dandi2024spectrum", "cui2024asymptotics")

    def predict(
        self,
        target: Target,
        *,
        readout_ratio: Any,
        batch_ratio: Any,
        step_size: Any,
        activation: str = "relu(z)",
        width_ratio: Any = 1.0,
        width: float = 512,
        readout: Any = "ones",
        eigenvalue: Any = None,
    ) -> xr.Dataset:
        """Density, edges and outliers before and after the step."""
        sigma, link = read_activation(activation), one_direction(target)
        if reason := spike_obstacle(link, sigma):
            raise refusal(self, target, reason)
        width = one_number("width", width)
        given = {
            "batch_ratio": (axis_values("batch_ratio", batch_ratio, infinite=True), batch_ratio),
            "step_size": (axis_values("step_size", step_size), step_size),
            "width_ratio": (axis_values("width_ratio", width_ratio), width_ratio),
        }
        grid = Swept({"readout_ratio": readout_ratio}, given)
        spectra = {
            (*place, step): Spectrum(link, sigma, point, step, width, readout)
            for place, point in grid
            for step in (0, 1)
        }
        if eigenvalue is None:
            top = 1.02 * max(one.high for one in spectra.values())
            # Closer together near zero, where the density is steep.
            positions = top * np.linspace(0.0, 1.0, 301)[1:] ** 2
        else:
            positions = axis_values("eigenvalue", eigenvalue)
        shape = (*grid.shape, 2)
        found = {
            name: np.zeros((*shape, len(positions)) if name.startswith(_OF_BULK) else shape)
            for quantity in LABELS
            for name in (quantity, f"{quantity}_err")
        }
        converged = np.ones(shape, dtype=bool)
        for place, spectrum in spectra.items():
            for name, value in spectrum.at(positions).items():
                found[name][place] = value
            converged[place] = spectrum.converged
        dims = {n: ("step", "eigenvalue") if n.startswith(_OF_BULK) else ("step",) for n in found}
        values = {name: grid.labeled(array, *dims[name]) for name, array in found.items()}
        reason = "Newton's method left the upper half plane; try other parameters"
        values["converged"] = grid.labeled(converged, "step")
        values["status"] = grid.labeled(np.where(converged, "", reason), "step")
        return curve(
            values,
            grid.coords | {"step": [0, 1], "eigenvalue": positions},
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "noise": target.noise,
                "activation": sigma.text,
                "width": width,
                "readout": readout if isinstance(readout, str) else str(dict(readout)),
            },  # fmt: skip
            labels=LABELS,
        )


class Spectrum:
    """Spectrum of one student, before the step (0) or after it (1).

    Parameters
    ----------
    target, activation : Target, Activation
        What is learned, and by what.
    point : dict
        readout_ratio, batch_ratio, step_size and width_ratio.
    step : int
        0 or 1.
    width : float
        Width at which outliers are placed.
    readout : str or mapping
        Second layer.
    """

    def __init__(
        self,
        target: Target,
        activation: Activation,
        point: dict[str, float],
        step: int,
        width: float,
        readout: Any,
    ) -> None:
        self._bulks: list[Bulk] = []
        shares = []
        for level in (_COARSE, _FINE):
            layer = _layer(readout if step else "ones", activation, level)
            spike = _spike(target, activation, layer, point, step)
            f = fields(target, activation, layer, spike, row_norms=False, level=level)
            kind = Bulk if len(layer.values) == 1 else BlockBulk
            self._bulks.append(kind(f, point["width_ratio"], point["readout_ratio"]))
            shares.append(_Shares(self._bulks[-1]))
        coarse, fine = shares
        self._shares, self.converged = fine, fine.converged
        self.low, self.high = fine.edges
        self.edge_error = fine.error + float(np.abs(np.subtract(fine.edges, coarse.edges)).max())
        if step and readout == "gaussian":
            self.high = fine.quantile(1 - 1 / width)
            self.edge_error = fine.error + abs(self.high - coarse.quantile(1 - 1 / width))
        n = width * point["readout_ratio"] / point["width_ratio"]
        self.outliers = self._bulks[-1].outliers(n, self.low, self.high)
        self.tail_index = fine.tail_index()
        self.tail_index_error = abs(self.tail_index - coarse.tail_index()) + 1e-4 * self.tail_index

    def at(self, x: np.ndarray) -> dict[str, Any]:
        """Everything that the curve holds, with errors, at positions x."""
        fine, coarse = self._bulks[-1].density(x), self._bulks[0].density(x)
        largest = max([self.high, *self.outliers])
        return {
            "density": fine,
            "density_err": np.abs(fine - coarse) + 1e-9,
            "share_below": self._shares.below(x),
            "share_below_err": np.full(x.shape, self._shares.missing + 4 / _GRID**2),
            "lower_edge": self.low,
            "lower_edge_err": self.edge_error,
            "edge": self.high,
            "edge_err": self.edge_error,
            "largest_eigenvalue": largest,
            "largest_eigenvalue_err": self.edge_error + 1e-6 * largest,
            "outliers": len(self.outliers),
            "tail_index": self.tail_index,
            "tail_index_err": self.tail_index_error,
        }


class _Shares:
    """Shares of the eigenvalues of a bulk up to each place.

    Parameters
    ----------
    bulk : Bulk
        The bulk.
    """

    def __init__(self, bulk: Bulk) -> None:
        low, high, self.error = bulk.edges()
        self.edges = (low, high)
        # Evenly spaced in the angle: square roots at both edges become smooth.
        angle = np.linspace(0, np.pi, _GRID + 1)
        half = (high - low) / 2
        self._x = low + half * (1 - np.cos(angle))
        tau, _, change = bulk.transform(self._x[1:-1])
        self.converged = bool((change < 1e-6).all())
        slope = np.zeros(_GRID + 1)
        slope[1:-1] = np.maximum(tau.imag, 0) / np.pi * half * np.sin(angle[1:-1])
        if low == 0:  # an inverse root, which is finite in the angle
            slope[0] = slope[1]
        steps = (slope[1:] + slope[:-1]) / 2 * np.diff(angle)
        self._share = bulk.zeros + np.concatenate([[0.0], np.cumsum(steps)])
        self.missing = abs(self._share[-1] - 1)

    def below(self, x: np.ndarray) -> np.ndarray:
        """Share of the eigenvalues up to x."""
        return np.interp(x, self._x, self._share)

    def quantile(self, share: float) -> float:
        """Place up to which a share of the eigenvalues lies."""
        return float(np.interp(share, self._share, self._x))

    def tail_index(self) -> float:
        """Inverse of the mean of log(x/x_q) over the largest eigenvalues."""
        start = self.quantile(1 - TAIL)
        x = np.geomspace(start, self.edges[1], 4 * _GRID)
        above = np.maximum(self._share[-1] - self.below(x), 0.0)
        return float(above[0] / np.trapezoid(above, np.log(x))) if start > 0 else np.nan


def _layer(readout: Any, activation: Activation, level: int) -> ReadoutLaw:
    """Values of the second layer; many of a Gaussian one, as every value is a piece of the bulk."""
    layer = readout_law(readout)
    if readout == "gaussian":
        count = round(_LARGEST / _SPACING[level])
        values = _SPACING[level] * np.arange(-count, count + 1)
        shares = np.exp(-values * values / 2)
        layer = ReadoutLaw(values, shares / shares.sum())
    return layer.folded() if activation.expression.parity(1) == "odd" else layer


def _spike(
    target: Target,
    activation: Activation,
    layer: ReadoutLaw,
    point: dict[str, float],
    step: int,
) -> Spike:
    if step == 0:
        return Spike(0.0, 0.0, np.ones(1), 0.0, activation_moments(activation).error)
    return spike_of(
        target, activation, layer, batch_ratio=point["batch_ratio"], step_size=point["step_size"]
    )
