"""Layers of filters on images of digits: probes, spectra and the filters themselves."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, average, heat, hline, line, points
from ...learners import LEARNERS
from .._checks import setting
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size
from .._images import mnist_digits

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

LAYERS, SHOWN = 3, 3  # layers of filters; filters that are pictures
SIZES: dict[Size, tuple[str, int, int]] = {  # images, rows to learn from, splits
    "small": ("digits", 900, 4),
    "paper": ("mnist", 3000, 5),
}
COLORS = ("blue", "vermillion", "green")


def images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images in rows, and whether their digits are odd."""
    if name == "mnist":
        X, digits = mnist_digits()
    else:
        from sklearn.datasets import load_digits

        X, digits = load_digits(return_X_y=True)
    return X, digits % 2


def fitted(name: str, n: int, split: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Learner of one split, and the images and labels that it has not seen."""
    X, y = images(name)
    order = np.random.default_rng([24, split]).permutation(len(y))
    some, new = order[:n], order[n:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pixels that never vary
        learner = LEARNERS["neural_lofi_classifier"](LAYERS, random_state=split)
        learner.fit(X[some], y[some])
    return learner, X[new], y[new]


def probes(name: str, n: int, splits: int) -> xr.Dataset:
    """Accuracy of a linear fit after every layer, on rows held out; and of all on fresh images."""
    linear, full = [], []
    for split in range(splits):
        learner, X, y = fitted(name, n, split)
        linear.append(learner.probe_scores_)
        full.append(np.full(LAYERS + 1, learner.score(X, y)))
    return _curve(
        {"probe": ("replicate", "layer", linear), "accuracy": ("replicate", "layer", full)},
        {"replicate": np.arange(splits), "layer": np.arange(LAYERS + 1)},
        name,
        n,
    )


def spectra(name: str, n: int) -> xr.Dataset:
    """Eigenvalues over the ends of the bulk of labels in random order, layer by layer."""
    learner, _, _ = fitted(name, n, 0)
    ratios = [np.sort(ratio[0])[::-1] for ratio in learner.ratios_]
    kept = min(map(len, ratios))
    return _curve(
        {"ratio": ("layer", "eigenvalue", [ratio[:kept] for ratio in ratios])},
        {"layer": np.arange(1, len(ratios) + 1), "eigenvalue": np.arange(1, kept + 1)},
        name,
        n,
    )


def pictures(name: str, n: int) -> xr.Dataset:
    """The filters of second order that stand out most, as images of their linear parts."""
    learner, _, _ = fitted(name, n, 0)
    rows = learner.weights_[1 : SHOWN + 1]  # the first is that of first order
    found = rows / np.abs(rows).max(axis=1, keepdims=True)
    coords = {"neuron": np.arange(1, SHOWN + 1), "direction": np.arange(rows.shape[1])}
    return _curve({"weight": ("neuron", "direction", found)}, coords, name, n)


def _curve(
    values: dict[str, tuple[Any, ...]], coords: dict[str, np.ndarray], name: str, n: int
) -> xr.Dataset:
    """Measured numbers without errors of their own: the splits tell them."""
    filled: dict[str, Any] = {}
    for key, (*dims, numbers) in values.items():
        filled[key] = (tuple(dims), np.asarray(numbers, float))
        filled[f"{key}_err"] = (tuple(dims), np.zeros(np.shape(numbers)))
    return curve(
        filled,
        coords,
        source="simulation:neural_lofi_classifier",
        target=f"odd or even digits of {name}",
        params={"n": n, "images": name},
        seed=24,
    )


@FIGURES.add("digit-filters")
class DigitFilters(GalleryFigure):
    """Layers of filters on images of digits: probes, spectra and the filters themselves."""

    title = "Odd or even digits become linearly separable"
    sentence = (
        "A linear fit after each layer of filters is right more often than after the one below; "
        "in every layer a few eigenvalues lie outside of the bulk of labels in random order, and "
        "filters of the first layer are strokes."
    )
    cites = ("dandi2026lofi",)
    budget = {"small": 60.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Probes of several splits; spectra and filters of the first one."""
        name, n, splits = SIZES[size]
        return {
            "probes": memo(probes, name, n, splits),
            "spectra": memo(spectra, name, n),
            "filters": memo(pictures, name, n),
        }

    def draw(self, data: Data) -> Chart | Panels:
        """Probes, spectra, and three filters."""
        runs, found, filters = data["probes"], data["spectra"], data["filters"]
        mean, error = average(runs, "probe")
        charts = [
            Chart(
                "linear probe",
                Axis("layer", ticks=tuple((float(i), str(i)) for i in range(LAYERS + 1))),
                Axis("accuracy", range=(0.8, 1.01)),  # room for the legend
                (
                    points(
                        "probe, measured",
                        runs.layer.values,
                        mean.values,
                        error.values,
                        color="blue",
                    ),
                    line(
                        "classifier, measured",
                        runs.layer.values,
                        runs.accuracy.values.mean(axis=0),
                        color="gray",
                        dash="dash",
                    ),
                ),
                legend="lower right",
            ),
            Chart(
                "spectra",
                Axis("place", scale="log"),
                Axis("eigenvalue over edge", range=(0, 9)),
                (
                    *(
                        points(
                            f"layer {layer}",
                            found.eigenvalue.values,
                            found.ratio.sel(layer=layer).values,
                            color=color,
                        )
                        for layer, color in zip(found.layer.values.tolist(), COLORS, strict=False)
                    ),
                    hline("random labels", 1.0),
                ),
            ),
        ]
        side = round(filters.sizes["direction"] ** 0.5)
        for number in filters.neuron.values.tolist():
            image = filters.weight.sel(neuron=number).values.reshape(side, side)[::-1]  # top last
            series = heat("weight", np.arange(side), np.arange(side), image)
            charts.append(
                Chart(f"filter {number}", Axis("column"), Axis("row from below"), (series,))
            )
        n = setting(runs, "n")
        return Panels(f"{self.title}, $n = {n}$", tuple(charts), caption=self.sentence, across=3)

    def claims(self, data: Data) -> list[Claim]:
        """Depth makes the classes separable, and there is something outside of the bulk."""
        probe = data["probes"].probe.values
        mean, full = probe.mean(axis=0), float(data["probes"].accuracy.values.mean())
        gains = probe[:, -1] - probe[:, 0]
        outside = [int((ratio > 1).sum()) for ratio in data["spectra"].ratio.values]
        shown = ", ".join(f"{value:.3f}" for value in mean)
        return [
            Claim("the linear probe is better after all layers", bool((gains > 0).all()), shown),
            Claim(
                "no layer makes it worse by more than the spread of a split",
                bool((np.diff(mean) > -0.01).all()),
                shown,
            ),
            Claim(
                "eigenvalues lie outside of the bulk in every layer",
                min(outside) >= 1,
                ", ".join(map(str, outside)),
            ),
            Claim(
                "what reads the layers is better than the last linear probe",
                full > mean[-1],
                f"{full:.3f} against {mean[-1]:.3f}",
            ),
        ]
