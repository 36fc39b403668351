"""The verb ``sgd``: one-pass SGD at finite dimension, simulated exactly on order parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..base.cost import Cost
from ..base.curves import curve
from ..base.errors import BadData, NotConverged, OutOfRegime, one_of
from ..base.memory import require_memory
from ..base.progress import Progress, watcher
from ..base.quantities import recovery_of
from ..targets.losses import check_labels
from ..targets.optimizers import COORDINATEWISE
from ..targets.sampled import Sampled, whole_number
from ..targets.student import Student
from ..targets.target import Target, as_target
from ..targets.training import OptimizerSettings, TrainedStudent, read_training
from ._blocks import Blocks
from ._chain import Problem, Records
from ._readings import check_room, multi_index, read_marks, read_replicates, recovery
from ._registry import ENGINES, Engine, record_of
from ._run import Ending, run_replicates, stable_factor

if TYPE_CHECKING:
    import xarray as xr


METHODS = ("exact", "direct", "effective")


def sgd(
    target: Sampled | str,
    student: Student | None = None,
    *,
    d: int,
    steps: int | None = None,
    step_size: float | str = "auto",
    batch_size: int = 1,
    record: Any = 200,
    replicates: int | range = 16,
    seed: int = 0,
    method: str = "exact",
    optimizers: Sequence[str] | None = None,
    covariance: Mapping[str, Any] | None = None,
    progress: Progress | bool = True,
    **settings: Unpack[OptimizerSettings],
) -> xr.Dataset:
    r"""One-pass SGD of a two-layer network, exact in law at dimension d, at a cost without d.

    The student :math:`f(x) = \sum_j a_j \sigma(\langle w_j, x\rangle + b_j)` sees fresh Gaussian
    samples. Its overlaps with the hidden directions and its norms

    .. math:: M = W W^{\star\top} \quad (p \times r), \qquad Q = W W^\top \quad (p \times p)

    are a Markov chain of their own; that chain is simulated, and no vector of dimension d is ever
    formed. The numbers have the law of a simulation of the network itself, at every d.

    Parameters
    ----------
    target : Target or str
        What is learned.
    student : Student, optional
        Network; ``width``, ``activation``, ``readout``, ``bias`` and ``init`` may say it instead.
    d : int
        Input dimension, at least r + width.
    steps : int, optional
        Number of updates; by default four times what the linear theory says the first direction
        needs from the overlap 1/sqrt(d) with the sign that grows.
    step_size : float or "auto"
        :math:`\eta`, of the order of 1/d for one sample per update. ``"auto"`` takes it from the
        linear theory of the escape (and ``inner_step_size`` or ``radius``, where the rule needs one
        and none is given); ``attrs["notes"]`` says what was chosen, and when the rule cannot learn
        the target, which one could.
    batch_size : int
        Fresh samples for each update.
    record : int or array of int
        Number of logarithmically spaced times, or the numbers of updates after which to look.
    replicates : int or range
        Number of independent runs, or their addresses: runs ``range(4, 8)`` are the same numbers
        alone and among 8. They share the processors; the results do not depend on how many.
    seed : int
        Seed of everything random; runs with other rules or step sizes see the same samples.
    method : {"exact", "direct", "effective"}
        ``"direct"`` simulates the network in d dimensions, with hidden directions that are spread
        over the coordinates, for the optimizers that treat the coordinates one by one:
        ``"sign"``, ``"rmsprop"`` and ``"adam"``, with steps of the order of 1/d. Its cost is
        O(d width) for each sample. ``"effective"`` simulates ``"sign"`` at a cost without d, right
        to leading order in d for directions that are spread over the coordinates [SG-9].
    optimizers : sequence of str, optional
        Several of ``"sign"``, ``"rmsprop"`` and ``"adam"`` instead of one `optimizer`, for
        ``method="direct"``: they see the same samples, which are drawn once. All quantities then
        have the dimension ``optimizer``; each is the number of a run of its own.
    covariance : mapping, optional
        Eigenvalues of the covariance of the inputs: ``{"eigenvalues": s, "fractions": f}``, blocks
        of f_k d dimensions each (a spike has one), and the part ``"signal"`` of the hidden
        directions in each block, numbers or r x r matrices T with sum s_k T_k = 1; by default
        spread evenly. Given overlaps of the start are spread over the blocks as the directions
        are, the rest evenly.
    progress : bool or Progress
        True draws a bar on a terminal for runs over two seconds. An object is told the progress by
        ``step(i, total)`` and stops the run by returning True.
    **settings
        Parameters of the student, and of its update: ``rule``, ``inner_step_size``,
        ``inner_steps``, ``radius``, ``interpolation``, ``loss``, ``geometry``, ``train_readout``,
        ``train_bias``, ``weight_decay``, ``optimizer``, ``momentum``, ``nesterov``, ``clip_norm``,
        ``schedule``, ..., see :class:`gradone.targets.training.TrainedStudent`.

    Returns
    -------
    xarray.Dataset
        ``overlap`` M (replicate, step, neuron, direction), ``norm`` Q (replicate, step, neuron,
        neuron2), ``recovery`` (replicate, step, direction), and ``readout``, ``bias`` (replicate,
        step, neuron) where they are trained. With a covariance, ``overlap`` and ``norm`` are those
        of the fields, E[lambda z] and E[lambda lambda], and ``block_overlap``, ``block_norm``
        those of the weights in each block. Without one and with momentum also
        ``buffer_overlap`` V W*^T, ``buffer_product`` W V^T and ``buffer_norm`` V V^T of the buffer
        V. The coordinate ``time`` is step/d. The errors ``*_err`` are 0: the simulation is exact,
        its spread is that over ``replicate``.

    Raises
    ------
    NotConverged
        The weights diverged; the message says when, and names a stable step size. ``.last`` holds
        the run up to there.

    Notes
    -----
    ``recovery`` is :math:`R_k = \sqrt{[M^\top Q^+ M]_{kk}}`, the cosine of direction k with the
    span of the neurons; neurons that know nothing have about :math:`\sqrt{p/d}`. Interrupted by
    Ctrl-C, the Dataset holds what was done; the rest is NaN. Formulas: [SG-1] to [SG-5] in
    ``gradone.dynamics._patterns``. Cost of one update of batch size b: O(b (r + p) p), plus
    O(b p^2 m) for a rule that needs m gradients of the same batch.

    References
    ----------
    Saad and Solla 1995; Arnaboldi et al. 2024, arXiv:2405.15459.

    Examples
    --------
    A single neuron on the sphere learns z1 in O(d) steps:

    >>> import gradone as gd
    >>> student = gd.Student(width=1, activation="z")
    >>> run = gd.dynamics.sgd("z1", student, d=1000, steps=3000, step_size=1e-3,
    ...                       loss="correlation", geometry="spherical", replicates=4)
    >>> bool((run.overlap.isel(step=-1) > 0.5).all())
    True
    """
    target = multi_index(as_target(target))
    training, *rivals = _read_students(
        student, optimizers, settings | {"step_size": step_size, "batch_size": batch_size}
    )
    check_labels(training.loss, target)
    for one in (training, *rivals):
        _check_method(one_of("method", method, METHODS), one, rivals=bool(rivals))
    d = whole_number("d", d)
    check_room(d, target.r, training.width, buffers=training.momentum > 0)
    runs = read_replicates(replicates)
    notes: list[str] = []
    if training.step_size == "auto" or steps is None:
        from ._auto import chosen_steps

        if rivals:
            raise BadData(
                "several optimizers need step_size and steps: what is chosen for one of them does "
                "not suit the others"
            )
        training, suggested, notes = chosen_steps(target, training, d)
        steps = suggested if steps is None else steps
    steps = whole_number("steps", steps)
    problem = Problem(
        target, training, d, steps, whole_number("seed", seed, least=0), read_marks(record, steps),
        None if covariance is None else _read_blocks(covariance, target, training, d),
        method == "effective", tuple(rivals),
    )  # fmt: skip
    _check_memory(problem, len(runs))
    ending = run_replicates(problem, runs, progress=watcher(progress, "sgd"))
    if ending.interrupted:
        notes.append("The run was interrupted; replicates that were not simulated are NaN.")
    dataset = _dataset(problem, ending, runs, notes)
    if ending.diverged_at is not None:
        raise NotConverged(_divergence(problem, ending), last=dataset)
    return dataset


def _read_students(
    student: Student | None, optimizers: Sequence[str] | None, settings: Mapping[str, Any]
) -> list[TrainedStudent]:
    """The students of a run, one for each optimizer."""
    read = partial(read_training, student, caller=sgd, optimizers=True)
    if optimizers is None:
        return [read(**settings)]
    if "optimizer" in settings:
        raise BadData("give optimizer=..., or several of them as optimizers=[...], not both")
    names = [optimizers] if isinstance(optimizers, str) else list(optimizers)
    if not names or len(set(names)) < len(names):
        raise BadData(f"optimizers must be different names, got {names!r}")
    return [read(**settings, optimizer=name) for name in names]


def _check_method(method: str, training: TrainedStudent, *, rivals: bool) -> None:
    if rivals and method != "direct":
        raise BadData("several optimizers share their samples with method='direct' only")
    separate, sign = training.optimizer in COORDINATEWISE, training.optimizer == "sign"
    if separate and method == "exact":
        raise OutOfRegime(
            f"'{training.optimizer}' treats coordinates separately: no exact reduction; use "
            "method='direct', O(d width) per step"
            + (", or method='effective', the limit for spread-out directions" if sign else "")
        )
    if method != "exact" and not separate:
        raise BadData(
            f"method={method!r} is for 'sign', 'rmsprop' and 'adam'; "
            f"'{training.optimizer}' has an exact reduction, at a cost without d"
        )
    if method == "effective" and not sign:
        raise OutOfRegime(
            f"method='effective' is known for 'sign' only; for '{training.optimizer}' use "
            "method='direct', or its flow: gd.predict(..., 'sgd_flow')"
        )


def _read_blocks(
    covariance: Mapping[str, Any], target: Target, training: TrainedStudent, d: int
) -> Blocks:
    if training.optimizer in COORDINATEWISE:
        raise BadData(f"covariance with '{training.optimizer}' needs eigenvectors; leave it out")
    if training.rule != "plain":
        raise BadData("covariance is simulated for rule='plain'")
    rows = training.width * (2 if training.momentum else 1)
    return Blocks(covariance, d=d, r=target.r, rows=rows)


def _check_memory(problem: Problem, replicates: int) -> None:
    p, r, s = problem.student.width, problem.target.r, problem.student
    times = len(problem.marks)
    # Twice each quantity, for the value and its error; columns of L; work of the singular values.
    numbers = 3 * p * r + 4 * p * p + 2 * r + 4 * p
    require_memory(
        8 * replicates * times * numbers * len(problem.students),
        f"the record of {replicates} runs at {times} times",
        "Use a smaller record or fewer replicates.",
    )
    if s.batch_size > 1 and s.rule != "plain":
        require_memory(
            16 * s.batch_size * (r + 4 * p + 2 * problem.slots),
            f"a batch of {s.batch_size} samples that is seen several times",
            'Use a smaller batch_size, or rule="plain".',
        )


def _dataset(problem: Problem, ending: Ending, replicates: range, notes: list[str]) -> xr.Dataset:
    kept, student = ending.records, problem.student
    if problem.blocks is not None:
        quantities = _block_quantities(problem, problem.blocks, ending)
        return _curve(problem, quantities, kept, replicates, notes)
    stack, factor = kept.M, np.swapaxes(kept.columns, -1, -2)
    first = problem.rows - student.width
    M, L = stack[..., first:, :], factor[..., first:, :]
    quantities = {
        "overlap": (("replicate", "step", "neuron", "direction"), M),
        "norm": (
            ("replicate", "step", "neuron", "neuron2"),
            M @ np.swapaxes(M, -1, -2) + L @ np.swapaxes(L, -1, -2),
        ),
        "recovery": (("replicate", "step", "direction"), recovery(M, L)),
    }
    if first:
        V, B = stack[..., :first, :], factor[..., :first, :]
        V_, B_ = np.swapaxes(V, -1, -2), np.swapaxes(B, -1, -2)
        quantities |= {
            "buffer_overlap": (("replicate", "step", "neuron", "direction"), V),
            "buffer_product": (("replicate", "step", "neuron", "neuron2"), M @ V_ + L @ B_),
            "buffer_norm": (("replicate", "step", "neuron", "neuron2"), V @ V_ + B @ B_),
        }
    return _curve(problem, quantities, kept, replicates, notes)


def _block_quantities(problem: Problem, blocks: Blocks, ending: Ending) -> dict[str, Any]:
    """Overlaps and norms of the fields, and those of the weights in each block."""
    M, Q = blocks.overlaps(ending.records.M, ending.records.columns)
    first = problem.rows - problem.student.width
    M, Q = M[..., first:, :], Q[..., first:, first:]
    whole = ("replicate", "step", "neuron")
    seen, norm = (np.einsum("b,...bij->...ij", blocks.eigenvalues, part) for part in (M, Q))
    each = ("replicate", "step", "eigenvalue", "neuron")
    return {
        "overlap": ((*whole, "direction"), seen),
        "norm": ((*whole, "neuron2"), norm),
        "recovery": (("replicate", "step", "direction"), recovery_of(seen, norm)),
        "block_overlap": ((*each, "direction"), M),
        "block_norm": ((*each, "neuron2"), Q),
    }


def _curve(
    problem: Problem, quantities: dict[str, Any], kept: Records, replicates: range, notes: list[str]
) -> xr.Dataset:
    student = problem.student
    if student.train_readout is not None:
        quantities["readout"] = (("replicate", "step", "neuron"), kept.readout)
    if student.train_bias is not None:
        quantities["bias"] = (("replicate", "step", "neuron"), kept.bias)
    values: dict[str, tuple[Any, Any]] = {}
    for name, (dims, array) in quantities.items():
        if problem.rivals:
            dims = (*dims[:2], "optimizer", *dims[2:])
        values[name] = (dims, array)
        values[f"{name}_err"] = (dims, np.zeros(array.shape))
    neurons = np.arange(1, student.width + 1)
    names = [one.optimizer for one in problem.students]
    dataset = curve(
        values,
        {
            "replicate": np.array(replicates),
            "step": problem.marks,
            "neuron": neurons,
            "neuron2": neurons,
            "direction": np.arange(1, problem.target.r + 1),
        }
        | ({} if problem.blocks is None else {"eigenvalue": problem.blocks.eigenvalues})
        | ({"optimizer": names} if problem.rivals else {}),
        source="simulation:sgd",
        target=problem.target.text,
        params=student.params
        | ({"optimizer": names} if problem.rivals else {})
        | {"d": problem.d, "steps": problem.steps, "noise": problem.target.noise},
        seed=problem.seed,
    )
    dataset.attrs["notes"] = " ".join(notes)
    return dataset.assign_coords(time=("step", problem.marks / problem.d))


def _divergence(problem: Problem, ending: Ending) -> str:
    student = problem.student
    text = (
        f"the {ending.quantity} of replicate {ending.replicate} diverged at step "
        f"{ending.diverged_at} with "
        f"step_size = {student.eta:g}; the run up to there is in error.last. "
    )
    found = stable_factor(problem, ending)
    if found is None:
        return text + "No smaller step that was tried is stable: check target, activation and init."
    factor, steps = found
    slower = problem.slower(factor, steps).student
    names = ["step_size", "inner_step_size", "train_readout", "train_bias"]
    changes = [f"{n} = {v:.3g}" for n in names if (v := getattr(slower, n)) is not None]
    return (
        text + f"Use {', '.join(changes)} or less: with the same samples this stayed within bounds "
        f"over {steps} steps."
    )


def _operations(sizes: Any) -> float:
    p, b = sizes.width, sizes.batch_size
    # Without a number of steps the engine asks the theory of the escape: some tens of d.
    steps = 50 * sizes.d / b if sizes.steps is None else sizes.steps
    return float(steps * (4000 + 200 * b * p * (sizes.r + p)))


ENGINES.add("sgd")(
    Engine(
        sgd,
        (
            "overlap",
            "norm",
            "recovery",
            "readout",
            "bias",
            "buffer_overlap",
            "buffer_product",
            "buffer_norm",
        ),
        Cost(
            "4000 + 200 batch_size width (r + width) operations in each step",
            _operations,
            lambda sizes: [record_of(sizes)],
        ),
        numerics=2,
    )
)
