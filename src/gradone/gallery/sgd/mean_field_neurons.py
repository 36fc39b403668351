"""The flow of the neurons of a very wide network, in the plane of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...algorithms import ALGORITHMS, Run
from ...charts import Axis, Chart, Panels, line, points
from ...targets.target import Target
from .._checks import agrees, mean_and_error
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from ...charts import Series
    from .._memo import Memo

_TIMES = {"z1 + z1*z2": (1.0, 3.0, 6.0), "z1*z2": (6.0, 9.0, 14.0)}
_GAMMA = 0.02
_PARTICLES = 48
SIZES: dict[Size, dict[str, int]] = {
    "small": {"d": 300, "width": 32, "replicates": 4},
    "paper": {"d": 1000, "width": 64, "replicates": 8},
}
_COLORS = {1.0: "blue", -1.0: "vermillion"}
_MARKERS = ("circle", "square", "triangle")
_SLACK = 0.03  # of an overlap: 1/d, 1/width and steps of 0.002


def simulated(target: str, d: int, width: int, replicates: int) -> xr.Dataset:
    """Neurons of a wide network at a few times of the flow, by the engine."""
    settings = {"gamma": _GAMMA, "width": width, "replicates": replicates}
    run = Run(Target(target), "time", _TIMES[target], d, 0, settings)
    found = ALGORITHMS["mean_field"]().simulated(run)
    return found[["overlap", "overlap_err", "readout", "readout_err"]]


def flow(target: str, d: int) -> xr.Dataset:
    """Particles of the limit of infinite width, from a start in dimension d."""
    times = np.linspace(0, _TIMES[target][-1], 121)
    run = Run(Target(target), "time", times, d, 0, {"particles": _PARTICLES})
    found = ALGORITHMS["mean_field"]().predicted(run)
    return found[["overlap", "overlap_err", "readout", "readout_err"]]


def _rows(curve: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Signs of the readouts at the start (neurons,), and overlaps (..., time, neurons, 2)."""
    readout = curve.readout.transpose(..., "time", "neuron").values
    return (
        np.sign(readout.reshape(-1, *readout.shape[-2:])[0, 0]),
        curve.overlap.transpose(..., "time", "neuron", "direction").values,
    )


@FIGURES.add("mean-field-neurons")
class MeanFieldNeurons(GalleryFigure):
    """Neurons of a very wide network flow through the plane of the target."""

    title = "The flow of neurons"
    sentence = (
        "Lines are particles of the mean-field limit, marks are neurons of one network of finite "
        "width, trained by SGD; colors tell the sign of the readout. On $z_1 + z_1 z_2$ all "
        "neurons first move along $z_1$ and then turn to $z_2$ (a). On $z_1 z_2$ they wait near "
        "zero, a saddle, and then leave it along the diagonal of their sign (b)."
    )
    cites = ("rotskoff2018particles", "mei2018meanfield", "chizat2018global", "abbe2022merged")
    budget = {"small": 60.0, "paper": 600.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Particles and neurons of both targets."""
        found = {}
        for target in _TIMES:
            found[f"limit {target}"] = memo(flow, target, SIZES[size]["d"])
            found[f"SGD {target}"] = memo(simulated, target, *SIZES[size].values())
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """The plane of the overlaps, one panel for each target."""
        charts = [
            Chart(
                words,
                Axis("overlap with $z_1$", range=(-1.9, 1.9)),
                Axis("overlap with $z_2$", range=reach),
                tuple(_panel(data[f"limit {target}"], data[f"SGD {target}"], _TIMES[target])),
            )
            for target, words, reach in [
                ("z1 + z1*z2", "$z_1 + z_1 z_2$", (-0.4, 1.6)),
                ("z1*z2", "$z_1 z_2$", (-1.9, 2.3)),
            ]
        ]
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """Neurons follow their particles on the staircase, and leave the saddle along diagonals."""
        limit, runs = data["limit z1 + z1*z2"], data["SGD z1 + z1*z2"]
        found = []
        (signs, u), (other, v) = _rows(limit), _rows(runs)
        for sign, word in ((1.0, "positive"), (-1.0, "negative")):
            mean, error = mean_and_error(v[:, :, other == sign].mean(axis=2), axis=0)
            line_of = u[:, signs == sign].mean(axis=1)
            found += [
                agrees(
                    f"neurons of {word} readout have the overlap of the limit with z{k + 1}",
                    (runs.time.values, mean[:, k], error[:, k]),
                    (limit.time.values, line_of[:, k]),
                    slack=_SLACK,
                )
                for k in (0, 1)
            ]
        for name in ("limit", "SGD"):
            signs, u = _rows(data[f"{name} z1*z2"])
            last = u[..., -1, :, :]
            share = 2 * last.prod(axis=-1) / (last**2).sum(axis=-1) * signs
            weight = (last**2).sum(axis=-1)
            value = float((share * weight).sum() / weight.sum())
            found.append(
                Claim(
                    f"on z1*z2 {'particles' if name == 'limit' else 'neurons'} end along the "
                    "diagonal of their sign",
                    value > 0.9,
                    f"cosine of twice the angle {value:.3f}",
                )
            )
        return found


def _panel(limit: xr.Dataset, runs: xr.Dataset, times: tuple[float, ...]) -> list[Series]:
    signs, u = _rows(limit)
    series = []
    for sign, word in ((1.0, "$a > 0$"), (-1.0, "$a < 0$")):
        # One line with gaps for all particles of a sign.
        paths = u[:, signs == sign].transpose(1, 0, 2)
        gaps = np.concatenate([paths, np.full((len(paths), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        name = f"theory, {word}"
        series.append(line(name, gaps[:, 0], gaps[:, 1], color=_COLORS[sign], width=0.6))
    other, v = _rows(runs)
    for place, (time, marker) in enumerate(zip(times, _MARKERS, strict=True)):
        for sign in (1.0, -1.0):
            now = v[0, place][other == sign]
            name = f"simulation, $t = {time:g}$" if sign > 0 else ""
            series.append(
                points(name, now[:, 0], now[:, 1], color=_COLORS[sign], marker=marker, size=3.0)
            )
    return series
