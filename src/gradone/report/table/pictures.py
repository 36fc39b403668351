"""Charts of a table: scores, coordinates, map, learning curves."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...charts import Axis, Chart, Series, band, line, ordered_colors, points
from ...charts._palette import CYCLE
from .peers import CONSTANT, label_of
from .words import leading_features

if TYPE_CHECKING:
    from .fit import TableFit

Drawn = tuple[Series, ...]
_SHOWN = 1500  # rows that are drawn
_LONGEST = 75  # letters of a label
_BINS = 15
_GROUPS = 5  # of a target of numbers on a map
_BOTH_ENDS = 0.005  # of the rows that may lie outside


def scores_chart(fit: TableFit) -> Chart:
    """Score of every method, with its standard error, and the score of each fold."""
    comparison = fit.comparison
    # The constant prediction stands in the table; here it would squeeze the others together.
    shown = [entry for name, entry in comparison.entries.items() if name not in CONSTANT]
    entries = [entry for entry in shown if not entry.failure]
    places = np.arange(len(entries), 0, -1.0)
    own = [entry.name == "gradone" for entry in entries]
    series: list[Series] = []
    for entry, place in zip(entries, places, strict=True):
        spread = place + np.linspace(-0.12, 0.12, len(entry.scores))
        color = "vermillion" if entry.name == "gradone" else "gray"
        series.append(points("", entry.scores, spread, color=color, size=3.5, opacity=0.35))
    for chosen, name, color in ((True, "gradone", "vermillion"), (False, "others", "blue")):
        some = [i for i, is_own in enumerate(own) if is_own == chosen]
        means = [entries[i].mean for i in some]
        series.append(points(name, means, places[some], color=color, size=9, marker="diamond"))
    ticks = tuple(
        (place, label_of(entry.name, fit.data.task))
        for entry, place in zip(entries, places, strict=True)
    )
    lowest = min(entry.scores.min() for entry in entries)
    best = max(entry.scores.max() for entry in entries)
    low = max(lowest, -0.5) if fit.data.task == "regression" else lowest
    margin = 0.05 * (best - low) + 1e-3
    return Chart(
        "",
        Axis(
            f"{comparison.measure} on rows that were left out", range=(low - margin, best + margin)
        ),
        Axis("", ticks=ticks, range=(0.5, len(entries) + 0.5)),
        tuple(series),
        caption=f"Diamonds are means over {fit.folds} folds, dots are single folds.",
        legend="none",
        width="two",
        height=20 + 11 * len(entries),
    )


def coordinate_charts(fit: TableFit) -> list[Chart]:
    """The target against each learned coordinate, with its mean along it."""
    Z, rows = _coordinates(fit)
    data = fit.data
    charts = []
    for k in range(Z.shape[1]):
        z = Z[:, k]
        if data.task == "classification":
            series, y = _classes_along(fit, z, rows)
        else:
            series, y = _numbers_along(fit, z, rows)
        charts.append(Chart("", Axis(f"coordinate {k + 1}", range=_range(z)), y, series,
                            legend="none"))  # fmt: skip
    return charts


def _numbers_along(
    fit: TableFit, z: np.ndarray, rows: np.ndarray
) -> tuple[tuple[Series, ...], Axis]:
    y = fit.data.y
    edges = np.unique(np.quantile(z, np.linspace(0, 1, min(_BINS, len(y) // 10) + 1)))
    place = np.clip(np.searchsorted(edges, z, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(place, minlength=len(edges) - 1)
    middle = np.bincount(place, z, minlength=len(counts)) / np.maximum(counts, 1)
    mean = np.bincount(place, y, minlength=len(counts)) / np.maximum(counts, 1)
    seen = counts > 0
    cloud = points("rows", z[rows], y[rows], color="sky", size=3, opacity=0.3)
    trend = line("mean", middle[seen], mean[seen], color="vermillion", width=2.5)
    return (cloud, trend), Axis(safe(fit.data.target))


def _classes_along(
    fit: TableFit, z: np.ndarray, rows: np.ndarray
) -> tuple[tuple[Series, ...], Axis]:
    values = np.unique(fit.data.y)
    jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(z))
    series = []
    for place, value in enumerate(values):
        own = rows[fit.data.y[rows] == value]
        color = CYCLE[place % len(CYCLE)]
        series.append(points(safe(str(value)), z[own], place + jitter[own], color=color, size=3.5,
                             opacity=0.5))  # fmt: skip
    ticks = tuple((float(place), safe(str(value))) for place, value in enumerate(values))
    return tuple(series), Axis(safe(fit.data.target), ticks=ticks)


def map_chart(fit: TableFit) -> Chart | None:
    """Rows in the plane of the first two coordinates, colored by the target."""
    Z, rows = _coordinates(fit)
    if Z.shape[1] < 2:
        return None
    y, series = fit.data.y, []
    for name, members, color in _groups(fit):
        own = rows[members[rows]]
        series.append(points(safe(name), Z[own, 0], Z[own, 1], color=color, size=4, opacity=0.7))
    return Chart(
        "",
        Axis(_named(fit, 0), range=_range(Z[:, 0])),
        Axis(_named(fit, 1), range=_range(Z[:, 1])),
        tuple(series),
        caption=f"{len(rows)} of {len(y)} rows." if len(rows) < len(y) else "",
        legend="right",
        width="two",
        height=105,
    )


def _groups(fit: TableFit) -> list[tuple[str, np.ndarray, str]]:
    """Classes, or fifths of the target, with their colors."""
    y = fit.data.y
    if fit.data.task == "classification":
        values = np.unique(y)
        colors = CYCLE if len(values) <= len(CYCLE) else ordered_colors(len(values))
        return [(str(v), y == v, colors[i]) for i, v in enumerate(values)]
    edges = np.unique(np.quantile(y, np.linspace(0, 1, _GROUPS + 1)))
    place = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
    colors = ordered_colors(len(edges) - 1)
    return [
        (f"{low:.4g} to {high:.4g}", place == i, colors[i])
        for i, (low, high) in enumerate(zip(edges[:-1], edges[1:], strict=True))
    ]


def predicted_chart(fit: TableFit) -> Chart | None:
    """The target against what was predicted for rows that were left out."""
    found = fit.comparison.own.predictions
    if fit.data.task == "classification" or found is None:
        return None
    y, rows = fit.data.y, _rows(len(fit.data.y))
    ends = [float(min(y.min(), found.min())), float(max(y.max(), found.max()))]
    return Chart(
        "",
        Axis("predicted, row left out"),
        Axis(safe(fit.data.target)),
        (
            points("rows", found[rows], y[rows], color="sky", size=3.5, opacity=0.5),
            line("equal", ends, ends, color="gray", dash="dash", width=1),
        ),
        legend="none",
    )


def growth_chart(fit: TableFit) -> Chart | None:
    """Scores against the number of rows, measured and predicted."""
    growth = fit.growth
    if growth is None:
        return None
    names = {"gradone": ("gradone", "vermillion")}
    linear = "ridge regression" if fit.data.task == "regression" else "logistic regression"
    names["linear"] = (f"{linear}, penalty {growth.penalty:.3g}", "blue")
    series: list[Series] = []
    prediction = growth.prediction
    if len(prediction.sizes):
        errors = np.where(np.isfinite(prediction.errors), prediction.errors, 0.0)
        series.append(band("", prediction.sizes, prediction.scores - errors,
                           prediction.scores + errors, color="blue", opacity=0.12))  # fmt: skip
        series.append(line(f"{linear}, predicted", prediction.sizes, prediction.scores,
                           color="blue"))  # fmt: skip
    bottom = np.inf
    for (name, (label, color)), shift in zip(names.items(), (0.985, 1.015), strict=True):
        values = growth.scores[name]
        counts = np.sum(np.isfinite(values), axis=1)
        seen = counts > 0
        mean = np.array([np.nanmean(row) for row in values[seen]])
        spread = np.array([np.nanstd(row) for row in values[seen]]) / np.sqrt(counts[seen])
        sizes = growth.sizes[seen] * shift  # side by side where both are the same
        series.append(points(label, sizes, mean, spread, color=color, size=6))
        bottom = min(bottom, *(mean - spread))
    low = None if bottom > -0.2 or fit.data.task == "classification" else -0.2
    marks = tuple((float(size), str(size)) for size in growth.sizes)
    return Chart(
        "",
        Axis("rows learned from", "log", ticks=marks),
        Axis(_measured(fit), range=(low, None)),
        tuple(series),
        legend="below",
        width="two",
        height=95,
    )


def _named(fit: TableFit, k: int) -> str:
    return safe(f"coordinate {k + 1}: {leading_features(fit, k, most=2)}")


def _measured(fit: TableFit) -> str:
    return f"{fit.comparison.measure} on rows that were left out"


def safe(name: str) -> str:
    """A name of a user as a label: no formulas begin in it, and the font has all its letters.

    Examples
    --------
    >>> safe("price ($)"), safe("\u4fa1\u683c 1")
    ('price (USD)', '\u25a1\u25a1 1')
    """
    text = name.replace("$", "USD").replace("\\", "/")
    text = "".join(letter if ord(letter) in _letters() else "\u25a1" for letter in text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    """Letters of the font that charts are drawn with."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("STIXGeneral")).get_charmap())


def _coordinates(fit: TableFit) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of all rows, and the rows to be drawn."""
    n = len(fit.data.y)
    if not fit.learner.n_directions_:
        return np.zeros((n, 0)), _rows(n)
    return fit.learner.transform(fit.data.X), _rows(n)


def _rows(n: int) -> np.ndarray:
    if n <= _SHOWN:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:_SHOWN])


def _range(z: np.ndarray) -> tuple[float, float]:
    """Range that holds nearly all values: one far outlier must not hide the others."""
    low, high = np.quantile(z, [_BOTH_ENDS, 1 - _BOTH_ENDS])
    margin = 0.08 * (high - low) + 1e-12
    return max(low - margin, z.min() - margin), min(high + margin, z.max() + margin)
