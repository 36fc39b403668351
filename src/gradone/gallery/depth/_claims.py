"""Measurements behind the claims on depth: hierarchical targets and their learners."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...analysis.analyze import analyze
from ...analysis.depth import checklist, energies, plateau, random_bias_energies, required_exponent
from ...targets.hierarchical import Might, QuadraticForms, Sight
from ...theory import first_stage, first_stage_threshold, gram_levels
from .._verdict import found, mean_of

if TYPE_CHECKING:
    import xarray as xr

Depth = Literal["lazy", "two_layer", "three_layer"]
NAMES: tuple[Depth, ...] = ("lazy", "two_layer", "three_layer")


def _sight(outer: str, inner: str, exponent: float = 0.5) -> Sight:
    return Sight(outer=outer, inner=inner, exponent=exponent)


def needed(**target: Any) -> xr.Dataset:
    """Powers of d of the samples that a kernel, two and three layers need."""
    known = _sight(**target)
    return found(**{name: float(required_exponent(known, name)) for name in NAMES})


def needed_by(kind: Literal["Might", "QuadraticForms"], **target: Any) -> xr.Dataset:
    """The same for targets of several branches, or whose features are as many as the inputs."""
    known = {"Might": Might, "QuadraticForms": QuadraticForms}[kind](**target)
    return found(**{name: float(required_exponent(known, name)) for name in NAMES})


def plateaus(kappa: float, **target: Any) -> xr.Dataset:
    """Errors of a kernel, two and three layers at n = d**kappa."""
    known = _sight(**target)
    return found(**{name: plateau(known, kappa, name) for name in NAMES})


def spectrum(**target: Any) -> xr.Dataset:
    """Energies of the label in polynomials of the directions, by degree."""
    phi = energies(_sight(**target), 4).phi
    return found(**{f"degree_{q}": one for q, one in enumerate(phi, 1)})


def exponent(**target: Any) -> xr.Dataset:
    """The compositional information exponent."""
    return found(cie=str(analyze(_sight(**target)).information_exponent))


def threshold(score: Literal["gauss", "rank", "label"], **target: Any) -> xr.Dataset:
    """Samples that the first layer needs, in units of d D."""
    return found(n_c=first_stage_threshold(_sight(**target), score))


def first_layer(d: int, n: int, **target: Any) -> xr.Dataset:
    """Squared overlap of the first layer with the hidden directions."""
    return found(overlap2=first_stage(_sight(**target), d=d, n=n).overlap2)


def levels(q: int, degree: int) -> xr.Dataset:
    """Eigenvalue of one degree of the first layer's Gram matrix in q dimensions, for relu."""
    return found(level=gram_levels("relu(z)", q, degree)[degree].eigenvalue)


def conditions(**target: Any) -> xr.Dataset:
    """The conditions of the theorem that a target and a relu network do not meet."""
    bias = target.pop("bias", 0.0)
    known = _sight(**target)
    rows = checklist(known, bias=bias) if bias else checklist(known)
    return found(fail=" ".join(row.id for row in rows if row.verdict != "holds") or "none")


def random_biases() -> xr.Dataset:
    """Mean squared Hermite coefficients of relu with biases uniform on [-1, 1]."""
    return found(**{f"c{j}": one for j, one in enumerate(random_bias_energies("relu(z)", 4))})


def layers_run(d: int, n: int, replicates: int = 3) -> xr.Dataset:
    """Test errors of three and of two layers on samples."""
    from ...learners import Layerwise

    known = _sight("tanh(3*h)", "He2(z)/2 + He3(z)/6")
    errors: dict[str, list[float]] = {"three": [], "two": []}
    for seed in range(replicates):
        sample = known.sample(n=n + 4000, d=d, seed=seed)
        for name, widths in (("three", None), ("two", (256,))):
            chosen = {} if widths is None else {"widths": widths}
            learner = Layerwise(random_state=seed, **chosen).fit(sample.X[:n], sample.y[:n])
            gap = learner.predict(sample.X[n:]) - sample.y[n:]
            errors[name].append(float(np.mean(gap**2)))
    ratio = np.array(errors["three"]) / np.array(errors["two"])
    return found(ratio=mean_of(ratio), three=mean_of(errors["three"]), two=mean_of(errors["two"]))


def separability(n: int, splits: int, shuffled: bool = False) -> xr.Dataset:
    """Accuracies of linear fits on digits: gains of one and of three layers of filters.

    The fits are made on rows that the layers were learned from, and judged on rows held out.
    """
    from sklearn.datasets import load_digits

    from ...learners import NeuralLoFiClassifier

    X, digits = load_digits(return_X_y=True)
    runs = []
    for seed in range(splits):
        rng = np.random.default_rng([24, seed])
        some = rng.permutation(len(digits))[:n]
        y = rng.permutation(digits[some] % 2) if shuffled else digits[some] % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # pixels that never vary
            runs.append(NeuralLoFiClassifier(3, random_state=seed).fit(X[some], y).probe_scores_)
    pixels, one, _, three = np.array(runs).T
    return found(first=mean_of(one - pixels), all=mean_of(three - pixels), last=mean_of(three))


def preconditioning(d: int, n: int, width: int = 500, replicates: int = 8) -> xr.Dataset:
    """Correlation with the hidden feature after gradient steps, and after one preconditioned one.

    The first layer knows the subspace, and its relu features are random in it. Gradient steps have
    the inverse of the largest eigenvalue of the features' covariance as their size.
    """
    known, steps = _sight("tanh(3*h)", "He2(z)/2 + He3(z)/6"), (10, 1000)
    names = (*(f"plain_{t}" for t in steps), "one")
    correlations: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(replicates):
        sample = known.sample(n=2 * n, d=d, seed=seed)
        rng = np.random.default_rng(seed)
        W = rng.standard_normal((width, len(sample.W_star)))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        z = sample.X @ sample.W_star.T
        features = np.maximum(z @ W.T + rng.uniform(-1, 1, width), 0.0)
        F, y = features[:n], sample.y[:n] - sample.y[:n].mean()
        hidden = np.asarray(sample.features[-1])[n:].ravel()
        eigenvalues, axes = np.linalg.eigh(F.T @ F / n)
        seen = axes.T @ (F.T @ y / n)
        share = np.clip(eigenvalues, 0, None) / eigenvalues[-1]
        ridge = 0.02 * np.mean(F**2)
        weights = {f"plain_{t}": _grown(share, t) / eigenvalues[-1] * seen for t in steps}
        weights["one"] = seen / (eigenvalues + ridge)
        for name, w in weights.items():
            prediction = features[n:] @ (axes @ w)
            correlations[name].append(float(np.corrcoef(prediction, hidden)[0, 1]))
    return found(**{name: mean_of(values) for name, values in correlations.items()})


def _grown(share: np.ndarray, steps: int) -> np.ndarray:
    """Sum of the powers (1 - share)**t below `steps`: what gradient steps make of a mode."""
    safe = np.maximum(share, 1e-12)
    grown: np.ndarray = (1 - (1 - safe) ** steps) / safe
    return grown
