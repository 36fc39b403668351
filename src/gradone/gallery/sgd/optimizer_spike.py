"""A direction of the inputs with a large variance holds back SGD, and not Muon.

The setting is that of Braun, Bao, Huang and Imaizumi 2026, arXiv:2601.22652, with batches of fresh
samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.curves import curve
from ...charts import Axis, Chart, Panels, line, ordered_colors, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET, D, WIDTH, BATCH = "z**2", 1000, 4, 200
SPIKES = (5.0, 10.0, 20.0, 40.0)
# Updates along the spike are larger by its eigenvalue: so must the step of SGD be smaller.
STEPS = {"sgd": 0.1, "muon": 0.01}
_LAST = {"sgd": 40.0, "muon": 300.0}  # updates: times the eigenvalue for SGD
_NORM, _OVERLAP, _LEVEL = 0.001, 0.15, 0.9
REPLICATES: dict[Size, int] = {"small": 16, "paper": 64}


def settings(optimizer: str, spike: float) -> tuple[dict[str, Any], float, int]:
    """The network on inputs with a spike without signal, its step, and the updates it makes."""
    rest = (1 - spike / D) / (1 - 1 / D)
    size = math.sqrt(_NORM)
    network = {
        "width": WIDTH,
        "activation": "z**2",
        "readout": [1.0] * WIDTH,
        "init": {
            "M": [[sign * _OVERLAP * size] for sign in (1, -1, 1, -1)],
            "Q": (_NORM * np.eye(WIDTH)).tolist(),
        },
        "covariance": {
            "eigenvalues": [spike, rest],
            "fractions": [1 / D, 1 - 1 / D],
            "signal": [0.0, 1 / rest],
        },
    }
    slow = spike if optimizer == "sgd" else 1.0
    return network, STEPS[optimizer] / slow, round(_LAST[optimizer] * slow)


def _read(run: xr.Dataset, recovery: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Updates until the recovery is 0.9, and the largest part of the weights in the spike."""
    squares = np.trace(run.block_norm.values, axis1=-2, axis2=-1)
    share = (squares[..., 0] / squares.sum(axis=-1)).max(axis=-1)
    reached = recovery >= _LEVEL
    steps = run.step.values if "step" in run.coords else np.round(run.time.values * D)
    return np.where(reached.any(axis=-1), steps[reached.argmax(axis=-1)], np.nan), share


def simulated(optimizer: str, spike: float, replicates: int) -> xr.Dataset:
    """Means over runs of the engine."""
    network, step, last = settings(optimizer, spike)
    run = sgd(
        TARGET, d=D, steps=last, step_size=step, batch_size=BATCH, optimizer=optimizer,
        record=np.unique(np.linspace(0, last, 400).astype(int)), replicates=replicates,
        progress=False, **network,
    )  # fmt: skip
    values: dict[str, Any] = {}
    for name, each in zip(
        ("updates", "share"), _read(run, run.recovery.values[..., 0]), strict=True
    ):
        values[name] = ((), each.mean())
        values[f"{name}_err"] = ((), each.std(ddof=1) / math.sqrt(replicates))
    return curve(
        values, {}, source="simulation:sgd", target=TARGET, params={"spike": spike}, seed=0
    )


def limit(spike: float) -> xr.Dataset:
    """The same for SGD along the flow, with a spike that is 1/d of all dimensions."""
    network, step, last = settings("sgd", spike)
    times = np.linspace(0, last, 101)[1:] / D
    flow = predict(
        TARGET, "sgd_flow", time=times, step_size=step * D, batch_size=BATCH, points=2048,
        **network,
    )  # fmt: skip
    updates, share = _read(flow, flow.recovery.values[:, 0])
    values = {"updates": ((), updates), "share": ((), share)}
    errors = {"updates_err": ((), last / 100), "share_err": ((), float(flow.recovery_err.max()))}
    return curve(
        values | errors, {}, source="theory:sgd_flow", target=TARGET, params={"spike": spike}
    )


@FIGURES.add("optimizer-spike")
class OptimizerSpike(GalleryFigure):
    """A direction of the inputs with a large variance holds back SGD, and not Muon."""

    title = "Phase retrieval on inputs with a spike that knows nothing of the label"
    sentence = (
        "One direction of the inputs has a large variance and no part in $y = z^2$. SGD turns its "
        "neurons towards it, must take smaller steps, and needs more updates in proportion; the "
        "orthogonal updates of Muon give the spike no more than its place among the neurons."
    )
    cites = ("braun2025anisotropic",)
    budget = {"small": 60.0, "paper": 300.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Updates and shares by the eigenvalue of the spike."""
        runs = {
            f"simulation {name}": [memo(simulated, name, s, REPLICATES[size]) for s in SPIKES]
            for name in STEPS
        }
        runs["theory sgd"] = [memo(limit, s) for s in SPIKES]
        found = {}
        for name, parts in runs.items():
            values = {
                key: ("spike", np.array([part[key].item() for part in parts]))
                for key in ("updates", "updates_err", "share", "share_err")
            }
            source = "theory:sgd_flow" if name.startswith("theory") else "simulation:sgd"
            found[name] = curve(values, {"spike": list(SPIKES)}, source=source, target=TARGET)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """Updates and shares against the eigenvalue."""
        charts = []
        for name, label, scale in (
            ("updates", f"updates to recovery {_LEVEL:g}", "log"),
            ("share", "largest part of the weights in the spike", "linear"),
        ):
            series = []
            for optimizer, color in zip(STEPS, ordered_colors(len(STEPS)), strict=True):
                runs = data[f"simulation {optimizer}"]
                if optimizer == "sgd":
                    theory = data["theory sgd"]
                    series.append(
                        line("SGD, flow", theory.spike.values, theory[name].values, color=color)
                    )
                title = {"sgd": "SGD", "muon": "Muon"}[optimizer]
                series.append(
                    points(
                        title, runs.spike.values, runs[name].values, runs[f"{name}_err"].values,
                        color=color,
                    )
                )  # fmt: skip
            vertical = Axis(label, "log") if scale == "log" else Axis(label, range=(0, 1))
            charts.append(
                Chart("", Axis("eigenvalue of the spike", "log"), vertical, tuple(series))
            )
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """What grows with the spike, what does not, and the agreement of SGD with its flow."""
        slow, fast, theory = (
            data[name] for name in ("simulation sgd", "simulation muon", "theory sgd")
        )
        found = []
        for name, unit in (("updates", "updates"), ("share", "of the weights")):
            gap = np.abs(slow[name].values / theory[name].values - 1)
            error = (slow[f"{name}_err"] + theory[f"{name}_err"]).values / theory[name].values
            found.append(
                Claim(
                    f"SGD follows its flow ({unit})",
                    bool((gap < 4 * error + 0.05).all()),
                    f"largest relative gap {gap.max():.3f}",
                )
            )
        ratio = slow.updates.values[-1] / slow.updates.values[0]
        found.append(
            Claim(
                "the updates of SGD grow in proportion to the spike",
                bool(0.7 < ratio / (SPIKES[-1] / SPIKES[0]) < 1.6),
                f"{ratio:.1f} times as many for {SPIKES[-1] / SPIKES[0]:g} times the eigenvalue",
            )
        )
        spread = fast.updates.values.max() / fast.updates.values.min()
        found.append(
            Claim(
                "those of Muon do not change with it",
                bool(spread < 1.3),
                f"largest over smallest number {spread:.2f}",
            )
        )
        part = fast.share.values[2:] / slow.share.values[2:]
        found.append(
            Claim(
                "the spike takes less than half as much of the weights under Muon",
                bool((part < 0.5).all()),
                f"{part.max():.2f} of its part under SGD, at an eigenvalue of 20 and more",
            )
        )
        return found
