"""One-pass SGD in the limit of high dimension: the flow of the order parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...base.curves import curve
from ...base.errors import BadData
from ...targets.covariance import read_covariance
from ...targets.losses import check_labels
from ...targets.optimizers import positive
from ...targets.sampled import whole_number
from ...targets.student import Student
from ...targets.target import Target
from ...targets.training import OptimizerSettings, TrainedStudent, read_training
from .._registry import THEORIES, Theory
from ._flow_push import Neurons
from ._flow_range import check_flow
from ._flow_solution import Limit, solve_flow

if TYPE_CHECKING:
    import xarray as xr

MAX_R = 4
_DIMS: dict[str, tuple[str, ...]] = {
    "overlap": ("neuron", "direction"),
    "norm": ("neuron", "neuron2"),
    "recovery": ("direction",),
    "readout": ("neuron",),
    "bias": ("neuron",),
    "test_mse": (),
    "buffer_overlap": ("neuron", "direction"),
    "buffer_product": ("neuron", "neuron2"),
    "buffer_norm": ("neuron", "neuron2"),
    "block_overlap": ("eigenvalue", "neuron", "direction"),
    "block_norm": ("eigenvalue", "neuron", "neuron2"),
}


@THEORIES.add("sgd_flow")
class SGDFlow(Theory):
    r"""Flow of the order parameters of one-pass SGD for every rule, loss and geometry.

    With fresh samples, steps :math:`\eta = \gamma/d` and time :math:`\tau = \mathrm{steps}/d`, the
    overlaps M and norms Q of the neurons follow (Saad and Solla)

    .. math::
        \dot M = \mathbb{E}[s z^\top], \qquad
        \dot Q = \mathbb{E}[s\lambda^\top] + \mathbb{E}[\lambda s^\top]
        + \tfrac1b\,\mathbb{E}[s s^\top], \qquad
        (\lambda, z) \sim \mathcal{N}\!\left(0, \begin{pmatrix} Q & M \\ M^\top & I \end{pmatrix}
        \right)     [FL-1]

    with the push :math:`s_j = \gamma\,a_j\,e\,\sigma'(\lambda_j)` of a sample (for the rules that
    look twice [FL-2]) and batches of b samples. On the sphere, with :math:`\dot Q` of [FL-1],

    .. math:: \dot M_j \mathrel{-}= \kappa_j M_j, \qquad
              \dot Q_{jl} \mathrel{-}= (\kappa_j + \kappa_l) Q_{jl}, \qquad
              \kappa_j = \tfrac12 \dot Q_{jj}.     [FL-3]

    Parameters
    ----------
    time : array
        Steps divided by d.
    step_size : float
        :math:`\gamma = \eta d`: **d times** the step of a simulation. There is no d in the limit,
        so all step sizes are given in these units.
    inner_step_size : float
        :math:`\rho`: d times the inner step.
    radius : float
        :math:`\sqrt d` times the radius of normalized SAM.
    train_readout, train_bias : float, optional
        d times their step sizes.
    batch_size : int
        Samples of one update; the batch stays finite.
    student : Student, optional
        Network; ``width``, ``activation``, ``readout``, ``bias`` and ``init`` may say it instead.
        In the limit both names of a start mean M = 0, Q = I. In the projected and spherical
        geometries given neurons are brought to unit norm first.
    clip_norm : float, optional
        :math:`1/\sqrt d` times the largest norm of a gradient.
    optimizer, momentum, nesterov, schedule
        For ``"normalized"`` and ``"muon"`` (polar) the step is :math:`\gamma = \eta\sqrt d`, and
        the decay :math:`\sqrt d` times that of a simulation [FL-6]; with momentum [FL-7].
        ``"sign"``, ``"rmsprop"`` and ``"adam"`` are those for directions that are spread over the
        coordinates [FL-8]. For ``"sgd"`` a fixed momentum :math:`\beta` divides :math:`\gamma` by
        :math:`1 - \beta`. In a schedule t is the time divided by the last one.
    momentum_rate : float, optional
        :math:`\kappa` of a momentum :math:`\beta = 1 - \kappa/d` that approaches one, for
        ``"sgd"``; the step is :math:`\gamma = \eta d/(1 - \beta)` [FL-9]. ``buffer_overlap``,
        ``buffer_product`` and ``buffer_norm`` are then those of the buffer times
        :math:`1 - \beta`.
    batch_ratio : float, optional
        Samples of a batch over d. **The time is then the number of updates**, and the step sizes
        are those of a simulation [FL-11]; for ``"sign"``, ``"rmsprop"`` and ``"adam"``
        :math:`\sqrt d` times them [FL-12]. ``clip_norm`` is that of a simulation.
    covariance : mapping, optional
        Eigenvalues of the covariance of the inputs, as ``gd.dynamics.sgd`` takes them [FL-10];
        ``block_overlap`` and ``block_norm`` are those of the weights in each block. A block has
        many dimensions in the limit: a spike of one is simulated by the engine.
    rule, inner_steps, interpolation, loss, loss_scale, geometry, weight_decay, clip
        See :class:`gradone.targets.training.TrainedStudent`.
    second_order : bool
        Whether the term E[s s^T] is kept. Without it and for a plain rule this is gradient flow on
        the population loss, the limit of small gamma at fixed :math:`\gamma\tau`.
    points : int, optional
        Points in each of 8 scrambles where means are taken over points; a power of two is best. If
        None 16384, and 65536 where the errors of overlaps or norms are above 1 %.

    Notes
    -----
    ``overlap`` is M, ``norm`` is Q, ``recovery`` is :math:`R_k = \sqrt{[M^\top Q^+ M]_{kk}}`;
    ``test_mse`` is the error on new labels, noise included; ``readout`` and ``bias`` are there if
    they are trained. A start without overlap stays there if :math:`\mathbb{E}[s z] = 0`: at finite
    d the overlap of order :math:`d^{-1/2}` must be given, see
    :func:`gradone.theory.hitting_time`.

    Means: closed forms for erf [FL-4]; panels that end at the kinks for one neuron and one
    direction; else eight scrambles of a Sobol net, each followed on its own. Errors are half-widths
    of 99 % intervals over the scrambles, plus what a tenfold tolerance of the integrator changes
    (without scrambles the largest such change between 0.6 of a time and that time).

    References
    ----------
    Saad and Solla 1995; Arnaboldi et al. 2023, arXiv:2302.05882; Arnaboldi et al. 2024,
    arXiv:2405.15459.

    Examples
    --------
    An extra-gradient step makes He3 visible to a relu:

    >>> import gradone as gd
    >>> flow = gd.predict("He3(z)", "sgd_flow", time=[10, 20, 40], width=1, step_size=0.1,
    ...                   rule="extragradient", inner_step_size=0.1)
    >>> flow.overlap.values.ravel().round(4), bool(flow.overlap_err.max() < 1e-5)
    (array([-0.1117, -0.2252, -0.3851]), True)
    """

    answers = (
        "overlap", "norm", "recovery", "readout", "bias", "test_mse", "buffer_overlap",
        "buffer_product", "buffer_norm", "block_overlap", "block_norm",
    )  # fmt: skip
    axes = ("time",)
    seconds = 1.0
    regime = "d -> infinity with time = steps/d, width, batch and d times the step sizes fixed"
    cites = ("saad1995online", "arnaboldi2023odes", "arnaboldi2024repetita")

    latent = True
    leaves_a_start = True

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        if len(target.joint.span) == 0:
            return "the target is a constant, so there is nothing to learn"
        if target.joint.r > MAX_R:
            latent = f" and {target.q} latent variables" if target.q else ""
            return (
                f"the target has r = {target.r} directions{latent}, but the means are computed for "
                f"at most {MAX_R}"
            )
        return None

    def predict(
        self,
        target: Target,
        student: Student | None = None,
        *,
        time: Any,
        step_size: float,
        batch_size: int = 1,
        momentum_rate: float | None = None,
        batch_ratio: float | None = None,
        covariance: Mapping[str, Any] | None = None,
        second_order: bool = True,
        points: int | None = None,
        **settings: Unpack[OptimizerSettings],
    ) -> xr.Dataset:
        """Order parameters and test error at each time."""
        training = read_training(
            student, step_size=step_size, batch_size=batch_size, flow=True, optimizers=True,
            **settings,
        )  # fmt: skip
        check_labels(training.loss, target)
        limit = Limit(
            bool(second_order),
            None if momentum_rate is None else positive("momentum_rate", momentum_rate),
            None if batch_ratio is None else positive("batch_ratio", batch_ratio),
            None if covariance is None else read_covariance(covariance, target.r),
        )
        check_flow(training, limit)
        if batch_ratio is not None:
            time = _whole_times(time)
        start = _start(training, target.r)
        order = np.argsort(time)
        flow = solve_flow(
            target, training, start, np.asarray(time)[order],
            limit=limit,
            points=None if points is None else whole_number("points", points),
        )  # fmt: skip
        back = np.argsort(order)
        coords = {
            "time": time,
            "neuron": np.arange(1, training.width + 1),
            "neuron2": np.arange(1, training.width + 1),
            "direction": np.arange(1, target.r + 1),
        }
        if limit.covariance is not None:
            coords["eigenvalue"] = limit.covariance.eigenvalues
        fields: dict[str, tuple[Any, Any]] = {}
        for name, (value, error) in flow.values.items():
            dims = ("time", *_DIMS[name])
            fields |= {name: (dims, value[back]), f"{name}_err": (dims, error[back])}
        converged = np.asarray(time) <= flow.until
        fields["converged"] = ("time", converged)
        fields["status"] = ("time", np.where(converged, "", flow.why))
        params = training.params | {
            "noise": target.noise,
            "second_order": bool(second_order),
            "momentum_rate": limit.momentum_rate,
            "batch_ratio": limit.batch_ratio,
            "covariance": None if covariance is None else dict(covariance),
        }
        if not isinstance(training.init, str):
            params["init"] = {"M": start.M, "Q": _norms(start)}
        return curve(
            fields, coords, source=f"theory:{self.name}", target=target.text, params=params,
        )  # fmt: skip


def _whole_times(time: Any) -> np.ndarray:
    times = np.asarray(time, dtype=float)
    if (times != np.round(times)).any():
        raise BadData(
            "with batch_ratio the time is the number of updates, which must be whole, got "
            f"{times[times != np.round(times)][0]:g}"
        )
    return times


def _start(student: TrainedStudent, r: int) -> Neurons:
    """State at time zero."""
    found, p = student.start(r), student.width
    M, Q = (np.zeros((p, r)), np.eye(p)) if isinstance(found, str) else found
    if student.geometry != "euclidean":
        size = np.sqrt(np.diag(Q))
        M, Q = M / size[:, None], Q / np.outer(size, size)
    return Neurons(M, Q - M @ M.T, np.array(student.a), np.array(student.b))


def _norms(neurons: Neurons) -> np.ndarray:
    return neurons.M @ neurons.M.T + neurons.rest
