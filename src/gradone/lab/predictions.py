"""Curves of theories on the page: one or several, with what a reader has moved."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import BadData, GradoneError
from ..charts import Axis, Chart, Series, line
from .contestants import PREDICTED, source_color
from .labels import AXES, QUANTITIES

if TYPE_CHECKING:
    import xarray as xr

_DEPTHS = {
    "lazy_excess_mse": ("kernel", "theory:lazy"),
    "two_layer_excess_mse": ("two layers", "theory:two_layers"),
    "three_layer_excess_mse": ("three layers", "theory:three_layers"),
}
_DASHES = ("dash", "dot", "dashdot", "solid")


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
        Names of :data:`PREDICTED`, with commas between them.
    sliders : mapping
        Values by name, for all of these theories that have it, or by ``theory.name``.

    Examples
    --------
    >>> chosen("bayes_amp,random_features", {"random_features.ridge": 0.5})
    {'bayes_amp': {}, 'random_features': {'width_ratio': 2.0, 'ridge': 0.5}}
    """
    names = list(dict.fromkeys(theory.split(",")))
    for name in names:
        if name not in PREDICTED:
            raise UnknownName(f"no curve of '{name}' here; there are: {', '.join(PREDICTED)}")
    pictures = {(PREDICTED[name].axis, PREDICTED[name].kind) for name in names}
    if len(pictures) > 1:
        raise BadData(f"{' and '.join(names)} have different axes: ask for one after the other")
    left = dict(sliders)
    found: dict[str, dict[str, float]] = {}
    for name in names:
        values = found[name] = {}
        for slider in PREDICTED[name].sliders:
            own = left.pop(f"{name}.{slider.name}", None)
            values[slider.name] = sliders.get(slider.name, slider.value) if own is None else own
    known = {key for values in found.values() for key in values}
    if unknown := sorted(set(left) - known):
        raise UnknownName(f"'{theory}' has the sliders {sorted(known)}, got {unknown}")
    return found


def places(axis: str, top: float, points: int) -> list[float]:
    """Places of the axis at which a theory is evaluated.

    Examples
    --------
    >>> places("alpha", 6.0, 12)[:2], places("time", 50.0, 2)
    ([0.5, 1.0], [1.0, 50.0])
    """
    if axis == "time":
        ratio = 50 ** (1 / (points - 1))
        return [top / 50 * ratio**i for i in range(points - 1)] + [top]
    if axis == "kappa":  # plateaus are known at once: enough places to draw their edges
        return [0.6 + (top - 0.6) * i / 120 for i in range(121)]
    return [top * i / points for i in range(1, points + 1)]


def arguments(target: Any, name: str, values: Mapping[str, float]) -> dict[str, Any]:
    """Arguments of a theory of the page, as :func:`gradone.predict` takes them."""
    from . import neurons

    one = PREDICTED[name]
    if one.kind == "gradient":
        return {"step_size": 1.5, "activation": "relu(z)", "steps": 1, "points": 4096}
    if name == "reused_batch":
        return {**values, "width": 2, "steps": 6}
    if not one.rule:
        return {**values, **({"activation": one.activation} if one.activation else {})}
    given = {key: value for key, value in values.items() if key != "overlap"}
    start = neurons.start_of(target, values["overlap"])
    return {**given, "rule": one.rule, "init": start, "points": 1024, **neurons.student(target)}


def curves(
    target: Any, theory: str, top: float, sliders: Mapping[str, float], points: int
) -> list[Curve]:
    """Lines of theories up to a place of their axis."""
    from ..theory.predict import predict

    found = []
    for name, values in chosen(theory, sliders).items():
        one = PREDICTED[name]
        given = {one.axis: places(one.axis, top, points), **arguments(target, name, values)}
        found += _lines(name, predict(target, one.theory or name, on_failure="mark", **given))
    return found


def _lines(name: str, curve: xr.Dataset) -> list[Curve]:
    from ..experiments._common_quantities import common_quantities

    one, color = PREDICTED[name], source_color(name)
    x = curve[one.axis].values.tolist()
    if name == "depth":
        return [
            Curve(name, "excess_mse", words, x, curve[variable].values.tolist(), source_color(key))
            for variable, (words, key) in _DEPTHS.items()
            if variable in curve
        ]
    if name == "lazy":
        return [Curve(name, "excess_mse", one.label, x, curve.excess_mse.values.tolist(), color)]
    if one.kind == "gradient":
        return _gradients(name, curve, x)
    common = common_quantities(curve, one.axis)
    found = []
    if "test_mse" in common:
        y = common.test_mse.values.tolist()
        found.append(Curve(name, "test_mse", one.label, x, y, color))
    if one.axis == "time":
        parts = [(f"$z_{{{k}}}$", curve.recovery.sel(direction=k)) for k in curve.direction.values]
        quantity = "recovery"
    else:
        cosines = common.cosine2 if "cosine2" in common else None
        ranks = [] if cosines is None else cosines.direction2.values.tolist()
        parts = [(rf"$\cos^2\theta_{{{k}}}$", common.cosine2.sel(direction2=k)) for k in ranks]
        quantity = "cosine2"
    for place, (words, values) in enumerate(parts):
        dash, label = _DASHES[place % 4], f"{one.label}, {words}"
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
        found = curves(find_target(target, noise), theory, top, sliders, points)
    return {
        "notes": list(dict.fromkeys(str(warning.message) for warning in caught)),
        "theory": theory,
        "series": [{**one._asdict(), "y": finite(one.y)} for one in found],
    }


def prediction_chart(
    target: str,
    noise: float | None,
    theory: str,
    top: float,
    sliders: Mapping[str, float],
    points: int,
    quantity: str = "",
) -> Chart:
    """Picture of theories, of one quantity or of all that they have."""
    from ..targets.naming import find_target

    found = find_target(target, noise)
    lines = curves(found, theory, top, sliders, points)
    kept = [one for one in lines if one.quantity == quantity] or lines
    axis = PREDICTED[theory.partition(",")[0]].axis
    names = list(dict.fromkeys(QUANTITIES[one.quantity] for one in kept))
    values = [v for one in kept for v in one.y if math.isfinite(v)]
    up = Axis(", ".join(names), range=(0.0, 1.08 * max(values, default=1.0) or 1.0))
    series: tuple[Series, ...] = tuple(
        line(one.name, one.x, one.y, color=one.color, dash=one.dash) for one in kept
    )
    origin = {"target": repr(found), "theory": theory, "sliders": dict(sliders)}
    return Chart("", Axis(AXES[axis]), up, series, legend="below", origin=origin)


def finite(values: Any) -> list[float | None]:
    """Numbers in the types of JSON: None where there is none.

    Examples
    --------
    >>> finite([1.0, float("nan")])
    [1.0, None]
    """
    return [float(v) if math.isfinite(v) else None for v in values]
