"""Measurements behind the claims on depth: hierarchical targets and their learners."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...analysis.analyze import analyze
from ...analysis.depth import checklist, energies, plateau, random_bias_energies, required_exponent
from ...targets.hierarchical import Might, QuadraticForms, Sight
from ...theory import first_stage, first_stage_threshold
from .._verdict import found, mean_of, slope_of
from .depth_branches import measured as branches_measured

if TYPE_CHECKING:
    import xarray as xr

    from ...base.estimate import Estimate

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


def quadratic_forms_run(outer: str, d: int, n: int, replicates: int) -> xr.Dataset:
    """Error of three layers on as many quadratic forms as inputs, over the best quadratic's."""
    from ...learners import Layerwise

    known, ratios = QuadraticForms(outer=outer), []
    pairs = np.triu_indices(d)
    for seed in range(replicates):
        sample = known.sample(n=n + 4000, d=d, seed=seed)
        X, y = sample.X, sample.y
        monomials = np.column_stack([np.ones(len(X)), X[:, pairs[0]] * X[:, pairs[1]]])
        weights = np.linalg.lstsq(monomials[:n], y[:n], rcond=None)[0]
        network = Layerwise("spectral", random_state=seed).fit(X[:n], y[:n])
        left = (network.predict(X[n:]) - y[n:], monomials[n:] @ weights - y[n:])
        ratios.append(np.mean(left[0] ** 2) / np.mean(left[1] ** 2))
    return found(ratio=mean_of(ratios))


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


def depths_on_samples(case: str, n: int, d: int, replicates: int) -> xr.Dataset:
    """Errors of networks of two to four layers, divided by those of one layer less.

    A kernel stands below two layers.
    """
    names = ("kernel", "two", "three", "four") if case == "tree" else ("kernel", "two", "three")
    runs = {
        name: branches_measured(case, name, n, d, replicates).excess_mse.values for name in names
    }
    pairs = zip(names[1:], names[:-1], strict=True)
    return found(**{f"{up}_over_{low}": mean_of(runs[up] / runs[low]) for up, low in pairs})


def order_of_layers(d: int, kappas: list[float], replicates: int) -> xr.Dataset:
    """By how much log n/log d of half the feature exceeds that of half the directions."""
    from .depth_overlaps import measured

    runs = [measured(kappa, d, replicates) for kappa in kappas]
    delays = []
    for replicate in range(replicates):
        halves = [
            float(np.interp(0.5, [run[name].values[replicate] for run in runs], kappas))
            for name in ("row_overlap2", "feature_overlap2")
        ]
        delays.append(halves[1] - halves[0])
    return found(delay=mean_of(delays))


def conjugate_spectrum(q: int, n: int, replicates: int) -> xr.Dataset:
    """Eigenvalues of the kernel of relu features of rows in q dimensions, by plain NumPy.

    ``first`` and ``second`` are the means of the levels of degree one and two, ``gap`` the ratio of
    the last eigenvalue of degree two to the next one.
    """
    count = q * (q + 1) // 2
    rows: list[tuple[float, float, float]] = []
    for seed in range(replicates):
        rng = np.random.default_rng([seed, q])
        W = rng.standard_normal((n, q))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        features = np.maximum(rng.standard_normal((n, q)) @ W.T + rng.uniform(-1, 1, n), 0)
        values = np.linalg.eigvalsh(features @ features.T / n**2)[::-1]
        # After the constant come q values of degree one; the radial quadratic is one of `count`.
        second = values[1 + q : 1 + q + count]
        after = values[1 + q + count]
        rows.append((values[1 : 1 + q].mean(), second.mean(), second[-1] / after))
    first, middle, gap = np.array(rows).T
    return found(first=mean_of(first), second=mean_of(middle), gap=mean_of(gap))


def samples_of_one_step(sizes: list[int], replicates: int) -> xr.Dataset:
    """Powers of D of the samples at which one step on the second layer is half the hidden feature.

    By plain NumPy: infinitely many relu features of the D dimensions that the first layer has
    found, and labels tanh(3h) of a balanced quadratic form h. ``plain`` is a
    gradient step, ``centered`` what it is worth when the constant is subtracted, and
    ``preconditioned`` kernel ridge regression.
    """
    names = ("plain", "centered", "preconditioned")
    logs: dict[str, list[Estimate]] = {name: [] for name in names}
    for D in sizes:
        runs = []
        for seed in range(replicates):
            rng = np.random.default_rng([seed, D])
            runs.append((*_plain_step(D, rng), _preconditioned_step(D, rng)))
        for name, numbers in zip(names, np.log(runs).T, strict=True):
            logs[name].append(mean_of(numbers))
    return found(**{name: slope_of(np.log(sizes), means) for name, means in logs.items()})


def _quadratic(z: np.ndarray) -> np.ndarray:
    """Quadratic form of variance one with as many signs + as -."""
    D = z.shape[1]
    form: np.ndarray = (z**2 - 1) @ np.resize([1.0, -1.0], D) / np.sqrt(2 * D)
    return form


def _arc_cosine(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kernel of relu features with random rows of norm one."""
    size = np.outer(np.linalg.norm(one, axis=1), np.linalg.norm(other, axis=1))
    cosines = np.clip(one @ other.T / size, -1, 1)
    angles = np.sqrt(1 - cosines**2) + cosines * (np.pi - np.arccos(cosines))
    kernel: np.ndarray = size / one.shape[1] * angles / (2 * np.pi)
    return kernel


def _plain_step(D: int, rng: np.random.Generator) -> tuple[float, float]:
    """Samples at which noise and signal of a gradient step are equal, with and without constant.

    A step is a mean over samples, so that its noise falls as 1/n: it is measured at n = 64.
    """
    n, blocks, new = 64, 512, rng.standard_normal((250, D))
    new = np.concatenate([new, -new])  # mirror images: noise that is odd does not look like signal
    hidden = _quadratic(new) - _quadratic(new).mean()
    hidden /= np.mean(hidden**2)
    rows = []
    for _ in range(blocks):
        z = rng.standard_normal((n, D))
        step = _arc_cosine(new, z) @ np.tanh(3 * _quadratic(z)) / n
        rows.append((np.mean(step * hidden), np.mean(step**2), np.var(step)))
    along, whole, centered = np.array(rows).T
    signal = along.mean() ** 2 - along.var(ddof=1) / blocks  # the form has the variance one
    return n * (whole.mean() / signal - 1), n * (centered.mean() / signal - 1)


def _preconditioned_step(D: int, rng: np.random.Generator) -> float:
    """Samples at which half of the variance of kernel ridge regression is the hidden feature.

    Of three ridges that which predicts labels best counts, judged on other samples.
    """
    shares, sizes = [], np.array([D**2 // 8, D**2 // 4, D**2 // 2, D**2])
    for n in sizes:
        z = rng.standard_normal((n + 1000, D))
        hidden = _quadratic(z)
        y, kernel = np.tanh(3 * hidden), _arc_cosine(z, z[:n])
        tried = []
        for ridge in (0.1, 1.0, 10.0):  # in units of n times the eigenvalue of degree two
            gram = kernel[:n] + ridge * n / (2 * np.pi * D**2) * np.eye(n)
            fit = kernel[n:] @ np.linalg.solve(gram, y[:n] - y[:n].mean())
            judged = np.corrcoef(fit[:500], y[n : n + 500])[0, 1]
            tried.append((judged, np.corrcoef(fit[500:], hidden[n + 500 :])[0, 1] ** 2))
        shares.append(max(tried)[1])
    return float(np.exp(np.interp(0.5, shares, np.log(sizes))))


def radial(d: int, ratio: int, replicates: int) -> xr.Dataset:
    """Errors of the relu kernel on two quadratic forms with n = ratio d, as shares of variance.

    By plain NumPy: the squared norm, and a form with as many signs + as -.
    """
    n, ridge, runs = ratio * d, 0.01, []
    for seed in range(replicates):
        X = np.random.default_rng([seed, d]).standard_normal((n + 2000, d))
        norms = np.linalg.norm(X, axis=1)
        cosines = np.clip(X @ X[:n].T / np.outer(norms, norms[:n]), -1, 1)
        angles = np.sqrt(1 - cosines**2) + cosines * (np.pi - np.arccos(cosines))
        K = np.outer(norms, norms[:n]) / d * angles / (2 * np.pi)
        K = K - K.mean(1)[:, None] - K[:n].mean(0) + K[:n].mean()  # an intercept without penalty
        shares = []
        for signs in (np.ones(d), np.resize([1.0, -1.0], d)):
            y = (X**2 - 1) @ signs / np.sqrt(2 * d)
            weights = np.linalg.solve(K[:n] + ridge * np.eye(n), y[:n] - y[:n].mean())
            wrong = K[n:] @ weights + y[:n].mean() - y[n:]
            shares.append(np.mean(wrong**2) / np.var(y[n:]))
        runs.append(shares)
    norm, balanced = np.array(runs).T
    return found(norm=mean_of(norm), balanced=mean_of(balanced))
