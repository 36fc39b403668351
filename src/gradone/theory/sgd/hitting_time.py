r"""How many steps SGD needs to find a direction: the flow on the sphere, integrated once.

With the Hermite coefficients :math:`\mu_k` of the target and :math:`c_k` of the activation,
:math:`F(m) = a\sum_k \mu_k c_k m^k/k!`, the overlap m of one neuron follows

.. math:: \dot m = \gamma(1-m^2)\,F'(m) - \frac{\gamma^2}{2}\,m\,V(m), \qquad
          V(m) = \mathbb{E}[a^2 e^2 \sigma'(\lambda)^2] \qquad [HT-1]

for both losses (the output of the student does not pull along the sphere), and

.. math:: \mathrm{steps} = d\int_{1/\sqrt d}^{m_1} \frac{dm}{\dot m}. \qquad [HT-2]

From random starts it is the median of a diffusion, [HT-3] and [HT-4] in :mod:`._random_start`.
"""

from __future__ import annotations

import math
from typing import Literal, Unpack, get_args

import numpy as np

from ...analysis.linear_stage import LinearStage, escape
from ...analysis.linear_stage.path import Path
from ...base.errors import BadData, OutOfRegime, one_of
from ...base.estimate import Estimate
from ...targets.frame import natural_frame
from ...targets.language.expression import Expression
from ...targets.language.tree import multiply, power
from ...targets.sampled import whole_number
from ...targets.student import Student
from ...targets.target import Target
from ...targets.training import Settings, TrainedStudent, read_training
from ._random_start import median_from_random_start

Begin = Literal["favorable", "random"]

_DEGREE = 60
_GRID = 2000
_ONE_NEURON = (
    "hitting_time follows one neuron without a bias on the sphere; gd.dynamics.sgd simulates others"
)
_UNREAD = frozenset("width bias init geometry train_readout train_bias weight_decay".split())


def hitting_time(
    target: Target | str,
    student: Student | None = None,
    *,
    d: int,
    step_size: float | Literal["auto"] = "auto",
    threshold: float = 0.5,
    start: Begin = "favorable",
    **settings: Unpack[Settings],
) -> Estimate:
    r"""Steps that one neuron on the sphere needs to reach an overlap with the target.

    Parameters
    ----------
    target : Target or str
        What is learned.
    student : Student, optional
        One neuron; ``activation`` and ``readout``, a number, may say it instead.
    d : int
        Input dimension.
    step_size : float or "auto"
        :math:`\eta = \gamma/d`, as in :func:`gradone.dynamics.sgd`; ``"auto"`` is the step that
        :func:`gradone.analysis.escape` recommends.
    threshold : float
        Overlap to be reached, in absolute value.
    start : str
        ``"favorable"``: the overlap :math:`1/\sqrt d` with the sign that moves outwards faster, and
        no noise: the integral [HT-2]. ``"random"``: the median over neurons that start uniformly on
        the sphere and over the samples, by the diffusion [HT-4]; for functions of one linear form.
    **settings
        ``rule``, ``inner_step_size``, ``inner_steps``, ``radius``, ``interpolation`` and ``loss``,
        see :class:`gradone.targets.training.TrainedStudent`; numbers as in a simulation at this d,
        that is, without factors d.

    Returns
    -------
    Estimate
        Number of steps. It is infinite if the velocity vanishes on the way from a favorable start,
        and from a random one if the overlap stays small for very long; the note says so.

    Notes
    -----
    From a favorable start, plain SGD on a function of one linear form is the Hermite series [HT-1];
    other cases are those of :meth:`gradone.analysis.LinearStage.hitting_time`.

    From random starts an information exponent of three and more has a broad law with a heavy right
    tail: half of the starts have the other sign and many a smaller overlap, and they wait until the
    noise carries them to where the drift takes over. The stated error covers what the diffusion
    leaves out: 11 % of the median for He3 at d = 64 and a step of 0.3 d^(-3/2), 0.2 % at d = 1024.

    References
    ----------
    Ben Arous et al. 2021, arXiv:2003.10409.

    Examples
    --------
    Information exponent 2: d log d steps.

    >>> [round(hitting_time("He2(z)/sqrt(2)", d=d, step_size=0.1 / d, activation="He2(z)/sqrt(2)",
    ...                     loss="correlation").value / d, 2) for d in (1000, 10_000)]
    [15.53, 21.59]

    Information exponent 3: d^2 steps, and more of them from a random start.

    >>> [round(hitting_time("He3(z)/sqrt(6)", d=256, step_size=0.3 * 256**-1.5, loss="correlation",
    ...                     activation="He3(z)/sqrt(6)", start=start).value / 256**2, 2)
    ...  for start in ("favorable", "random")]
    [1.12, 2.42]
    """
    one_of("start", start, get_args(Begin))
    target = target if isinstance(target, Target) else Target(target)
    d = whole_number("d", d)
    if d < 4 or not 1 / math.sqrt(d) < threshold < 1:
        raise BadData(
            f"hitting_time needs d >= 4 and 1/sqrt(d) < threshold < 1, got d = {d}, "
            f"threshold = {threshold!r}"
        )
    if unread := sorted(_UNREAD & set(settings)):
        raise BadData(f"{', '.join(unread)} has no meaning here: {_ONE_NEURON}")
    if student is None:
        settings["width"] = 1
    neuron = read_training(
        student, caller=hitting_time, step_size=step_size, geometry="spherical", **settings
    )
    if neuron.width != 1 or any(neuron.b):
        raise BadData(f"the student has width {neuron.width} and biases {neuron.b}: {_ONE_NEURON}")
    if start == "random":
        return _from_random_start(target, neuron, d, threshold)
    line = natural_frame(target.joint)
    is_plain = neuron.rule == "plain" and neuron.step_size != "auto"
    if not is_plain or len(line.rows) != 1 or target.q:
        return _by_linear_stage(target, neuron, d, threshold)
    path = HermitePath(line.expression, target.noise, neuron)
    time = path.time(neuron.eta * d, 1 / math.sqrt(d), threshold)
    return Estimate(d * time.value, d * time.error, time.kind, time.note)


def _by_linear_stage(target: Target, student: TrainedStudent, d: int, threshold: float) -> Estimate:
    """Hitting time by the push averaged at each label, for any rule."""
    stage, step = _stage(target, student, d)
    return stage.hitting_time(d, step_size=step, threshold=threshold)


def _stage(target: Target, student: TrainedStudent, d: int) -> tuple[LinearStage, float | None]:
    """Linear stage of any rule, and the step in its units, None for the recommended one."""
    given = student.rule in ("extragradient", "sam", "k_steps", "look_ahead")
    if given and student.inner_step_size is None and student.step_size == "auto":
        raise BadData(f"the rule '{student.rule}' needs step_size=... or inner_step_size=...")
    stage = escape(
        target, student.sigma, rule=student.rule, loss=student.loss,
        readout=student.a[0], inner_step=d * student.inner_eta if given else None,
        inner_steps=student.inner_steps,
        radius=None if student.radius is None else math.sqrt(d) * student.radius,
    )  # fmt: skip
    if student.step_size == "auto":
        return stage, None
    eta = student.eta
    if student.rule == "look_ahead":
        assert student.interpolation is not None
        eta = student.interpolation * student.inner_eta
    return stage, eta * d**stage.step_power


def _from_random_start(
    target: Target, student: TrainedStudent, d: int, threshold: float
) -> Estimate:
    line = natural_frame(target.joint)
    if len(line.rows) != 1 or target.q:
        raise OutOfRegime(
            f"start='random' covers functions of one linear form without latent noise, and "
            f"'{target.text}' is none; gd.dynamics.sgd simulates it from random starts"
        )
    stage, step = _stage(target, student, d)
    if step is None:
        if stage.step_size is None:
            return Estimate(math.inf, note=stage.verdict)
        step = stage.step_size.value
    path = Path(stage.update, line.expression, target.noise, 1.0)
    return median_from_random_start(path, d, step * d ** (1 - stage.step_power), threshold)


class HermitePath:
    """Velocity of the overlap on the sphere, from Hermite series.

    Parameters
    ----------
    g : Expression
        Target, a function of one variable.
    noise : float
        Variance of the label noise.
    student : TrainedStudent
        One neuron with the plain rule.
    """

    def __init__(self, g: Expression, noise: float, student: TrainedStudent) -> None:
        sigma, a = student.sigma.expression, student.a[0]
        slope = student.sigma.derivative().expression.tree
        flat = power(slope, 2)
        one = Expression.from_tree(power(g.tree, 2), r=1)
        self._drift, self._drift_error = _series(g, sigma)
        self._drift, self._drift_error = a * self._drift, abs(a) * self._drift_error
        parts = [(a**2, one, flat)]
        constant = a**2 * noise * Expression.from_tree(flat, r=1).mean().value
        if student.loss == "square":
            parts.append((-2 * a**3, g, multiply((sigma.tree, flat))))
            both = multiply((power(sigma.tree, 2), flat))
            constant += a**4 * Expression.from_tree(both, r=1).mean().value
        noise_series = np.zeros(_DEGREE + 1)
        noise_error = np.zeros(_DEGREE + 1)
        for factor, left, right in parts:
            value, error = _series(left, Expression.from_tree(right, r=1))
            noise_series += factor * value
            noise_error += abs(factor) * error
        noise_series[0] += constant
        self._noise, self._noise_error = noise_series, noise_error

    def velocity(self, m: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
        """dm/dtau at overlaps, and its error [HT-1]."""
        k = np.arange(1, _DEGREE + 1)
        powers = m[..., None] ** np.arange(_DEGREE + 1)
        sizes = np.abs(powers)
        drive = powers[..., :-1] @ (k * self._drift[1:])
        drive_error = sizes[..., :-1] @ (k * self._drift_error[1:])
        # The last terms say how much is missing after them.
        tail = np.abs(powers[..., -7:-1] * (k * self._drift[1:])[-6:]).max(axis=-1)
        noise_tail = np.abs(powers[..., -6:] * self._noise[-6:]).max(axis=-1)
        missing = 1 / (1 - np.abs(m))
        speed = gamma * (1 - m * m) * drive - gamma**2 / 2 * m * (powers @ self._noise)
        error = gamma * (1 - m * m) * (drive_error + missing * tail)
        error += gamma**2 / 2 * np.abs(m) * (sizes @ self._noise_error + missing * noise_tail)
        return speed, error

    def time(self, gamma: float, start: float, end: float) -> Estimate:
        """Time steps/d between two overlaps [HT-2]."""
        both = [float(s * self.velocity(np.array(s * start), gamma)[0]) for s in (1.0, -1.0)]
        sign = 1.0 if both[0] >= both[1] else -1.0

        def outward(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            speed, error = self.velocity(sign * m, gamma)
            return sign * speed, error

        m = np.geomspace(start, end, _GRID)
        speed, error = outward(m)
        if (speed <= error).any():
            stop = float(m[np.argmax(speed <= error)])
            return Estimate(math.inf, note=f"the overlap stops growing near {stop:.2g}")
        from scipy.integrate import quad

        def integrand(x: float) -> float:
            point = np.array(math.exp(x))
            return float(point / outward(point)[0])

        value, gap = quad(integrand, math.log(start), math.log(end), limit=200, epsrel=1e-10)
        return Estimate(value, gap + value * float((error / speed).max()), "quadrature")


def _series(f: Expression, g: Expression) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients in m^k of E[f(z) g(lambda)] for unit variables of covariance m, and errors."""
    left, right = (h.hermite(_DEGREE) for h in (f, g))
    x, y = ([e.coefficient(k) for k in range(_DEGREE + 1)] for e in (left, right))
    scale = np.array([1.0 / math.factorial(k) for k in range(_DEGREE + 1)])
    value = np.array([p.value * q.value for p, q in zip(x, y, strict=True)]) * scale
    error = np.array(
        [abs(p.value) * q.error + (abs(q.value) + q.error) * p.error
         for p, q in zip(x, y, strict=True)]
    )  # fmt: skip
    return value, error * scale
