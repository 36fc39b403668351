"""Who can be watched and predicted: names for people, theory and learner of each, and sliders."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..charts import PALETTE, color_of


class Contestant(NamedTuple):
    """One algorithm of a race along the number of samples."""

    key: str
    label: str
    theories: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()

    @property
    def color(self) -> str:
        """Color of the algorithm, the same in every chart of the lab."""
        return _HUES.get(self.key) or color_of(self.key)


# In the report kernels are random features, and depth never meets message passing; here all race.
_HUES = {"dot_kernel_ridge": "#8A5A00", "layerwise": "#5E3C99"}


RACE = (
    Contestant("bayes_amp", "message passing (AMP)", ("bayes_amp",), ("bayes_amp",)),
    Contestant("random_features", "random features", ("random_features",), ("random_features",)),
    Contestant("giant_step", "giant gradient step", ("one_step",), ("giant_step",)),
    Contestant("sgd", "one pass of SGD", ("sgd_flow",)),
    Contestant("reused_batch", "samples seen again", ("reused_batch",)),
    Contestant("spectral_directions", "spectral method", (), ("spectral_directions",)),
    Contestant("dot_kernel_ridge", "kernel", ("lazy", "depth"), ("dot_kernel_ridge",)),
    Contestant("layerwise", "three layers", ("depth",), ("layerwise",)),
    Contestant("bayes_optimal", "Bayes-optimal", ("bayes_optimal",)),
)
"""Algorithms that race along samples per dimension."""

RULES = {"plain": "one pass of SGD", "extragradient": "extra-gradient"}
"""Rules of SGD whose neurons are watched along time."""


# Sources whose names are not those of their algorithm.
_ALGORITHMS = {
    "one_step": "giant_step",
    "sgd_flow": "sgd",
    "exact_sgd": "sgd",
    "exact_reused_batch": "reused_batch",
    "lazy": "dot_kernel_ridge",
    "depth": "layerwise",
    "three_layers": "layerwise",
}
_OTHERS = {
    "two_layers": ("two layers", PALETTE["vermillion"]),
    "plain": (RULES["plain"], PALETTE["green"]),
    "extragradient": (RULES["extragradient"], PALETTE["purple"]),
}


def _found(source: str) -> tuple[str, str]:
    name = source.rpartition(":")[2]
    if name in _OTHERS:
        return _OTHERS[name]
    key = _ALGORITHMS.get(name, name)
    who = next((who for who in RACE if who.key == key), Contestant(key, key.replace("_", " ")))
    return who.label, who.color


def source_label(source: str) -> str:
    """Name of the algorithm of a source.

    Examples
    --------
    >>> source_label("simulation:exact_sgd"), source_label("theory:one_step")
    ('one pass of SGD', 'giant gradient step')
    """
    return _found(source)[0]


def source_color(source: str) -> str:
    """Color of the algorithm of a source, the same for theory and simulation."""
    return _found(source)[1]


class Slider(NamedTuple):
    """One parameter of a theory that a page moves, on a logarithmic scale."""

    name: str
    label: str
    low: float
    high: float
    value: float


class Predicted(NamedTuple):
    """A theory with curves on the page.

    Curves of one axis and one kind stand on the same picture.
    """

    label: str
    axis: str
    kind: Literal["learning", "gradient", "plateau"] = "learning"
    sliders: tuple[Slider, ...] = ()
    theory: str = ""
    rule: str = ""
    activation: str = ""


_WIDTH = Slider("width_ratio", "width / d", 0.1, 10.0, 2.0)
_RIDGE = Slider("ridge", "ridge", 1e-3, 10.0, 1.0)
_STEP = Slider("step_size", "step size", 0.1, 10.0, 1.0)
_SGD = (
    Slider("step_size", "step size times d", 0.02, 1.0, 0.1),
    Slider("overlap", "overlap at the start", 0.003, 0.3, 0.1),
)

PREDICTED: dict[str, Predicted] = {
    "bayes_amp": Predicted("message passing (AMP)", "alpha"),
    # The same activation as one step, so that the step is all the difference between them.
    "random_features": Predicted(
        "random features", "alpha", sliders=(_WIDTH, _RIDGE), activation="tanh(z)"
    ),
    "one_step": Predicted(
        "one giant step, ridge readout",
        "alpha",
        sliders=(
            Slider("batch_ratio", "batch / d", 0.5, 20.0, 4.0),
            _STEP,
            _WIDTH._replace(value=1.0),
            _RIDGE._replace(value=0.1),
        ),
        activation="tanh(z)",
    ),
    "reused_batch": Predicted(
        "gradient descent on the same samples",
        "alpha",
        sliders=(Slider("step_size", "step size", 0.05, 2.0, 0.3),),
    ),
    "giant_steps": Predicted("giant steps, one after the other", "alpha", "gradient"),
    "sgd_flow": Predicted("one pass of SGD", "time", sliders=_SGD, rule="plain"),
    "extragradient": Predicted(
        "extra-gradient: each sample twice",
        "time",
        sliders=(*_SGD, Slider("inner_step_size", "first step times d", 0.01, 0.5, 0.1)),
        theory="sgd_flow",
        rule="extragradient",
    ),
    "lazy": Predicted("kernel (lazy network)", "kappa", "plateau"),
    "depth": Predicted("two layers against three", "kappa", "plateau"),
}
"""Theories with curves on the page."""


def covered(target: Any) -> list[dict[str, Any]]:
    """Contestants of a target, with the reason why a theory or a simulation is not there."""
    import numpy as np

    from ..experiments.entrants import line_up

    one = np.ones(1)
    absent = line_up(target, d=64, grid=one, points=one).absent
    found = []
    for who in RACE:
        theory = [absent.get(f"theory:{name}") for name in who.theories]
        learner = [absent.get(f"simulation:{name}") for name in who.learners]
        found.append(
            {
                "key": who.key,
                "label": who.label,
                "color": who.color,
                "theory": _first(theory),
                # Exact simulations of SGD come with the theory of the same name.
                "simulation": _first(learner if who.learners else theory),
                "is_there": None in theory + learner,
            }
        )
    return found


def _first(reasons: list[str | None]) -> str | None:
    """Reason why something is not there: None if it is."""
    if not reasons:
        return "there is no theory of it"
    return None if None in reasons else reasons[0]


def theories(target: Any) -> list[dict[str, Any]]:
    """Theories of the page with their sliders, or the reason why they do not cover a target."""
    from ..theory import THEORIES
    from ..theory._registry import obstacle

    return [
        {
            "key": name,
            "label": one.label,
            "color": source_color(name),
            "axis": one.axis,
            "kind": one.kind,
            "reason": obstacle(THEORIES[one.theory or name](), target),
            "sliders": [slider._asdict() for slider in one.sliders],
        }
        for name, one in PREDICTED.items()
    ]
