"""Measurements behind the claims on giant steps: spikes, errors, spectra and staircases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.plan import plan
from ...algorithms.predict import predict
from ...analysis import csq_tolerance, mean_hessian
from ...analysis.analyze import analyze
from ...base.estimate import Estimate
from ...targets.target import Target
from ...theory import (
    best_neuron,
    conditional_equivalent,
    first_step_overlap,
    optimal_step,
    risk_bounds,
)
from .._verdict import found, mean_of, slope_of

if TYPE_CHECKING:
    import xarray as xr


def staircase(target: str) -> xr.Dataset:
    """Subspaces that giant steps with n of the order of d learn, one after the other."""
    known: Any = analyze(target)
    steps = {f"after_{i}": str(space) for i, space in enumerate(known.staircase, 1)}
    return found(**steps, count=float(len(known.staircase)), leap=str(known.leap_exponent))


def plateaus(target: str) -> xr.Dataset:
    """Errors after T giant steps with n and width of the order of 1, d and d**2."""
    numbers: dict[str, float | str] = {}
    for row in plan(target).staircase:
        for power, error in enumerate(row.plateaus):
            numbers[f"T{row.steps}_d{power}"] = float(error.value)
        numbers[f"T{row.steps}_terms"] = str(row.terms[1])
    return found(**numbers)


def regimes(target: str) -> xr.Dataset:
    """Errors left by kernels and giant steps when n and the width are powers of d."""
    short = {"kernel, random features": "T0", "one giant step": "T1", "residual step": "R"}
    numbers: dict[str, float | str] = {}
    for one in plan(target).regimes:
        name = short.get(one.algorithm, f"T{one.algorithm[0]}")
        numbers[f"{name}_n{one.samples}_p{one.width}"] = float(one.plateau.value)
        numbers[f"{name}_n{one.samples}_p{one.width}_terms"] = one.terms
    return found(**numbers)


def hidden_quadratic(sizes: list[int], ratio: float = 8.0, replicates: int = 8) -> xr.Dataset:
    """Powers of d by which a step with n = ratio d**2 turns neurons to z2 in z1 + He2(z2).

    Plain products of matrices: the step on the labels, of order one, and the step on what a linear
    fit leaves, of order sqrt(d).
    """
    logs: dict[str, list[Estimate]] = {"plain": [], "residual": []}
    for d in sizes:
        n = round(ratio * d**2)
        shares: dict[str, list[float]] = {"plain": [], "residual": []}
        for seed in range(replicates):
            rng = np.random.default_rng([seed, d])
            X, W = rng.standard_normal((n, d)), rng.standard_normal((64, d))
            W /= np.linalg.norm(W, axis=1, keepdims=True)
            y = X[:, 0] + X[:, 1] ** 2 - 1
            slopes = (X @ W.T > 0) / n  # relu
            left = y - y.mean() - X @ (X.T @ y / n)
            for name, labels, size in (("plain", y, 1.0), ("residual", left, np.sqrt(d))):
                moved = W + size * (slopes.T * labels) @ X
                shares[name].append(np.sum(moved[:, 1] ** 2) / np.sum(moved**2))
        for name, values in shares.items():
            logs[name].append(mean_of(np.log(values)))
    return found(**{name: slope_of(np.log(sizes), means) for name, means in logs.items()})


def spike(step_size: float, d: int, replicates: int) -> xr.Dataset:
    """Outlier of the weights after a step on samples: singular value and alignment."""
    from .gradient_spike import measured

    runs = measured(step_size, d, replicates)
    return found(**{name: mean_of(runs[name].values) for name in ("singular_value", "cosine2")})


def one_step(target: str, noise: float = 0.0, **setting: Any) -> xr.Dataset:
    """Test and training error after one step, from theory."""
    curve = predict(Target(target, noise=noise), "one_step", **setting)
    numbers = {}
    for name in ("test_mse", "train_mse"):
        value, error = curve[name].values.flat[0], curve[f"{name}_err"].values.flat[0]
        numbers[name] = Estimate(float(value), float(error))
    return found(**numbers)


def one_step_run(target: str, d: int, replicates: int = 16, **setting: Any) -> xr.Dataset:
    """Test error of a real step and a readout with d neurons, divided by theory."""
    errors = _errors_of_steps(Target(target), d, replicates, **setting)
    theory = predict(target, "one_step", width=float(d), **setting).test_mse.item()
    return found(ratio=mean_of(errors / theory), test_mse=mean_of(errors))


def best_step_run(target: str, step_size: float, d: int, **setting: Any) -> xr.Dataset:
    """Test errors of real steps of half and of twice a size, divided by those of that size."""
    known, replicates = Target(target), setting.pop("replicates", 16)
    half, best, double = (
        _errors_of_steps(known, d, replicates, step_size=factor * step_size, **setting)
        for factor in (0.5, 1.0, 2.0)
    )
    return found(half=mean_of(half / best), double=mean_of(double / best))


def _errors_of_steps(
    target: Target, d: int, replicates: int, *, readout_ratio: float, batch_ratio: float,
    **setting: Any,
) -> np.ndarray:  # fmt: skip
    """Test errors of a step of d neurons, one for each replicate."""
    from ...learners import GiantStep

    batch, errors = round(batch_ratio * d), []
    n = batch + round(readout_ratio * d)
    for seed in range(replicates):
        sample = target.sample(n=n + 4000, d=d, seed=seed)
        learner = GiantStep(
            d, batch_size=batch, symmetric=False, bias_scale=0.0, standardize=False,
            fit_intercept=False, random_state=seed, **setting,
        ).fit(sample.X[:n], sample.y[:n])  # fmt: skip
        errors.append(np.mean((learner.predict(sample.X[n:]) - sample.y[n:]) ** 2))
    return np.array(errors)


def best_step(target: str, **setting: Any) -> xr.Dataset:
    """The step and the ridge with the smallest error."""
    best = optimal_step(target, **setting)
    return found(step_size=best.at, ridge=float(best.ridge), test_mse=best.test_mse)


def bounds(target: str, activation: str, strength: float | list[float]) -> xr.Dataset:
    """Bounds on the risk after a step on a large batch."""
    both = risk_bounds(target, activation, strength)
    return found(lower=both.lower, upper=both.upper)


def neuron(target: str, activation: str) -> xr.Dataset:
    """Error of the best single neuron, and whether it beats every linear function."""
    best = best_neuron(target, activation)
    return found(error=best.error, beats_linear=str(best.beats_linear))


def spectrum(target: str, **setting: Any) -> xr.Dataset:
    """Edge of the bulk of the features' covariance before and after the step, and the outlier."""
    curve = predict(target, "feature_spectrum", **setting)
    edge, top = curve.edge.values.ravel(), curve.largest_eigenvalue.values.ravel()
    return found(edge_before=float(edge[0]), edge_after=float(edge[-1]), outlier=float(top[-1]))


def spectrum_tail(d: int, replicates: int, step_size: float = 2.0) -> xr.Dataset:
    """Spectra after a real step, in plain NumPy, beside theory: distances, tails and outliers.

    `longer` is by how much the tail index of equal readout weights exceeds that of Gaussian ones,
    `beyond_the_edge` the number of eigenvalues of Gaussian ones between the edge of equal ones and
    the outlier. The theory is that of step size 2.
    """
    from .feature_spectrum import largest_gap
    from .spectrum_tail import bulk_of, measured, predicted, tail_index

    numbers: dict[str, Any] = {}
    indices, distances = {}, []
    for readout in ("ones", "gaussian"):
        theory = predicted(readout, d)
        runs = measured(readout, d, replicates, step_size).level.values
        bulks = [bulk_of(values, theory) for values in runs]
        places, shares = theory.eigenvalue.values, theory.share_below.values
        distances.append(np.mean([largest_gap(values, places, shares) for values in bulks]))
        indices[readout] = np.array([tail_index(values) for values in bulks])
        numbers[f"index_ratio_{readout}"] = mean_of(indices[readout] / theory.tail_index.item())
        tops = np.array([values[-1] for values in runs]) / theory.largest_eigenvalue.item()
        numbers[f"outlier_ratio_{readout}"] = mean_of(tops)
        if readout == "ones":
            edge = theory.edge.item()
        else:
            numbers["beyond_the_edge"] = mean_of([(values > edge).sum() for values in bulks])
    numbers["distance"] = float(max(distances))
    numbers["longer"] = mean_of(indices["ones"] / indices["gaussian"] - 1)
    return found(**numbers)


def several_steps(target: str, **setting: Any) -> xr.Dataset:
    """Cosines of the successive gradients of a neuron with the directions of the target."""
    curve = predict(target, "giant_steps", **setting)
    cosines = curve.gradient_cosine.isel(neuron=-1).squeeze(drop=True)
    cosines = cosines.transpose(..., "direction").values
    return found(**{
        f"g{t + 1}_z{k + 1}": float(abs(cosines[t, k]))
        for t in range(cosines.shape[0]) for k in range(cosines.shape[1])
    })  # fmt: skip


def several_steps_run(target: str, d: int, n: int, steps: int, **setting: Any) -> xr.Dataset:
    """Share of each direction in the span that the learner names after its steps."""
    from ...learners import GiantStep

    known, shares = Target(target), []
    for seed in range(12):
        sample = known.sample(n=n, d=d, seed=seed)
        learner = GiantStep(200, steps=steps, random_state=seed, **setting).fit(sample.X, sample.y)
        rows = learner.directions_
        span = rows.T if len(rows) == 0 else np.linalg.qr(rows.T)[0]
        shares.append(((sample.W_star @ span) ** 2).sum(1))
    table = np.array(shares)
    return found(**{f"z{k + 1}": mean_of(table[:, k]) for k in range(table.shape[1])})


def leap_transition(d: int, powers: list[float], step_size: float, replicates: int) -> xr.Dataset:
    """Overlap of 64 relu neurons with both directions of He2(z1)/2 + z1*z2 after one step.

    By plain products of matrices, with n = d**power samples and a step of sqrt(d) times its size.
    """
    numbers = {}
    for power in powers:
        n, overlaps = round(d**power), []
        for seed in range(replicates):
            rng = np.random.default_rng([seed, n])
            W, X = rng.standard_normal((64, d)), rng.standard_normal((n, d))
            W /= np.linalg.norm(W, axis=1, keepdims=True)
            y = (X[:, 0] ** 2 - 1) / 2 + X[:, 0] * X[:, 1]
            gradient = ((X @ W.T > 0) * y[:, None]).T @ X / n
            moved = W + step_size * np.sqrt(d) * rng.choice([-1, 1], (64, 1)) * gradient
            overlaps.append(np.sqrt(np.sum(moved[:, :2] ** 2) / np.sum(moved**2)))
        numbers[f"at_{power:g}".replace(".", "_")] = mean_of(overlaps)
    return found(**numbers)


def correlation_queries(d: int, order: int, queries: float) -> xr.Dataset:
    """Squared tolerance below which correlation queries must be answered."""
    return found(tolerance2=csq_tolerance(d, order, queries=queries))


def transfer(d: int, labels: int, n: int) -> xr.Dataset:
    """Error on a second target with few labels, on features that a first target has taught."""
    from ...learners import ResidualStep

    first, second, errors = Target("z1*z2"), Target("He2(z1) + z2"), []
    for seed in range(12):
        sample = first.sample(n=n, d=d, seed=seed)
        network = ResidualStep(200, random_state=seed).fit(sample.X, sample.y)
        X = np.random.default_rng(seed).standard_normal((labels + 2000, d))
        y = second(X @ sample.W_star.T)
        network = network.refit_readout(X[:labels], y[:labels])
        errors.append(1 - network.score(X[labels:], y[labels:]))
    return found(error=mean_of(errors))


def conditional_coefficients(activation: str, u: float, **setting: Any) -> xr.Dataset:
    """Conditional mean, slope and noise of a feature after the step."""
    one = conditional_equivalent(activation, u, **setting).isel(u=0)
    names = ("mu_0", "mu_1", "mu_star")
    return found(**{name: Estimate(one[name].item(), one[f"{name}_err"].item()) for name in names})


def surrogates(readout_ratio: float, d: int, replicates: int = 16) -> xr.Dataset:
    """Errors of Gaussian surrogates of the features after a step, divided by those of features."""
    from .conditional_equivalence import measured

    runs, ratios = measured(readout_ratio, d, replicates), {}
    for kind in ("conditional", "unconditional"):
        for name in ("test_mse", "train_mse"):
            values = runs[name].sel(source=kind) / runs[name].sel(source="features")
            ratios[f"{kind}_{name[:-4]}"] = mean_of(values.values)
    return found(**ratios)


def first_step_run(
    target: str, leap: int, d: int, n: int, step_size: float, activation: list[float],
    replicates: int = 8,
) -> xr.Dataset:  # fmt: skip
    """What a step on real samples turns to: by plain products of matrices, beside theory.

    `activation` are the Hermite coefficients of the activation, without factorials. The shares are
    the eigenvalues of the weights inside the subspace of the target, of all their squares.
    """
    from numpy.polynomial.hermite_e import hermeder, hermeval

    known, slopes = Target(target), hermeder(activation)
    size, shares = step_size * d ** ((leap - 1) / 2), []
    for seed in range(replicates):
        rng = np.random.default_rng([seed, d, n])
        W = rng.standard_normal((64, d))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        moved = W.copy()
        for rows in np.array_split(np.arange(n), max(n // 20_000, 1)):
            X = rng.standard_normal((len(rows), d))
            gradient = (hermeval(X @ W.T, slopes) * known(X[:, : known.r])[:, None]).T @ X
            moved += size / n * gradient
        inside = moved[:, : known.r]
        shares.append(np.linalg.eigvalsh(inside.T @ inside)[::-1] / np.sum(moved**2))
    table = np.array(shares)
    numbers = {f"share_{k + 1}": mean_of(table[:, k]) for k in range(known.r)}
    text = " + ".join(f"{c!r}*He{k}(z)" for k, c in enumerate(activation) if c and k)
    theory = first_step_overlap(
        target, d=d, n=[n], step_size=step_size, readout="ones", activation=text
    ).subspace_overlap.item()
    return found(**numbers, ratio=mean_of(np.sqrt(table.sum(1)) / theory))


def hessian(target: str) -> xr.Dataset:
    """Rank of the mean Hessian of a target, and its condition number."""
    known = mean_hessian(target)
    return found(rank=float(known.rank), condition=known.condition)


def second_layers(readout_ratio: float, width: float) -> xr.Dataset:
    """Test errors after one step with second layers of one, two, four and Gaussian values."""
    from .richer_basis import BATCH_RATIO, READOUTS, STEP, STUDENT, TARGET

    names, numbers = ("one", "two", "four", "gaussian"), {}
    for name, (layer, _) in zip(names, READOUTS.values(), strict=True):
        curve = predict(
            TARGET, "one_step", readout_ratio=readout_ratio, batch_ratio=BATCH_RATIO,
            step_size=STEP, width=width, readout=layer, **STUDENT,
        )  # fmt: skip
        numbers[name] = curve.test_mse.item()
    one = numbers.pop("one")
    return found(**{f"{name}_over_one": value / one for name, value in numbers.items()})
