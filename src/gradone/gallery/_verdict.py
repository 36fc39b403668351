"""Verdicts on claims: what was measured, beside what is claimed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData
from ..base.estimate import Estimate

if TYPE_CHECKING:
    import xarray as xr

HOLDS = "holds"
CORRECTED = "holds with a correction"
FAILS = "does not hold at these sizes"
OPEN = "open"
SKIPPED = "not checked: a package is missing"

_STANDARD_ERRORS = 2.0  # half-width of a 99 % interval to five standard errors

Claimed = Mapping[str, float | str]


def found(**numbers: Estimate | float | str) -> xr.Dataset:
    """What a check has measured: numbers with errors, and words.

    Parameters
    ----------
    **numbers : Estimate, float or str
        Measured quantities by name; a plain number counts as exact.

    Examples
    --------
    >>> measured = found(alpha_c=Estimate(0.5, 1e-6), learnability="easy")
    >>> measured.alpha_c.item(), measured.alpha_c_err.item(), measured.learnability.item()
    (0.5, 1e-06, 'easy')
    """
    import numpy as np
    import xarray as xr

    values: dict[str, Any] = {}
    for name, number in numbers.items():
        if isinstance(number, str):
            values[name] = np.array(number)
            continue
        number = number if isinstance(number, Estimate) else Estimate(float(number))
        factor = _STANDARD_ERRORS if number.kind == "monte_carlo" else 1.0
        values |= {name: number.value, f"{name}_err": factor * number.error}
    return xr.Dataset(values)


def mean_of(runs: Any) -> Estimate:
    """Mean over independent runs, with the half-width of its 99 % interval.

    Examples
    --------
    >>> mean_of([1.0, 2.0, 3.0])
    2 ± 6e+00 (monte_carlo)
    """
    import numpy as np
    from scipy.stats import t

    runs = np.asarray(runs, dtype=float)
    spread = runs.std(ddof=1) / np.sqrt(runs.size)
    return Estimate(float(runs.mean()), float(t.ppf(0.995, runs.size - 1) * spread), "monte_carlo")


def median_of(runs: Any) -> Estimate:
    """Median over independent runs, some of which may be infinite; its spread is from quartiles.

    Examples
    --------
    >>> median_of([1.0, 2.0, 3.0, 4.0, float("inf")]).value
    3.0
    """
    import numpy as np

    low, middle, high = np.quantile(runs, [0.25, 0.5, 0.75], method="nearest")
    spread = 1.2533 * (high - low) / 1.349 / np.sqrt(np.size(runs))  # as for a Gaussian law
    return Estimate(float(middle), float(2.576 * spread), "monte_carlo")


def slope_of(x: Any, numbers: Sequence[Estimate]) -> Estimate:
    """Slope of the straight line through numbers with errors, all of which count alike.

    Examples
    --------
    >>> slope_of([0.0, 1.0, 2.0], [Estimate(1.0, 0.1), Estimate(3.0, 0.1), Estimate(5.0, 0.1)])
    2.00 ± 7e-02 (monte_carlo)
    """
    import numpy as np

    x = np.asarray(x, dtype=float) - np.mean(x)
    y, error = np.array([(one.value, one.error) for one in numbers]).T
    size = float(x @ x)
    return Estimate(float(x @ y) / size, float(np.linalg.norm(x * error)) / size, "monte_carlo")


@dataclass(frozen=True)
class Number:
    """One quantity of a claim: what is claimed, what was measured, and whether they agree.

    Parameters
    ----------
    name : str
        What it is.
    claimed : float or str
        A number, a word, or a bound such as ``"< 0.1"``.
    measured : float or str
        The number or the word that the check found.
    error : float
        Bound on the error of the measured number; of a mean over runs, five standard errors.
    within : float
        How far apart they may be beside that: rounding of what is printed, or a finite size.

    Examples
    --------
    >>> Number("alpha_c", 0.5, 0.5003, 0.0001, 0.0005).agrees
    True
    >>> Number("overlap", "> 0.9", 0.95, 0.1, 0.0).agrees
    False
    """

    name: str
    claimed: float | str
    measured: float | str
    error: float = 0.0
    within: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether the measured number is the claimed one, or surely on its side of the bound."""
        claimed, measured, room = self.claimed, self.measured, self.within + self.error
        if isinstance(claimed, str) and claimed[:1] in ("<", ">"):
            if not isinstance(measured, float):
                raise BadData(f"{self.name} is claimed to be {claimed}, and '{measured}' is a word")
            bound, sign = float(claimed[1:]), 1 if claimed[0] == "<" else -1
            return sign * measured + self.error < sign * bound
        if isinstance(claimed, str) or isinstance(measured, str):
            return str(claimed) == str(measured)
        if math.isinf(claimed) or math.isinf(measured):
            return claimed == measured
        return abs(measured - claimed) <= room

    def __str__(self) -> str:
        if isinstance(self.measured, str):
            return f"{self.name}: claimed {self.claimed}, found {self.measured}"
        claimed = self.claimed if isinstance(self.claimed, str) else f"{self.claimed:.6g}"
        error = f" ± {self.error:.1g}" if self.error else ""
        return f"{self.name}: claimed {claimed}, measured {self.measured:.6g}{error}"


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, with the numbers that decide.

    Parameters
    ----------
    claim : str
        Name of the claim.
    word : str
        ``"holds"``, ``"holds with a correction"``, ``"does not hold at these sizes"``,
        ``"open"``, or ``"not checked: a package is missing"``.
    numbers : tuple of Number
        The measured numbers beside the claimed ones, or beside the corrected ones.
    seconds : float
        CPU time of the measurement.
    """

    claim: str
    word: str
    numbers: tuple[Number, ...] = field(default=())
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; infinite numbers become words."""
        rows = [
            {
                "name": one.name,
                "claimed": _plain(one.claimed),
                "measured": _plain(one.measured),
                "error": one.error,
            }
            for one in self.numbers
        ]
        return {
            "claim": self.claim,
            "verdict": self.word,
            "numbers": rows,
            "cpu_seconds": round(self.seconds, 2),
        }


def _plain(value: float | str) -> float | str:
    return value if isinstance(value, str) or math.isfinite(value) else str(value)


def compare(
    measured: xr.Dataset, claimed: Claimed, within: float | Mapping[str, float]
) -> tuple[Number, ...]:
    """The measured numbers beside the claimed ones.

    Parameters
    ----------
    measured : Dataset
        From :func:`found`.
    claimed : mapping of str to float or str
        The claimed numbers; every one of them must have been measured.
    within : float or mapping of str to float
        How far apart they may be beside the error of the measurement.

    Examples
    --------
    >>> [one.agrees for one in compare(found(a=1.0, b=2.0), {"a": 1.0, "b": 3.0}, 0.5)]
    [True, False]
    """
    missing = [name for name in claimed if name not in measured]
    if missing:
        raise BadData(
            f"the check does not measure {', '.join(missing)}; it measures "
            f"{', '.join(str(name) for name in measured if not str(name).endswith('_err'))}"
        )
    rows = []
    for name, value in claimed.items():
        room = within if isinstance(within, int | float) else within.get(name, 0.0)
        seen = measured[name].item()
        error = float(measured[f"{name}_err"]) if f"{name}_err" in measured else 0.0
        given = value if isinstance(value, str) else float(value)
        rows.append(Number(name, given, seen, error, float(room)))
    return tuple(rows)
