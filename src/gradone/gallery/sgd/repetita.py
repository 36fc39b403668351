"""Looking twice at a sample: extra-gradient learns He3 and He4, where one pass does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts import Axis, Chart, Panels, average, line, points
from ...dynamics import sgd
from ...theory.predict import predict
from .._checks import agrees
from .._figure import FIGURES, Claim, Data, GalleryFigure, Size

if TYPE_CHECKING:
    import xarray as xr

    from .._memo import Memo

# Target, geometry, gamma and rho (d times the step and the inner step), and the last time.
PROBLEMS: dict[str, dict[str, Any]] = {
    "He3": {"target": "He3(z)", "geometry": "euclidean", "gamma": 0.1, "rho": 0.1, "last": 50},
    "He4": {"target": "He4(z)", "geometry": "spherical", "gamma": 0.05, "rho": 0.3, "last": 300},
}
SIZES: dict[Size, dict[str, dict[int, int]]] = {  # dimension -> replicates
    "small": {"He3": {512: 10, 2048: 10, 8192: 10}, "He4": {512: 10, 2048: 10}},
    "paper": {"He3": {512: 32, 2048: 32, 8192: 32}, "He4": {512: 32, 2048: 32, 8192: 16}},
}
COLORS = {"extragradient": "purple", "plain": "green"}
NAMES = {"extragradient": "extra-gradient", "plain": "one pass"}
_MARKERS = {512: "circle", 2048: "square", 8192: "triangle"}


def start(name: str, d: int) -> Any:
    """No overlap; for He4, which is even and would stay there, that of a random neuron."""
    return {"M": [[d**-0.5]], "Q": [[1.0]]} if name == "He4" else "orthogonal"


def simulated(name: str, rule: str, d: int, replicates: int) -> xr.Dataset:
    """Exact simulation of one neuron."""
    problem = PROBLEMS[name]
    inner = {"inner_step_size": problem["rho"] / d} if rule == "extragradient" else {}
    steps = problem["last"] * d
    run = sgd(
        problem["target"],
        d=d,
        width=1,
        activation="relu(z)",
        steps=steps,
        step_size=problem["gamma"] / d,
        rule=rule,
        geometry=problem["geometry"],
        init=start(name, d),
        record=np.linspace(0, steps, 13).astype(int),
        replicates=replicates,
        progress=False,
        **inner,
    )
    return run.drop_vars([key for key in run.data_vars if not str(key).startswith("recovery")])


def flow(name: str, rule: str, d: int) -> xr.Dataset:
    """The limit of large dimension, from the start that it has at d."""
    problem = PROBLEMS[name]
    inner = {"inner_step_size": problem["rho"]} if rule == "extragradient" else {}
    found = predict(
        problem["target"],
        "sgd_flow",
        time=np.linspace(0, problem["last"], 61)[1:],
        width=1,
        activation="relu(z)",
        step_size=problem["gamma"],
        rule=rule,
        geometry=problem["geometry"],
        init=start(name, d),
        **inner,
    )
    return found.drop_vars([key for key in found.data_vars if not str(key).startswith("recovery")])


@FIGURES.add("repetita")
class Repetita(GalleryFigure):
    """Looking twice at a sample: extra-gradient learns He3 and He4, where one pass does not."""

    title = "Repeating a sample breaks the curse of the information exponent"
    sentence = (
        "A second look at each sample makes $\\mathrm{He}_3$ visible within $O(d)$ steps and "
        "$\\mathrm{He}_4$ within $O(d \\log d)$, for every $d$ alike; one pass stays at the "
        "overlap $1/\\sqrt{d}$ of chance."
    )
    cites = ("arnaboldi2024repetita", "damian2024gaps")
    budget = {"small": 100.0, "paper": 900.0}

    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Recovery against time by target, rule and dimension, with the flows."""
        found = {}
        for name, runs in SIZES[size].items():
            for d, replicates in runs.items():
                for rule in COLORS:
                    found[f"{name} {rule} {d}"] = memo(simulated, name, rule, d, replicates)
                if name == "He4":
                    found[f"{name} flow {d}"] = memo(flow, name, "extragradient", d)
            if name == "He3":  # the same for every d
                found[f"{name} flow"] = memo(flow, name, "extragradient", 0)
        return found

    def draw(self, data: Data) -> Chart | Panels:
        """One panel for each target."""
        return Panels(
            self.title,
            tuple(self._panel(data, name) for name in PROBLEMS),
            caption=self.sentence,
        )

    def _panel(self, data: Data, name: str) -> Chart:
        series = []
        for key in (key for key in data if key.startswith(f"{name} flow")):
            d = key.removeprefix(f"{name} flow").strip()
            series.append(
                line(
                    f"theory, from $d = {d}$" if d else "theory",
                    data[key].time.values,
                    data[key].recovery.values[:, 0],
                    color=COLORS["extragradient"],
                    dash="solid" if d in ("", "512") else "dash",
                )
            )
        for rule, color in COLORS.items():
            for key in (key for key in data if key.startswith(f"{name} {rule}")):
                mean, error = average(data[key], "recovery")
                d = key.split()[-1]
                series.append(
                    points(
                        f"{NAMES[rule]}, $d = {d}$",
                        data[key].time.values,
                        mean.values[:, 0],
                        error.values[:, 0],
                        color=color,
                        marker=_MARKERS[int(d)],
                    )
                )
        series.append(points("simulation", [], [], color="gray"))
        return Chart(
            f"link $\\mathrm{{He}}_{name[-1]}$",
            Axis("steps / $d$"),
            Axis("overlap with the direction", range=(0, 1)),
            tuple(series),
        )

    def claims(self, data: Data) -> list[Claim]:
        """The gap between the rules, its independence of d, and the agreement with the flow."""
        found = []
        for name in PROBLEMS:
            last = {
                key: average(curve, "recovery")[0].values[-1, 0]
                for key, curve in data.items()
                if key.startswith(name) and "flow" not in key
            }
            extra = [value for key, value in last.items() if "extragradient" in key]
            plain = [value for key, value in last.items() if "plain" in key]
            found.append(
                Claim(
                    f"extra-gradient learns {name} at every dimension",
                    min(extra) > 0.5 and max(extra) - min(extra) < 0.2,
                    ", ".join(f"{value:.3f}" for value in extra),
                )
            )
            found.append(
                Claim(
                    f"one pass does not learn {name}, the less the larger d",
                    max(plain) < 0.2 and plain[-1] < plain[0],
                    ", ".join(f"{value:.3f}" for value in plain),
                )
            )
        for key in (key for key in data if "flow" in key):
            name, _, *d = key.split()
            runs = data[f"{name} extragradient {d[0] if d else 8192}"]
            mean, error = average(runs, "recovery")
            late = runs.time.values > 0.1 * PROBLEMS[name]["last"]  # before, it is chance
            found.append(
                agrees(
                    f"extra-gradient on {name} follows the limit"
                    + (f" at d = {d[0]}" if d else ""),
                    (runs.time[late], mean[late, 0], error[late, 0]),
                    (data[key].time, data[key].recovery[:, 0]),
                    slack=0.01,
                )
            )
        return found
