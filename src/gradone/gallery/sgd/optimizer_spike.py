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
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

TARGET, D, WIDTH, BATCH = "z**2", 1000, 4, 2000
SPIKES = (8.0, 16.0, 32.0)
# Updates along the spike are larger by its eigenvalue s: SGD is stable up to a step between 0.4/s
# and 0.8/s, at s = 8 and at s = 32, and takes an eighth of the smaller one.
STEPS = {"sgd": 0.05, "muon": 0.01}
_LAST = {"sgd": 20.0, "muon": 200.0}  # updates: times the eigenvalue for SGD
_NORM, _OVERLAP, _LEVEL = 0.001, 0.15, 0.9
REPLICATES: dict[Size, int] = {"small": 8, "paper": 32}


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


def _read(
    steps: np.ndarray, recovery: np.ndarray, spike: np.ndarray, whole: np.ndarray
) -> dict[str, Any]:
    """Updates to recovery 0.9 and the largest part of the weights in the spike: mean, error."""
    reached = recovery >= _LEVEL
    updates = np.where(reached.any(axis=1), steps[reached.argmax(axis=1)], np.nan)
    values: dict[str, Any] = {}
    for name, each in (("updates", updates), ("share", (spike / whole).max(axis=1))):
        values[name] = ((), each.mean())
        values[f"{name}_err"] = ((), each.std(ddof=1) / math.sqrt(len(each)))
    return values


def simulated(optimizer: str, spike: float, replicates: int) -> xr.Dataset:
    """Means over runs of the engine."""
    network, step, last = settings(optimizer, spike)
    run = sgd(
        TARGET, d=D, steps=last, step_size=step, batch_size=BATCH, optimizer=optimizer,
        record=np.unique(np.linspace(0, last, 400).astype(int)), replicates=replicates,
        progress=False, **network,
    )  # fmt: skip
    squares = np.trace(run.block_norm.values, axis1=-2, axis2=-1)
    values = _read(
        run.step.values, run.recovery.values[..., 0], squares[..., 0], squares.sum(axis=-1)
    )
    return curve(
        values, {}, source="simulation:sgd", target=TARGET, params={"spike": spike}, seed=0
    )


def limit(spike: float, starts: int = 64) -> xr.Dataset:
    r"""Gradient descent on the population loss of phase retrieval, from starts of the same law.

    With the covariance C of the inputs, m = W C w* and Q = W C W^T,
    :math:`\mathbb{E}[e\,\sigma'(\lambda)\,x^\top] = 2\,[(1 - \mathrm{tr}\,Q - 2Q)\,W C
    + 2 m w^{\star\top} C]`.
    """
    network, step, last = settings("sgd", spike)
    rest, rng = network["covariance"]["eigenvalues"][1], np.random.default_rng(0)
    M, eye = np.array(network["init"]["M"])[:, 0], np.eye(WIDTH)
    along = np.tile(M * math.sqrt(rest), (starts, 1))  # on the unit vector of the signal
    outside = _NORM * eye - np.outer(along[0], along[0])  # Gram matrix of all the rest
    root = np.linalg.cholesky(outside)
    v = (rng.standard_normal((starts, WIDTH)) @ root.T) / math.sqrt(D)  # on the spike
    bulk = np.tile((1 - 1 / D) * outside, (starts, 1, 1))
    recovery, in_spike, whole = [], [], []
    for _ in range(last):
        m = along * math.sqrt(rest)
        Q = spike * v[:, :, None] * v[:, None] + rest * along[:, :, None] * along[:, None]
        Q = Q + rest * bulk
        known = np.linalg.solve(Q, m[..., None])[..., 0]
        recovery.append(np.sqrt((m * known).sum(axis=1)))
        in_spike.append((v**2).sum(axis=1))
        whole.append(in_spike[-1] + (along**2).sum(axis=1) + np.trace(bulk, axis1=1, axis2=2))
        pull = 2 * step * ((1 - np.trace(Q, axis1=1, axis2=2))[:, None, None] * eye - 2 * Q)
        v = v + spike * np.einsum("rij,rj->ri", pull, v)
        along = along + rest * np.einsum("rij,rj->ri", pull, along) + 4 * step * m * math.sqrt(rest)
        move = eye + rest * pull
        bulk = move @ bulk @ move.transpose(0, 2, 1)
    values = _read(np.arange(last), *(np.array(part).T for part in (recovery, in_spike, whole)))
    return curve(
        values, {}, source="theory:population_gradient", target=TARGET, params={"spike": spike}
    )


@FIGURES.add("optimizer-spike")
class OptimizerSpike(GalleryFigure):
    """A direction of the inputs with a large variance holds back SGD, and not Muon."""

    title = "Phase retrieval on inputs with a spike that knows nothing of the label"
    sentence = (
        "One direction of the inputs has a large variance and no part in $y = z^2$. SGD turns its "
        "neurons towards it; its stable steps shrink as the spike grows, and the updates it needs "
        "grow in proportion. The orthogonal updates of Muon give the spike no more than its place "
        "among the neurons, at one step size for all spikes."
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
                key: ("eigenvalue", np.array([part[key].item() for part in parts]))
                for key in ("updates", "updates_err", "share", "share_err")
            }
            source = "theory:population_gradient" if name.startswith("theory") else "simulation:sgd"
            found[name] = curve(values, {"eigenvalue": list(SPIKES)}, source=source, target=TARGET)
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
                        line(
                            "SGD, theory",
                            theory.eigenvalue.values,
                            theory[name].values,
                            color=color,
                        )
                    )
                title = {"sgd": "SGD, simulation", "muon": "Muon, simulation"}[optimizer]
                series.append(
                    points(
                        title, runs.eigenvalue.values, runs[name].values,
                        runs[f"{name}_err"].values, color=color,
                    )
                )  # fmt: skip
            vertical = Axis(label, "log") if scale == "log" else Axis(label, range=(0, 1))
            charts.append(
                Chart("", Axis("eigenvalue of the spike", "log"), vertical, tuple(series))
            )
        return Panels(self.title, tuple(charts), caption=self.sentence)

    def claims(self, data: Data) -> list[Claim]:
        """What grows with the spike, what does not, and the agreement with the population."""
        slow, fast, theory = (
            data[name] for name in ("simulation sgd", "simulation muon", "theory sgd")
        )
        found = []
        for name, unit in (("updates", "updates"), ("share", "of the weights")):
            gap = np.abs(slow[name].values / theory[name].values - 1)
            error = (slow[f"{name}_err"] + theory[f"{name}_err"]).values / theory[name].values
            found.append(
                Claim(
                    f"SGD follows the gradient of the population loss ({unit})",
                    bool((gap < 4 * error + 0.06).all()),
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
        part = fast.share.values[1:] / slow.share.values[1:]
        found.append(
            Claim(
                "the spike takes less of the weights under Muon",
                bool((part < 0.6).all()),
                f"{part.max():.2f} of its part under SGD, at an eigenvalue of 16 and more",
            )
        )
        return found
