"""Measurements behind the claims on SGD: escapes, flows, repetition and mean field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.predict import predict
from ...analysis import escape as linear_stage
from ...base.estimate import Estimate
from ...dynamics import reused_batch as reused_engine
from ...dynamics import sgd
from ...targets.student import Student
from ...targets.target import Target
from ...theory import hitting_time as steps_needed
from .._verdict import found, mean_of, median_of, slope_of

if TYPE_CHECKING:
    import xarray as xr


def escape(target: str, activation: str, **rule: Any) -> xr.Dataset:
    """Scaling of the escape of one neuron, with push v, growth rate k and noise V."""
    stage = linear_stage(target, activation, **rule)
    return found(
        scaling=stage.scaling,
        v=max(stage.drift, key=lambda one: abs(one.value)),
        k=stage.top,
        V=stage.variance,
    )


def second_stage(target: str, activation: str, gamma: float, **rule: Any) -> xr.Dataset:
    """Growth rate of the first direction, its noise, and the rate of others once it is known."""
    stage = linear_stage(target, activation, **rule)
    later = stage.second_stage(gamma=gamma)
    return found(
        first=str(stage.direction),
        k=stage.top,
        V=stage.variance,
        k2=later.top,
        escapes=str(later.escapes),
    )


def hitting_time(target: str, activation: str, sizes: list[int], **rule: Any) -> xr.Dataset:
    """Steps until the overlap is one half, in units of d, for steps of size gamma/d."""
    gamma = rule.pop("gamma")
    times = {
        f"d_{d}": steps_needed(target, d=d, step_size=gamma / d, activation=activation, **rule)
        for d in sizes
    }
    return found(
        **{k: Estimate(v.value / int(k[2:]), v.error / int(k[2:])) for k, v in times.items()}
    )


def flow(target: str, time: list[float], noise: float = 0.0, **setting: Any) -> xr.Dataset:
    """First overlap and norm of the student along the flow of one-pass SGD."""
    state = predict(Target(target, noise=noise), "sgd_flow", time=time, **setting)
    numbers = {}
    for i, tau in enumerate(time):
        m, err = state.overlap.values[i].flat[0], state.overlap_err.values[i].flat[0]
        numbers[f"m_{tau:g}"] = Estimate(float(m), float(err))
    return found(**numbers)


def engine(target: str, d: int, time: float, gamma: float, **setting: Any) -> xr.Dataset:
    """Mean overlap of single runs at finite dimension, after time times d steps."""
    if "rho" in setting:
        setting["inner_step_size"] = setting.pop("rho") / d
    steps = round(time * d)
    run = sgd(
        target, d=d, steps=steps, step_size=gamma / d, record=[steps], progress=False, **setting
    )
    return found(m=mean_of(run.overlap.isel(step=-1).values.reshape(-1)))


def escape_exponent(sizes: list[int], replicates: int = 24, **setting: Any) -> xr.Dataset:
    """Power of d in the number of steps that a neuron takes to a given recovery."""
    from .parity_exponents import escape_steps

    # Times have a heavy right tail: their medians are compared, and every run counts.
    medians = [median_of(np.log(escape_steps(d, replicates, **setting).steps)) for d in sizes]
    return found(exponent=slope_of(np.log(sizes), medians))


def climbed(problems: dict[str, str], d: int, replicates: int) -> xr.Dataset:
    """Recovery of z1, and of z2 and z3 together, at the end of runs of the two staircases."""
    from ..bayes.standard_and_grand_staircase import groups, simulated

    numbers: dict[str, Estimate] = {}
    for name, problem in problems.items():
        last = groups(simulated(problem, d, replicates)).recovery.isel(step=-1)
        values = last.transpose("replicate", "direction").values
        numbers |= {f"{name}_z1": mean_of(values[:, 0]), f"{name}_pair": mean_of(values[:, 1])}
    return found(**numbers)


def reuse(target: str, alpha: float, step_size: float, steps: int, **setting: Any) -> xr.Dataset:
    """Overlap of the first neuron after each full-batch step on the same samples, in the limit."""
    student = Student(**setting)
    state = predict(
        target, "reused_batch", student=student, alpha=alpha, step_size=step_size, steps=steps
    )
    m, err = (
        state.overlap.squeeze("alpha", drop=True),
        state.overlap_err.squeeze("alpha", drop=True),
    )
    m = m.isel(neuron=0, direction=0).values
    err = err.isel(neuron=0, direction=0).values
    return found(**{f"m_{t}": Estimate(float(m[t]), float(err[t])) for t in range(len(m))})


def reuse_run(
    target: str, d: int, alpha: float, step_size: float, steps: int, **setting: Any
) -> xr.Dataset:
    """The same by the engine, exact at finite dimension."""
    replicates = setting.pop("replicates", 16)
    run = reused_engine(
        target,
        student=Student(**setting),
        d=d,
        alpha=alpha,
        step_size=step_size,
        steps=steps,
        replicates=replicates,
        progress=False,
    )
    m = run.overlap.isel(neuron=0, direction=0).transpose("replicate", "step").values
    return found(**{f"m_{t}": mean_of(m[:, t]) for t in range(1, m.shape[1])})


def mean_field_risk(target: str, time: list[float], **setting: Any) -> xr.Dataset:
    """Error of an infinitely wide network along its flow, and what the notes say of it."""
    state = predict(target, "mean_field", time=time, **setting)
    risk, err = state.test_mse.values, state.test_mse_err.values
    numbers = {f"mse_{t:g}": Estimate(float(risk[i]), float(err[i])) for i, t in enumerate(time)}
    blind = "blind" in str(state.attrs.get("notes", ""))
    return found(**numbers, is_blind=str(blind))


def mean_field_order(target: str, **setting: Any) -> xr.Dataset:
    """Powers of time with which the overlaps of the particles grow: log2 of u(0.2)/u(0.1)."""
    state = predict(target, "mean_field", time=[0.1, 0.2], **setting)
    size = np.abs(state.overlap).max("neuron").transpose("time", "direction").values
    ratios = np.log2(size[1] / size[0])
    return found(**{f"z{k + 1}": float(ratio) for k, ratio in enumerate(ratios)})


def mean_field_overlaps(target: str, time: float, **setting: Any) -> xr.Dataset:
    """Largest overlaps with z1 and z3, and largest difference of those with z1 and z2."""
    state = predict(target, "mean_field", time=[time], **setting)
    u = state.overlap.isel(time=0).transpose("neuron", "direction").values
    return found(
        z1=float(np.abs(u[:, 0]).max()),
        z3=float(np.abs(u[:, 2]).max()),
        difference=float(np.abs(u[:, 0] - u[:, 1]).max()),
    )


def mean_field_wait(
    target: str, d: list[float], level: float, last: float, **setting: Any
) -> xr.Dataset:
    """When the error of an infinitely wide network falls below a level, by dimension.

    ``slope`` is the time for each unit of ln d between the last two dimensions, ``even`` the ratio
    of the last two differences if there are three.
    """
    times = np.linspace(0, last, 161)
    runs = [predict(target, "mean_field", time=times, d=size, **setting) for size in d]
    waits = [float(np.interp(-level, -run.test_mse.values, times)) for run in runs]
    numbers: dict[str, Any] = {
        "slope": (waits[-1] - waits[-2]) / float(np.log(d[-1] / d[-2])),
        "plateau": float(np.interp(waits[-1] * 2 / 3, times, runs[-1].test_mse.values)),
    }
    if len(waits) > 2:
        numbers["even"] = (waits[-1] - waits[-2]) / (waits[-2] - waits[-3])
    return found(**numbers)


def push_of_batches(student: str, batches: list[int], samples: int = 1 << 16) -> xr.Dataset:
    """Push of a normalized gradient along He3 at a neuron that knows nothing, by batch size."""
    from .optimizer_batches import simulated

    runs = {f"b_{b}": simulated(student, b, samples) for b in batches}
    # Standard errors of 16 runs, as half-widths of 99 % intervals.
    return found(
        **{
            name: Estimate(run.push.item(), 2.95 * run.push_err.item())
            for name, run in runs.items()
        }
    )


def momentum_growth(
    target: str, activation: str, gamma: float, kappa: float, **rule: Any
) -> xr.Dataset:
    r"""Growth rate of a small overlap with momentum 1 - kappa/d, and the best one of all.

    `measured` is that of the flow over the one of the formula, `best` the largest value of the
    formula over a grid of (gamma, kappa) over that of plain SGD, K^2/(2V).
    """
    stage = linear_stage(target, activation, **rule)
    K, V = stage.top.value, stage.variance.value
    times = np.array([6.0, 9.0]) / kappa
    state = predict(
        target, "sgd_flow", time=times, width=1, activation=activation, step_size=gamma,
        momentum_rate=kappa, geometry="projected", init={"M": [[1e-4]]}, **rule,
    )  # fmt: skip
    growth = float(np.diff(np.log(state.overlap.values[:, 0, 0]))[0] / np.diff(times)[0])
    steps, rates = np.meshgrid(np.geomspace(1e-2, 1e3, 400), np.geomspace(1e-3, 1e5, 400))
    return found(
        measured=growth / float(_momentum_rate(np.array(gamma), np.array(kappa), K, V)),
        best=float(_momentum_rate(steps, rates, K, V).max()) / (K * K / (2 * V)),
    )


def _momentum_rate(gamma: np.ndarray, kappa: np.ndarray, K: float, V: float) -> np.ndarray:
    """Growth rate of the overlap of a projected neuron, of order two."""
    s = kappa / 2 * (np.sqrt(1 + 2 * gamma**2 * V / kappa) - 1)
    rate: np.ndarray = np.sqrt((kappa - s) ** 2 / 4 + gamma * kappa * K) - (kappa + s) / 2
    return rate


def plain_sgd(
    target: str, d: int, time: list[float], replicates: int, activation: str = "relu",
    gamma: float = 0.1, rho: float = 0.0, noise: float = 0.0, readout: float = 1.0,
    start: list[list[float]] | None = None,
) -> xr.Dataset:  # fmt: skip
    """First overlap of neurons in d dimensions by plain NumPy: one sample for each step.

    The rows of all replicates move at once. They start with the overlaps `start` with the
    directions and norm one; `rho` is the step of the look ahead of the extra-gradient rule.
    """
    from scipy.special import erf

    known = Target(target)
    M = np.zeros((1, known.r)) if start is None else np.array(start)
    rng, width = np.random.default_rng([d, replicates]), len(M)
    rest = rng.standard_normal((replicates, width, d - known.r))
    rest = np.linalg.qr(rest.swapaxes(1, 2))[0].swapaxes(1, 2)
    rest = np.linalg.cholesky(np.eye(width) - M @ M.T) @ rest
    W = np.concatenate([np.broadcast_to(M, (replicates, *M.shape)), rest], axis=2)

    def push(preactivations: np.ndarray, y: np.ndarray) -> np.ndarray:
        if activation == "relu":
            values, slopes = np.maximum(preactivations, 0), (preactivations > 0).astype(float)
        else:  # erf(z/sqrt(2))
            values = erf(preactivations / np.sqrt(2))
            slopes = np.sqrt(2 / np.pi) * np.exp(-(preactivations**2) / 2)
        return readout * (y - readout * values.sum(1))[:, None] * slopes

    numbers, ends = {}, {round(tau * d): tau for tau in time}
    for step in range(1, max(ends) + 1):
        x = rng.standard_normal((replicates, d))
        y = known(x[:, : known.r]) + np.sqrt(noise) * rng.standard_normal(replicates)
        before = np.einsum("rwd,rd->rw", W, x)
        ahead = before + rho / d * push(before, y) * np.sum(x**2, axis=1)[:, None]
        W += gamma / d * push(ahead, y)[:, :, None] * x[:, None, :]
        if step in ends:
            numbers[f"m_{ends[step]:g}"] = mean_of(W[:, 0, 0])
    return found(**numbers)
