"""Who can be watched and predicted: names for people, theory and learner of each, and sliders."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..charts import PALETTE, color_of


class Contestant(NamedTuple):
    """One algorithm of a race along the number of samples."""

    key: str
    label: str
    theories: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()

    @property
    def color(self) -> str:
        """Color of the algorithm, the same in every chart."""
        return color_of(self.key)


RACE = (
    Contestant("bayes_amp", "message passing (AMP)", ("bayes_amp",), ("bayes_amp",)),
    Contestant("random_features", "random features", ("random_features",), ("random_features",)),
    Contestant("giant_step", "giant gradient step", ("one_step",), ("giant_step",)),
    Contestant("sgd", "one pass of SGD", ("sgd_flow",)),
    Contestant("reused_batch", "samples seen again", ("reused_batch",)),
    Contestant("spectral_directions", "spectral method", (), ("spectral_directions",)),
    Contestant("dot_kernel_ridge", "kernel", ("lazy",), ("dot_kernel_ridge",)),
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
    """One parameter of a theory that a page moves."""

    name: str
    label: str
    low: float
    high: float
    value: float


_WIDTH = Slider("width_ratio", "width / d", 0.1, 10.0, 2.0)
_RIDGE = Slider("ridge", "ridge", 1e-3, 10.0, 1.0)
_STEP = Slider("step_size", "step size", 0.1, 10.0, 1.0)

PREDICTED: dict[str, tuple[str, tuple[Slider, ...]]] = {
    "bayes_amp": ("alpha", ()),
    "random_features": ("alpha", (_WIDTH, _RIDGE)),
    "one_step": (
        "alpha",
        (
            Slider("batch_ratio", "batch / d", 0.5, 20.0, 4.0),
            _STEP,
            _WIDTH._replace(value=1.0),
            _RIDGE._replace(value=0.1),
        ),
    ),
    "giant_steps": ("alpha", ()),
    "reused_batch": ("alpha", (Slider("step_size", "step size", 0.05, 2.0, 0.3),)),
    "sgd_flow": ("time", (Slider("step_size", "step size times d", 0.02, 2.0, 0.2),)),
    "lazy": ("kappa", ()),
    "depth": ("kappa", ()),
}
"""Theories with a curve on the page: their axis, and what can be moved. Sliders are logarithmic."""

THEORY_LABELS = {
    "bayes_amp": "message passing (AMP)",
    "random_features": "random features",
    "one_step": "one giant step, ridge readout",
    "giant_steps": "giant steps: how much of the gradient lies in the target",
    "reused_batch": "gradient descent on the same samples",
    "sgd_flow": "one pass of SGD, flow in time",
    "lazy": "kernel (lazy network)",
    "depth": "two layers against three",
}


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
                "simulation": _first(learner if who.learners else theory[:1]),
                "is_there": None in theory + learner,
            }
        )
    return found


def _first(reasons: list[str | None]) -> str | None:
    """Reason why something is not there: None if it is."""
    return "there is none" if not reasons else next((r for r in reasons if r), None)


def theories(target: Any) -> list[dict[str, Any]]:
    """Theories of the page with their sliders, or the reason why they do not cover a target."""
    from ..theory import THEORIES
    from ..theory._registry import obstacle

    return [
        {
            "key": name,
            "label": THEORY_LABELS[name],
            "color": color_of(name),
            "axis": axis,
            "reason": obstacle(THEORIES[name](), target),
            "sliders": [slider._asdict() for slider in sliders],
        }
        for name, (axis, sliders) in PREDICTED.items()
    ]
