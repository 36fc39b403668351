"""Full-batch gradient descent on a fixed data set, in the limit of high dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...base.curves import curve
from ...base.errors import BadData
from ...base.memory import require_memory
from ...base.seeds import stream
from ...targets.sampled import whole_number
from ...targets.student import Student
from ...targets.target import Target
from ...targets.training import StudentSettings, TrainedStudent, read_training
from .._registry import THEORIES, Theory
from ._effective_process import Trajectory, cloud, draw_count, solve

if TYPE_CHECKING:
    import xarray as xr

_DIMS: dict[str, tuple[str, ...]] = {
    "overlap": ("neuron", "direction"),
    "norm": ("neuron", "neuron2"),
    "recovery": ("direction",),
    "readout": ("neuron",),
    "bias": ("neuron",),
    "train_mse": (),
    "test_mse": (),
}
_REPLICAS = 16


@THEORIES.add("reused_batch")
class ReusedBatchTheory(Theory):
    r"""Gradient descent that sees the same n = alpha d samples at every step: dynamical mean field.

    The network is :math:`f(x) = \sum_j a_j\sigma(\lambda_j + b_j)`, and a training sample sees

    .. math:: \lambda_t = m_t z + \omega_t + \sum_{s<t} R_{ts}\,\varphi_s, \qquad
              m_{t+1} = m_t + \eta\,\mathbb{E}[\varphi_t z^\top]     [RB-1]

    with the push :math:`\varphi_t = a\,(y - f)\,\sigma'(\lambda_t + b)`, a Gaussian process
    :math:`\omega` and a memory R, both found step by step. A fresh sample sees no memory; it is the
    memory that turns the label y into functions of y, so that directions with
    :math:`\mathbb{E}[y z] = 0` appear at the second step.

    Parameters
    ----------
    alpha : array
        Samples per dimension.
    step_size : float
        :math:`\eta`, which multiplies the gradient of the mean of (y - f)^2/2 over all samples.
    student : Student, optional
        Network; ``width``, ``activation``, ``readout``, ``bias`` and ``init`` may say it instead.
        In this limit both names of a start mean M = 0 and Q = I.
    loss, train_readout, train_bias, weight_decay
        See :class:`gradone.targets.training.TrainedStudent`.
    steps : int
        Number T of steps.
    points : int
        Points in each of 16 independent solutions; a power of two is best.
    seed : int
        Seed of the draws.

    Notes
    -----
    ``overlap`` is M, ``norm`` is Q and ``recovery`` is :math:`\sqrt{[M^\top Q^+ M]_{kk}}` at steps
    0 ... T; ``readout`` and ``bias`` are there if they are trained. Errors are half-widths of 99 %
    intervals from the 16 solutions. The cost is of the order of :math:`T^2\,\mathrm{width}^2` for
    each draw.

    References
    ----------
    Dandi et al. 2024, arXiv:2402.03220; equations in the form of Stein's identity, so that the
    kink of the relu, whose second derivative is a point mass, counts.

    Examples
    --------
    He3 has E[y z] = 0; reuse of the samples shows its direction from the second step on:

    >>> import gradone as gd
    >>> found = gd.predict("He3(z)", "reused_batch", alpha=3.0, width=1, step_size=0.2, steps=2)
    >>> abs(found.overlap.values.ravel().round(2))
    array([0.  , 0.  , 0.02])
    """

    answers = ("overlap", "norm", "recovery", "readout", "bias", "train_mse", "test_mse")
    axes = ("alpha",)
    seconds = 3.0
    numerics = 2
    regime = "n, d -> infinity with alpha = n/d, width and number of steps fixed; Gaussian input"
    cites = ("dandi2024reuse",)

    latent = True

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        if len(target.joint.span) == 0:
            return "the target is a constant, so there is nothing to learn"
        return None

    def predict(
        self,
        target: Target,
        student: Student | None = None,
        *,
        alpha: Any,
        step_size: float | str,
        steps: int,
        loss: Literal["square", "correlation"] = "square",
        train_readout: float | None = None,
        train_bias: float | None = None,
        weight_decay: float = 0.0,
        points: int = 2**14,
        seed: int = 0,
        **network: Unpack[StudentSettings],
    ) -> xr.Dataset:
        """Overlaps and errors after each step, at each alpha."""
        if step_size == "auto":
            raise BadData(
                "'reused_batch' has no automatic step_size; give a number, the factor of the mean "
                "gradient: 0.2 is a cautious one"
            )
        training = read_training(
            student, step_size=step_size, loss=loss, train_readout=train_readout,
            train_bias=train_bias, weight_decay=weight_decay, **network,
        )  # fmt: skip
        width, start = training.width, training.start(target.r)
        if isinstance(start, str):
            start = (np.zeros((width, target.r)), np.eye(width))
        steps = whole_number("steps", steps)
        points = whole_number("points", points, least=64)
        found = _solutions(training, target, start, np.asarray(alpha), steps, points, seed)
        kept = [
            name
            for name in self.answers
            if name not in ("readout", "bias") or getattr(training, f"train_{name}") is not None
        ]
        values = _gathered(found, kept) | _verdict(found, training.eta)
        index = np.arange(1, max(width, target.r) + 1)
        return curve(
            values,
            {
                "alpha": alpha,
                "step": np.arange(steps + 1),
                "neuron": index[:width],
                "neuron2": index[:width],
                "direction": index[: target.r],
            },
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "noise": target.noise, "steps": steps, "points": points,
                "M": start[0], "Q": start[1],
            } | training.params | {"batch_size": None},  # all samples, as the learner says it
            seed=seed,
        )  # fmt: skip


def _solutions(
    student: TrainedStudent,
    target: Target,
    start: tuple[np.ndarray, np.ndarray],
    alpha: np.ndarray,
    steps: int,
    points: int,
    seed: int,
) -> list[list[Trajectory]]:
    """Independent solutions for each alpha; all alphas see the same draws."""
    count = draw_count(student, target, steps)
    require_memory(
        16 * (count + student.width * (steps + 4)) * points,
        f"a solution with {points} points, {steps} steps and width {student.width}",
        "Use fewer steps or points.",
    )
    found: list[list[Trajectory]] = [[] for _ in alpha]
    for replica in range(_REPLICAS):
        rng = stream(seed, "data", theory="reused_batch", replicate=replica)
        draws = cloud(count, points, rng)
        # A divergence is found by its size, and reported.
        with np.errstate(over="ignore", invalid="ignore"):
            for solutions, value in zip(found, alpha, strict=True):
                solutions.append(solve(student, target, start, float(value), steps, draws))
    return found


def _gathered(
    found: list[list[Trajectory]], names: list[str]
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Means over the solutions and their errors."""
    from scipy.special import stdtrit

    quantile = float(stdtrit(_REPLICAS - 1, 0.995)) / math.sqrt(_REPLICAS)
    values = {}
    for name in names:
        each = np.array([[getattr(one, name) for one in solutions] for solutions in found])
        dims = ("alpha", "step", *_DIMS[name])
        values[name] = (dims, each.mean(axis=1))
        values[f"{name}_err"] = (dims, quantile * each.std(axis=1, ddof=1))
    return values


def _verdict(
    found: list[list[Trajectory]], eta: float
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Whether the weights stayed finite, for each alpha."""
    steps = len(found[0][0].train_mse) - 1
    last = [min(one.steps_done for one in solutions) for solutions in found]
    status = [
        ""
        if done == steps
        else f"the weights diverge at step {done + 1}; use a step_size smaller than {eta:g}"
        for done in last
    ]
    return {
        "converged": (("alpha",), np.array([done == steps for done in last])),
        "status": (("alpha",), np.array(status)),
    }
