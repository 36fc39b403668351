"""Wide two-layer networks under gradient flow: the mean-field limit in high dimension."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.correlation.leap import LeapRecord, leap_record
from ...base.curves import curve
from ...base.errors import BadData, OutOfRegime, one_of
from ...targets.activation import Activation
from ...targets.language.expression import Expression
from ...targets.language.functions import substitute
from ...targets.language.tree import Number, Variable, add
from ...targets.on_inputs import OnInputs
from ...targets.sampled import whole_number
from ...targets.target import Target
from ...targets.training import GEOMETRIES, PLAIN_LOSSES
from .._inputs import nonnegative, number, positive
from .._registry import THEORIES, Theory
from ._particle_flow import ParticleFlow
from ._particles import Motion, Particles, finite_start, limit_start

if TYPE_CHECKING:
    import xarray as xr

MAX_R = 4
LABELS = {
    "orthogonal_norm": ("s", "norm of the part of the weights that is orthogonal to the target"),
    "share": ("P", "share of the neurons"),
}
_LAW = 8  # readouts that stand for a law with a density
_BLIND = 1e-9
_HIGHEST = 6  # order of a derivative that is looked at


@THEORIES.add("mean_field")
class MeanField(Theory):
    r"""Gradient flow of a two-layer network of infinite width, in infinite or large dimension.

    The network :math:`f(x) = \frac1N\sum_j a_j\sigma(\langle w_j, x\rangle + b_j)` is trained by
    gradient flow, each neuron by N times its gradient of :math:`\frac12\mathbb{E}(y-f)^2`. For
    :math:`N \to \infty` and then :math:`d \to \infty` a neuron is a particle (a, b, u, s): u are
    its overlaps with the target, and the part of its weights that is orthogonal to the target, of
    norm s, acts as noise of its own. With :math:`v = \langle u, z\rangle + b` and the smoothed
    activation [MF-2],

    .. math::
        \hat f(z) &= \mathbb{E}_{(a,b,u,s)}\, a\,\sigma_s(v), \qquad
        e(z) = \mathbb{E}[y|z] - \hat f(z), \\
        \dot a &= k_a\,\mathbb{E}_z[e\,\sigma_s(v)] - \lambda_a a, \qquad
        \dot u = a\,\mathbb{E}_z[e\,\sigma_s'(v)\,z] - \lambda_w u, \\
        \dot s &= a\,\mathbb{E}_z[e\,\partial_s\sigma_s(v)] - \lambda_w s + T/s.     [MF-1]

    Parameters
    ----------
    time : array
        Time of the flow. One-pass SGD with step :math:`\eta` for each neuron, in units of its
        gradient times N, is at time :math:`\eta` times the number of steps.
    activation : str or Activation
        Function :math:`\sigma`.
    readout : "signs", "uniform", "gaussian" or array
        Law of a at the start: plus and minus one, uniform on [-1, 1], standard normal, or these
        values with equal shares.
    bias : float
        Value of b at the start.
    train_readout, train_bias : float
        Rates :math:`k_a` and that of the biases; 0 leaves them as they are.
    weight_decay, readout_decay : float
        :math:`\lambda_w` and :math:`\lambda_a`.
    temperature : float
        T of Langevin noise :math:`\sqrt{2T/d}\,dB` on the weights.
    loss : "square" or "correlation"
        With the correlation loss the network does not see what it has learned.
    geometry : "euclidean" or "spherical"
        Whether each neuron keeps its norm.
    d : float
        Dimension of the start: infinite (u = 0, s = 1), or finite (:math:`u \sim N(0, I/d)`).
    particles : int
        Number of particles where d is finite.

    Notes
    -----
    ``overlap`` (time, neuron, direction) is u, ``orthogonal_norm`` is s, ``share`` the weight of
    each particle. From u = 0 the flow reaches the directions of ``analyze(t).staircase`` that
    follow by steps of order one, if the activation sees the degrees on the way; a leap of order two
    is a saddle that it leaves after a time of order log d, which needs a finite ``d``. The notes of
    the curve say so. One-pass SGD follows this flow if :math:`\eta d` is small.

    Errors are the differences from a second solution with fewer nodes, a looser tolerance, and
    another discretization of the law of the readouts.

    References
    ----------
    Rotskoff and Vanden-Eijnden 2018, arXiv:1805.00915; Mei, Montanari and Nguyen 2018,
    arXiv:1804.06561; Chizat and Bach 2018, arXiv:1805.09545; Abbe, Boix-Adsera and Misiakiewicz
    2022, arXiv:2202.08658.

    Examples
    --------
    A merged staircase: z2 is learned once z1 is there, and the error falls in two steps.

    >>> import gradone as gd
    >>> flow = gd.predict("z1 + z1*z2", "mean_field", time=[0.5, 2, 5, 10])
    >>> flow.test_mse.values.round(2)
    array([1.77, 0.96, 0.27, 0.17])
    """

    answers = ("test_mse", "overlap", "orthogonal_norm", "readout", "bias", "share")
    axes = ("time",)
    may_be_zero = ("time",)
    seconds = 0.02
    regime = "width -> infinity, then d -> infinity, with steps so small that step times d -> 0"
    cites = ("rotskoff2018particles", "mei2018meanfield", "chizat2018global", "abbe2022merged")
    latent = True
    leaves_a_start = True
    laws = ("gaussian", "delocalized", "covariance", "axes", "mixture")

    def obstacle_of_inputs(self, target: OnInputs) -> str | None:
        """Why the flow is not closed in the projections, or None."""
        if target.situation in ("axes", "mixture") and target.target.q:
            return "the target has latent noise, whose mean is known for Gaussian z alone"
        if target.situation != "mixture":
            return None
        if target.directions != "axes" or not target.inputs.is_standard_elsewhere:  # type: ignore[attr-defined]
            return "its mixtures have directions='axes' and standard coordinates besides"
        if target.inputs.width > target.r:  # type: ignore[attr-defined]
            return "its mixtures have their means in the span of the directions"
        return None

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        if target.r > MAX_R:
            return f"the target has r = {target.r} directions, and means are taken over {MAX_R}"
        return None

    def predict(
        self,
        target: Target | OnInputs,
        *,
        time: Any,
        activation: str | Activation = "relu(z)",
        readout: Any = "signs",
        bias: float = 0.0,
        train_readout: float = 1.0,
        train_bias: float = 0.0,
        weight_decay: float = 0.0,
        readout_decay: float = 0.0,
        temperature: float = 0.0,
        loss: str = "square",
        geometry: str = "euclidean",
        d: float = math.inf,
        particles: int = 256,
    ) -> xr.Dataset:
        """Test error and particles at each time."""
        motion = Motion(
            nonnegative("train_readout", train_readout),
            nonnegative("train_bias", train_bias),
            nonnegative("weight_decay", weight_decay),
            nonnegative("readout_decay", readout_decay),
            nonnegative("temperature", temperature),
            one_of("loss", loss, PLAIN_LOSSES) == "correlation",
            _is_spherical(geometry),
        )
        if motion.is_correlation and motion.train_readout and not motion.is_spherical:
            raise OutOfRegime(
                "with the correlation loss a trained readout and free weights grow without bound "
                'in finite time: use train_readout=0 or geometry="spherical"'
            )
        sigma = activation if isinstance(activation, Activation) else Activation(activation)
        b, d = number("bias", bias), positive("d", d, infinite=True)
        count = whole_number("particles", particles)
        times = np.asarray(time)
        order = np.argsort(times)
        law = None
        if isinstance(target, OnInputs):
            law, target = target, target.target
            _check_motion(law, motion, d)
        flow = ParticleFlow(law or target, sigma, motion, times[order], is_limit=math.isinf(d))
        if math.isinf(d):
            start, shares = limit_start(readout, b, target.r, _LAW)
            other = limit_start(readout, b, target.r, _LAW - 2)
        else:
            start, shares = finite_start(readout, b, target.r, d, count, 0)
            other = finite_start(readout, b, target.r, d, count, 1)
        fine = flow.solve(start, shares, coarse=False)
        # The particles of the fine solution move without weight in the field of the others.
        rough = flow.solve(
            Particles(*(np.concatenate(pair) for pair in zip(start, other[0], strict=True))),
            np.concatenate([np.zeros(len(shares)), other[1]]),
            coarse=True,
        )
        back, N = np.argsort(order), len(shares)
        dims: dict[str, tuple[str, ...]] = {
            "test_mse": ("time",),
            "overlap": ("time", "neuron", "direction"),
            "orthogonal_norm": ("time", "neuron"),
            "readout": ("time", "neuron"),
            "bias": ("time", "neuron"),
        }
        values: dict[str, tuple[Any, Any]] = {}
        for name, axes in dims.items():
            value, second = fine.values[name], rough.values[name]
            second = second[:, :N] if "neuron" in axes else second
            error = np.abs(value - second) + 1e-12 * (1 + np.abs(value))
            values |= {name: (axes, value[back]), f"{name}_err": (axes, error[back])}
        values |= {"share": ("neuron", shares), "share_err": ("neuron", np.zeros(N))}
        converged = times <= min(fine.until, rough.until)
        values["converged"] = ("time", converged)
        values["status"] = ("time", np.where(converged, "", fine.why or rough.why))
        found = curve(
            values,
            {
                "time": times,
                "neuron": np.arange(1, N + 1),
                "direction": np.arange(1, target.r + 1),
            },
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "activation": sigma.text, "readout": readout, "bias": b, "loss": loss,
                "geometry": geometry, "noise": target.noise, "d": "inf" if math.isinf(d) else d,
                "train_readout": motion.train_readout, "train_bias": motion.train_bias,
                "weight_decay": motion.weight_decay, "readout_decay": motion.readout_decay,
                "temperature": motion.temperature,
            },
            labels=LABELS,
        )  # fmt: skip
        last = np.abs(fine.values["overlap"][-1]).max(axis=0, initial=0.0)
        if law is None and (
            notes := _notes(target, sigma, b, float(np.abs(start.a).max()), d, last)
        ):
            found.attrs["notes"] = " ".join(notes)
        return found


def _is_spherical(geometry: str) -> bool:
    if one_of("geometry", geometry, GEOMETRIES) == "projected":
        raise BadData("a flow has no projected geometry: use 'spherical', which is its limit")
    return geometry == "spherical"


def _check_motion(law: OnInputs, motion: Motion, d: float) -> None:
    """Refuse what is known for Gaussian inputs alone, where the law has a spread of its own."""
    if law.situation == "covariance" and (
        motion.weight_decay or motion.temperature or motion.is_spherical or math.isfinite(d)
    ):
        raise OutOfRegime(
            "under a covariance the flow is known from u = 0, without weight decay of the first "
            "layer, temperature or sphere; leave d, weight_decay, temperature and geometry out"
        )


def _notes(
    target: Target, sigma: Activation, bias: float, a: float, d: float, reached: np.ndarray
) -> list[str]:
    """Saddles that the flow meets, and directions to which the activation is blind."""
    record = leap_record(target.regression)
    found: list[str] = []
    if leap := next((step for step in record.steps if step.order > 1), None):
        where = (
            "The flow starts at a saddle" if leap is record.steps[0] else "The flow meets a saddle"
        )
        found.append(f"{where}: {leap.new} needs a leap of order {leap.order}.")
        if leap is record.steps[0] and leap.order == 2:
            rate = a * abs(_derivative_mean(sigma, bias, 2)) * _largest_curvature(target)
            if rate > 0:
                found.append(
                    f"It leaves it at the rate {rate:.4g}, after a time of about "
                    f"ln(d)/{2 * rate:.4g} in dimension d."
                )
        if math.isinf(d):
            found.append("In infinite dimension it never leaves it: give a finite d.")
    if math.isinf(d) and (blind := _blind(record, reached)):
        orders = [m for m in range(1, _HIGHEST + 1) if abs(_derivative_mean(sigma, bias, m)) < 1e-9]
        which = ", ".join(map(str, orders))
        found.append(
            f"The activation is blind to {', '.join(f'z{i}' for i in blind)}, although the "
            f"staircase reaches it: its mean derivatives of order {which} vanish. A bias, or "
            "another activation, helps."
        )
    return found


def _blind(record: LeapRecord, reached: np.ndarray) -> list[int]:
    """Directions (counted from 1) of the staircase of order one that have no overlap at the end."""
    learned = None
    for step in record.steps:
        if step.order > 1:
            break
        learned = step.learned
    if learned is None:
        return []
    shown = (np.asarray(learned.basis) ** 2).sum(axis=0) > _BLIND
    return [int(i) + 1 for i in np.flatnonzero(shown & (reached < _BLIND))]


def _derivative_mean(sigma: Activation, bias: float, order: int) -> float:
    r"""Mean :math:`\mathbb{E}\,\sigma^{(m)}(b + G)`: a Hermite coefficient."""
    z = Variable("z", 1)
    moved = substitute(sigma.expression.tree, {z: add([z, Number(Fraction(bias))])})
    return Expression.from_tree(moved).hermite(order).coefficient(order).value


def _largest_curvature(target: Target) -> float:
    r"""Largest absolute eigenvalue of :math:`\mathbb{E}[g(zz^\top - I)]`."""
    return float(np.abs(np.linalg.eigvalsh(target.hermite(2).tensor(2))).max())
