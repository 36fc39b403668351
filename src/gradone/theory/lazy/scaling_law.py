r"""How fast random-feature ridge regression learns: power laws in the number of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.axes import axis_values
from ...base.curves import curve
from ...base.errors import BadData
from .._inputs import nonnegative, positive
from .power_law import power_exponents

if TYPE_CHECKING:
    import xarray as xr

REGIMES = ("limited by the ridge", "limited by the width", "limited by the samples")


@dataclass(frozen=True)
class ScalingLaw:
    r"""Rates of random-feature ridge regression, :math:`E \sim n^{-\mathrm{rate}}`.

    Parameters
    ----------
    capacity, source, ridge_exponent, width_exponent, noise : float
        What was asked, see :func:`scaling_law`; the best ridge exponent if none was given.
    rate : float
        Exponent of the excess error, the smaller of those of its parts that are present.
    bias_rate, variance_rate : float
        Exponents of the error without noise and of the error caused by it.
    regime : str
        What sets the number of directions that are learned.
    best_ridge_exponent, best_rate : float
        The best that can be done at this width.
    optimal_ridge_exponent, optimal_rate, minimal_width_exponent : float
        The best that can be done at any width, and the smallest width that attains it.
    """

    capacity: float
    source: float
    ridge_exponent: float
    width_exponent: float
    noise: float
    rate: float
    bias_rate: float
    variance_rate: float
    regime: str
    best_ridge_exponent: float
    best_rate: float
    optimal_ridge_exponent: float
    optimal_rate: float
    minimal_width_exponent: float

    def summary(self) -> str:
        """One page of text."""
        part = "bias" if self.bias_rate <= self.variance_rate or not self.noise else "variance"
        rows = [
            ("excess error", f"n^-{self.rate:.4g}, {self.regime}, mostly {part}"),
            ("bias", f"n^-{self.bias_rate:.4g}"),
            ("variance", f"n^-{self.variance_rate:.4g}" if self.noise else "none: no label noise"),
            (
                "best at this width",
                f"n^-{self.best_rate:.4g} with ridge n^(1 - {self.best_ridge_exponent:.4g})",
            ),
            (
                "best at any width",
                f"n^-{self.optimal_rate:.4g} with ridge n^(1 - {self.optimal_ridge_exponent:.4g}) "
                f"from width n^{self.minimal_width_exponent:.4g}",
            ),
        ]
        head = (
            f"capacity {self.capacity:g}, source {self.source:g}, "
            f"ridge n^(1 - {self.ridge_exponent:.4g}), width n^{self.width_exponent:.4g}"
        )
        return "\n".join([head, *(f"  {name:20}{text}" for name, text in rows)])


def scaling_law(
    *,
    capacity: float,
    source: float,
    ridge_exponent: float | Literal["best"] = "best",
    width_exponent: float = math.inf,
    noise: float = 0.0,
) -> ScalingLaw:
    r"""Rates of random-feature ridge regression on power-law data.

    With :math:`\eta_k = k^{-a}`, :math:`b_k = k^{-ar-1/2}` ([PL-1]), :math:`p = n^q` features and
    the penalty :math:`\lambda = n^{1-l}`, the excess error falls like :math:`n^{-\gamma}`,

    .. math:: \gamma_\mathrm{bias} = \min\big(2au\min(r, 1),\ (2a\min(r, \tfrac12)-1)\,u + q\big),
              \quad \gamma_\mathrm{var} = 1 - u, \quad u = \min(l/a, q, 1)              [SL-1]

    and :math:`\gamma` is the smaller of the two, without noise the first. The best rate is

    .. math:: \gamma^* = 1 - u^*, \quad l^* = a u^*, \quad u^* = \frac{1}{2a\min(r,1)+1}, \quad
              q^* = \max\big(u^*,\ (2a\min(r,1) - 2a\min(r,\tfrac12) + 1)\,u^*\big)     [SL-2]

    from :math:`p = n^{q^*}` features on; without noise :math:`u^* = 1` and
    :math:`\gamma^* = 2a\min(r, 1)`.

    Parameters
    ----------
    capacity : float
        Exponent a > 1 of the eigenvalues.
    source : float
        Exponent r > 0 of the target.
    ridge_exponent : float or "best"
        l >= 0; ``inf`` is the limit of a vanishing penalty, "best" the one with the largest rate
        at this width.
    width_exponent : float
        q > 0; ``inf`` is kernel ridge regression.
    noise : float
        Variance of the label noise; only whether it is zero matters.

    Returns
    -------
    ScalingLaw
        Rates, regime, and the best choices; ``summary()`` prints them.

    Notes
    -----
    :math:`n^u` directions are learned. The second term of the bias is the fluctuation of the
    features. At r = 1/2 it carries a factor log n, so does the first one at r = 1; slopes measured
    at finite n are then off by a few hundredths, and where bias and variance have very different
    prefactors they cross over slowly. Errors themselves come from :func:`random_feature_ridge`
    with :func:`power_law`.

    References
    ----------
    Defilippis, Loureiro and Misiakiewicz 2024, arXiv:2405.15699; Rudi and Rosasco 2016,
    arXiv:1602.04474.

    Examples
    --------
    >>> law = scaling_law(capacity=2.0, source=0.75, noise=0.1)
    >>> law.rate, law.minimal_width_exponent
    (0.75, 0.5)
    >>> law = scaling_law(
    ...     capacity=1.5, source=0.3, ridge_exponent=1.2, width_exponent=0.6, noise=0.1)
    >>> round(law.rate, 6), law.regime
    (0.4, 'limited by the width')
    """
    power = _Power(*power_exponents(capacity, source), noise=nonnegative("noise", noise) > 0)
    q = positive("width_exponent", width_exponent, infinite=True)
    best_u = power.best(q)
    if isinstance(ridge_exponent, str):
        if ridge_exponent != "best":
            raise BadData(f"ridge_exponent must be a number or 'best', got {ridge_exponent!r}")
        decay = power.a * best_u
    elif np.ndim(ridge_exponent):
        raise BadData(
            f"ridge_exponent must be one number, got {ridge_exponent!r}; phase_diagram takes many"
        )
    else:
        decay = _ridge_exponents(ridge_exponent)[0]
    u = power.learned(decay, q)
    top = power.best(math.inf)
    return ScalingLaw(
        capacity=power.a,
        source=power.r,
        ridge_exponent=float(decay),
        width_exponent=q,
        noise=float(noise),
        rate=float(power.rate(u, q)),
        bias_rate=float(power.bias(u, q)),
        variance_rate=float(1 - u),
        regime=REGIMES[int(power.regime(decay, q))],
        best_ridge_exponent=power.a * best_u,
        best_rate=float(power.rate(best_u, q)),
        optimal_ridge_exponent=power.a * top,
        optimal_rate=float(power.rate(top, math.inf)),
        minimal_width_exponent=max(1.0, power.steep - power.rough + 1) * top,  # [SL-2]
    )


def phase_diagram(
    *, capacity: float, source: float, ridge_exponent: Any, width_exponent: Any, noise: float = 0.0
) -> xr.Dataset:
    """Rates of :func:`scaling_law` over a grid of penalties and widths.

    Parameters
    ----------
    capacity, source, noise : float
        As in :func:`scaling_law`.
    ridge_exponent, width_exponent : number or array
        The grid; ``inf`` is allowed in both.

    Returns
    -------
    xarray.Dataset
        ``rate``, ``bias_rate``, ``variance_rate`` and ``regime`` over (ridge_exponent,
        width_exponent); ``regime.attrs["flag_meanings"]`` names the numbers of the regimes.

    Examples
    --------
    >>> phases = phase_diagram(capacity=2.0, source=0.75, noise=0.1,
    ...                        ridge_exponent=[0.5, 1.5], width_exponent=[0.4, 1.0])
    >>> phases.rate.values.round(3)
    array([[0.65, 0.75],
           [0.6 , 0.25]])
    """
    power = _Power(*power_exponents(capacity, source), noise=nonnegative("noise", noise) > 0)
    decays = _ridge_exponents(ridge_exponent)
    widths = axis_values("width_exponent", width_exponent, infinite=True)
    grid = decays[:, None], widths[None, :]
    u = power.learned(*grid)
    rates = {
        "rate": power.rate(u, grid[1]),
        "bias_rate": power.bias(u, grid[1]),
        "variance_rate": 1 - u,
        "regime": power.regime(*grid),
    }
    dims = ("ridge_exponent", "width_exponent")
    # Closed forms: exact but for rounding.
    values = {name: (dims, rate) for name, rate in rates.items()}
    errors = {f"{name}_err": (dims, np.zeros_like(u)) for name in rates}
    found = curve(
        values | errors,
        {"ridge_exponent": decays, "width_exponent": widths},
        source="theory:scaling_law",
        target=f"power law, capacity {power.a:g}, source {power.r:g}",
        params={"capacity": power.a, "source": power.r, "noise": float(noise)},
        labels={
            "rate": (r"\gamma", "rate of the excess error"),
            "bias_rate": (r"\gamma_\mathrm{bias}", "rate of the bias"),
            "variance_rate": (r"\gamma_\mathrm{var}", "rate of the variance"),
        },
    )
    found["regime"].attrs = {"flag_values": [0, 1, 2], "flag_meanings": list(REGIMES)}
    return found


@dataclass(frozen=True)
class _Power:
    """Rates as functions of u, the exponent of the number of learned directions [SL-1]."""

    a: float
    r: float
    noise: bool

    @property
    def steep(self) -> float:
        return 2 * self.a * min(self.r, 1.0)

    @property
    def rough(self) -> float:
        return 2 * self.a * min(self.r, 0.5)

    def learned(self, decay: Any, q: Any) -> Any:
        return np.minimum(np.minimum(decay / self.a, q), 1.0)

    def regime(self, decay: Any, q: Any) -> Any:
        u = self.learned(decay, q)
        return np.where(u == decay / self.a, 0.0, np.where(u == q, 1.0, 2.0))

    def bias(self, u: Any, q: Any) -> Any:
        return np.minimum(self.steep * u, (self.rough - 1) * u + q)

    def rate(self, u: Any, q: Any) -> Any:
        return np.minimum(self.bias(u, q), 1 - u) if self.noise else self.bias(u, q)

    def best(self, q: float) -> float:
        """The u of the largest rate: the minimum of lines is largest at an end or a crossing."""
        last = min(q, 1.0)
        lines = [(self.steep, 0.0)]
        if math.isfinite(q):
            lines.append((self.rough - 1, q))
        if self.noise:
            lines.append((-1.0, 1.0))
        crossings = [
            (offset2 - offset) / (slope - slope2)
            for i, (slope, offset) in enumerate(lines)
            for slope2, offset2 in lines[:i]
            if slope != slope2
        ]
        candidates = sorted({last, *(u for u in crossings if 0 < u < last)})
        rates = [float(self.rate(u, q)) for u in candidates]
        # The smallest of equally good ones; rounding does not decide.
        return next(
            u for u, rate in zip(candidates, rates, strict=True) if rate >= max(rates) - 1e-12
        )


def _ridge_exponents(value: Any) -> np.ndarray:
    return axis_values("ridge_exponent", value, zero=True, infinite=True)
