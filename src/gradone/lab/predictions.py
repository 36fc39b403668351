"""Curves of theories on the page: one or several, with what a reader has moved."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..algorithms import Algorithm, Run
from ..base.errors import BadData, GradoneError
from ..charts import AXES, DASHES, WORDS, Axis, Chart, Panels, Series, hline, line, vline
from ..theory import THEORIES
from ..theory._registry import refusal
from . import neurons
from .contestants import first_value, predicted, source_color

if TYPE_CHECKING:
    import xarray as xr

_GRADIENT = "cosine of gradient and target"
_GRAY = DASHES[1], DASHES[3]  # of the lines where stages open


class UnknownName(GradoneError, LookupError):
    """A name that the page does not know."""


class Curve(NamedTuple):
    """One line of a theory."""

    theory: str
    quantity: str
    name: str
    x: list[float]
    y: list[float]
    color: str
    dash: str = "solid"


def chosen(theory: str, sliders: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Values of the sliders of each theory of a list.

    Parameters
    ----------
    theory : str
        Names of algorithms that have one, with commas between them.
    sliders : mapping
        Values by name, for all of these theories that have it, or by ``theory.name``.

    Examples
    --------
    >>> chosen("bayes_amp,random_features", {"random_features.ridge": 0.5})
    {'bayes_amp': {}, 'random_features': {'width_ratio': 2.0, 'ridge': 0.5}}
    """
    names, known_ones = list(dict.fromkeys(theory.split(","))), predicted()
    for name in names:
        if name not in known_ones:
            raise UnknownName(
                f"there is no curve of '{name}' here; choose one of {', '.join(known_ones)}"
            )
    pictures = {(known_ones[name].axis, known_ones[name].kind) for name in names}
    if len(pictures) > 1:
        raise BadData(f"{' and '.join(names)} have different axes; ask for one at a time")
    left = dict(sliders)
    found: dict[str, dict[str, float]] = {}
    for name in names:
        values = found[name] = {}
        card = known_ones[name]
        for slider in card.sliders:
            own = left.pop(f"{name}.{slider.name}", None)
            first = sliders.get(slider.name, first_value(card, slider))
            values[slider.name] = first if own is None else own
    known = {key for values in found.values() for key in values}
    if unknown := sorted(set(left) - known):
        raise UnknownName(f"'{theory}' has the sliders {sorted(known)}, got {unknown}")
    return found


def analysis_of(target: Any) -> Any:
    """Analysis of a target, or why there is none."""
    from ..analysis.analyze import analyze
    from .answers import or_reason

    return or_reason(analyze, target)


def predicted_curve(
    target: Any, name: str, top: float, values: Mapping[str, float], points: int
) -> xr.Dataset:
    """Curve of the theory of an algorithm.

    Along n/d it is dense beside thresholds and where it bends, elsewhere its places are even.
    """
    from ..experiments.places import coarse_places, grown

    given = tuple(sorted(values.items()))
    card = predicted()[name]
    if card.axis != "alpha":
        return _computed(target, name, given, tuple(_even(card.axis, top, points)))
    grid, _ = coarse_places(target, analysis_of(target), top)
    return grown(
        lambda places: _computed(target, name, given, tuple(places)), grid.tolist(), "alpha", points
    )


def _even(axis: str, top: float, points: int) -> list[float]:
    """Places of an axis without thresholds.

    Examples
    --------
    >>> _even("batch_ratio", 6.0, 12)[:2], _even("time", 50.0, 2)
    ([0.5, 1.0], [1.0, 50.0])
    """
    if axis == "time":
        ratio = 50 ** (1 / (points - 1))
        return [top / 50 * ratio**i for i in range(points - 1)] + [top]
    if axis == "kappa":  # plateaus are known at once: enough places to draw their edges
        return [0.6 + (top - 0.6) * i / 120 for i in range(121)]
    return [top * i / points for i in range(1, points + 1)]


@lru_cache(maxsize=256)  # a page asks for the same curve again with more points
def _computed(
    target: Any, name: str, values: tuple[tuple[str, float], ...], places: tuple[float, ...]
) -> xr.Dataset:
    from ..experiments._common_quantities import common_quantities

    card, run = run_of(target, name, dict(values), places)
    found = card.predicted(run)
    return common_quantities(found, "alpha") if card.axis == "alpha" else found


def run_of(
    target: Any, name: str, values: Mapping[str, float], places: Sequence[float]
) -> tuple[Algorithm, Run]:
    """An algorithm, and the run that the page asks its theory about."""
    card = predicted()[name]
    settings: dict[str, Any] = dict(values)
    if card.axis == "time":
        settings |= {"points": 1024, **neurons.student(target)}
    return card, Run(target, card.axis, list(places), settings=settings)


def curves(
    target: Any, theory: str, top: float, sliders: Mapping[str, float], points: int
) -> list[Curve]:
    """Lines of theories up to a place of their axis."""
    found = []
    for name, values in chosen(theory, sliders).items():
        card = predicted()[name]
        if reason := card.obstacle(target):
            raise refusal(THEORIES[card.theory_for(target)](), target, reason)
        found += _lines(card, predicted_curve(target, name, top, values, points))
    return found


def _lines(card: Algorithm, curve: xr.Dataset) -> list[Curve]:
    name, color, x = card.name, source_color(card.name), curve[card.axis].values.tolist()
    if card.kind == "plateau":
        return [Curve(name, "excess_mse", card.label, x, curve.excess_mse.values.tolist(), color)]
    if card.kind == "gradient":
        return _gradients(name, curve, x)
    found = []
    if "test_mse" in curve:
        y = curve.test_mse.values.tolist()
        found.append(Curve(name, "test_mse", card.label, x, y, color))
    if card.axis == "time":
        parts = [(f"$z_{{{k}}}$", curve.recovery.sel(direction=k)) for k in curve.direction.values]
        quantity = "recovery"
    else:
        ranks = curve.direction2.values.tolist() if "cosine2" in curve else []
        parts = [(rf"$\cos^2\theta_{{{k}}}$", curve.cosine2.sel(direction2=k)) for k in ranks]
        quantity = "cosine2"
    for place, (words, values) in enumerate(parts):
        dash, label = DASHES[place % 4], f"{card.label}, {words}"
        found.append(Curve(name, quantity, label, x, values.values.tolist(), color, dash))
    return found


def _gradients(name: str, curve: xr.Dataset, x: list[float]) -> list[Curve]:
    r"""Cosine of the t-th gradient with direction k, :math:`\sqrt{E_j \cos^2(G_{j,t}, w_k)}`."""
    found = []
    mean = (curve.gradient_cosine**2 * curve.share).sum("neuron") ** 0.5
    for step, words, color in ((0, "first", "#0072B2"), (1, "second", source_color(name))):
        for place, k in enumerate(curve.direction.values.tolist()):
            values = mean.isel(step=step).sel(direction=k).values.tolist()
            label, dash = f"{words} gradient, $z_{{{k}}}$", ("solid", "dash", "dot")[place % 3]
            found.append(Curve(name, "gradient", label, x, values, color, dash))
    return found


def prediction(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
) -> dict[str, Any]:
    """Lines of theories, and what they warn of."""
    from ..targets.naming import find_target

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        whole = find_target(target, noise)
        found = curves(whole, theory, top, sliders, points)
    return {
        "marks": _marks(whole, found)._asdict(),
        "notes": list(first_of_kinds(str(warning.message) for warning in caught).values()),
        "theory": theory,
        "series": [{**one._asdict(), "y": finite(one.y)} for one in found],
    }


class Marks(NamedTuple):
    """Gray lines of a picture: where stages open, and the error of who predicts the mean."""

    openings: Mapping[str, list[float]] = MappingProxyType({})
    level: float | None = None

    def lines(self, last: float, quantity: str) -> list[Series]:
        """Those of the panel of a quantity that ends at a place, as the page draws them."""
        found = [
            vline(words, [place for place in places if place < last], dash=dash)
            for (words, places), dash in zip(self.openings.items(), _GRAY, strict=False)
        ]
        if self.level is not None and quantity == "test_mse":
            found.append(hline("predicting the mean", self.level, dash="dot"))
        return [one for one in found if one.x or one.y]


def _marks(target: Any, found: Sequence[Curve]) -> Marks:
    """Gray lines of curves along n/d."""
    from ..experiments.places import openings
    from ..targets.summary import summarize

    is_known = any(one.quantity in ("test_mse", "cosine2") for one in found)
    if not is_known or predicted()[found[0].theory].axis != "alpha":
        return Marks({})
    variance = summarize(target, d=16).variance
    level = None if variance is None else variance.value + target.noise
    return Marks(openings(analysis_of(target)), level)


def prediction_chart(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
    quantity: str = "",
    has_marks: bool = True,
) -> Chart | Panels:
    """Picture of theories, of one quantity or with a panel for each that they have."""
    from ..targets.naming import find_target

    found = find_target(target, noise)
    lines = curves(found, theory, top, sliders, points)
    kept = [one for one in lines if one.quantity == quantity] or lines
    axis = predicted()[theory.partition(",")[0]].axis
    origin = {"target": repr(found), "theory": theory, "sliders": dict(sliders)}
    marks = _marks(found, lines) if has_marks else Marks()
    last = max(max(one.x) for one in kept)
    charts = []
    for name in dict.fromkeys(one.quantity for one in kept):
        own = [one for one in kept if one.quantity == name]
        gray = marks.lines(last, name)
        heights = [*(one.y for one in own), *(one.y for one in gray)]
        top = max((v for y in heights for v in y if math.isfinite(v)), default=1.0)
        up = Axis(WORDS.get(name, _GRADIENT), range=(0.0, 1.08 * top or 1.0))
        series: tuple[Series, ...] = tuple(
            line(one.name, one.x, one.y, color=one.color, dash=one.dash) for one in own
        )
        charts.append(
            Chart("", Axis(AXES[axis]), up, (*series, *gray), legend="below", origin=origin)
        )
    return charts[0] if len(charts) == 1 else Panels("", tuple(charts), origin=origin)


def first_of_kinds(notes: Iterable[str]) -> dict[str, str]:
    """Notes that differ in more than their numbers, by what they say without them.

    Examples
    --------
    >>> list(first_of_kinds(["11 % above", "not converged", "3.5 % above"]).values())
    ['11 % above', 'not converged']
    """
    found: dict[str, str] = {}
    for note in notes:
        found.setdefault(re.sub(r"\d+(\.\d+)?", "#", note), note)
    return found


def finite(values: Any) -> list[float | None]:
    """Numbers in the types of JSON: None where there is none.

    Examples
    --------
    >>> finite([1.0, float("nan")])
    [1.0, None]
    """
    return [float(v) if math.isfinite(v) else None for v in values]
