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
from ._smeared import line_rule, reach
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
}
_OF_BULK = ("density", "share_below")
_COARSE, _FINE = 1, 2  # resolutions of the means over kappa
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

    Parameters
    ----------
    readout_ratio : array
        Samples of the covariance, per dimension.
    batch_ratio : float or array
        Samples of the step, per dimension; ``inf`` is the population gradient.
    step_size : float or array
        s of the giant step; all initial readout weights are one.
    activation : str
        Activation of the student.
    width_ratio : float or array
        Width per dimension.
    width : float
        Width at which outliers are placed; the bulk does not depend on it.
    eigenvalue : array, optional
        Where density and cumulative share are wanted; 300 points over all bulks by default.

    Notes
    -----
    ``step`` is 0 before the step (random features) and 1 after it. Zero eigenvalues, of which there
    is a share 1 - n/width if width > n, count in ``share_below`` and not in ``density``. Without an
    outlier ``largest_eigenvalue`` is the edge. An activation whose slope grows without bound has a
    bulk without an end; the edge is then where the density falls below what doubles can show.
    Errors compare two resolutions of the means over :math:`\kappa`; that of ``share_below`` also
    counts what is missing in the total mass.

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
    numerics = 2
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
            (*place, step): Spectrum(link, sigma, point, step, width)
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
        values = {name: grid.labelled(array, *dims[name]) for name, array in found.items()}
        reason = "Newton's method left the upper half plane; try other parameters"
        values["converged"] = grid.labelled(converged, "step")
        values["status"] = grid.labelled(np.where(converged, "", reason), "step")
        return curve(
            values,
            grid.coords | {"step": [0, 1], "eigenvalue": positions},
            source=f"theory:{self.name}",
            target=target.text,
            params={"noise": target.noise, "activation": sigma.text, "width": width},
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
    """

    def __init__(
        self,
        target: Target,
        activation: Activation,
        point: dict[str, float],
        step: int,
        width: float,
    ) -> None:
        layer = readout_law("ones")
        spike = _spike(target, activation, layer, point, step)
        self._bulks = []
        for level in (_COARSE, _FINE):
            f = fields(target, activation, layer, spike, row_norms=False, level=level)
            self._bulks.append(Bulk(f, point["width_ratio"], point["readout_ratio"]))
        coarse, fine = (bulk.edges() for bulk in self._bulks)
        self.low, self.high = fine[:2]
        self.edge_error = fine[2] + max(abs(fine[0] - coarse[0]), abs(fine[1] - coarse[1]))
        radius = max(reach(target.regression), reach(activation.expression))
        kappa, _ = line_rule(_FINE, radius)
        n = width * point["readout_ratio"] / point["width_ratio"]
        self.outliers = self._bulks[-1].outliers(kappa, n, self.low, self.high)
        # Evenly spaced in the angle: square roots at both edges become smooth.
        angle = np.linspace(0, np.pi, _GRID + 1)
        half = (self.high - self.low) / 2
        self._x = self.low + half * (1 - np.cos(angle))
        tau, _, change = self._bulks[-1].transform(self._x[1:-1])
        self.converged = bool((change < 1e-6).all())
        slope = np.zeros(_GRID + 1)
        slope[1:-1] = np.maximum(tau.imag, 0) / np.pi * half * np.sin(angle[1:-1])
        if self.low == 0:  # an inverse root, which is finite in the angle
            slope[0] = slope[1]
        steps = (slope[1:] + slope[:-1]) / 2 * np.diff(angle)
        self._share = np.concatenate([[0.0], np.cumsum(steps)])
        self._zeros = self._bulks[-1].zeros
        self._missing = abs(self._share[-1] + self._zeros - 1)

    def at(self, x: np.ndarray) -> dict[str, Any]:
        """Everything that the curve holds, with errors, at positions x."""
        fine, coarse = self._bulks[-1].density(x), self._bulks[0].density(x)
        largest = max([self.high, *self.outliers])
        return {
            "density": fine,
            "density_err": np.abs(fine - coarse) + 1e-9,
            "share_below": self._zeros + np.interp(x, self._x, self._share),
            "share_below_err": np.full(x.shape, self._missing + 4 / _GRID**2),
            "lower_edge": self.low,
            "lower_edge_err": self.edge_error,
            "edge": self.high,
            "edge_err": self.edge_error,
            "largest_eigenvalue": largest,
            "largest_eigenvalue_err": self.edge_error + 1e-6 * largest,
            "outliers": len(self.outliers),
        }


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
