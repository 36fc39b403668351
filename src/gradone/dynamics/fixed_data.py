"""The verb ``reused_batch``: gradient descent on a fixed data set, without the data."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ..base.cost import Cost, Need
from ..base.curves import curve
from ..base.errors import BadData, NotConverged
from ..base.memory import human_bytes, require_memory
from ..base.progress import Progress, Unwatched, watcher
from ..targets.sampled import Sampled, whole_number
from ..targets.student import Student
from ..targets.target import as_target
from ..targets.training import MomentumSettings, read_training
from ._descent import Descent, State, Task
from ._readings import check_room, multi_index, read_marks, read_replicates, recovery
from ._registry import ENGINES, Engine, record_of

if TYPE_CHECKING:
    import xarray as xr

_LOG = logging.getLogger(__name__)


def reused_batch(
    target: Sampled | str,
    student: Student | None = None,
    *,
    d: int,
    steps: int,
    alpha: float | None = None,
    n: int | None = None,
    step_size: float | str = "auto",
    batch_size: int | None = None,
    record: Any = 200,
    replicates: int | range = 16,
    seed: int = 0,
    test_samples: int = 4096,
    dtype: Literal["float64", "float32"] = "float64",
    progress: Progress | bool = True,
    **settings: Unpack[MomentumSettings],
) -> xr.Dataset:
    r"""Gradient descent on the same n samples at every step, exact in law at finite n and d.

    The student :math:`f(x) = \sum_j a_j \sigma(\langle w_j, x\rangle + b_j)` moves by

    .. math:: w_j \leftarrow w_j + \frac{\eta}{n}\sum_{\mu=1}^n a_j\,(y_\mu - f(x_\mu))\,
              \sigma'(\langle w_j, x_\mu\rangle + b_j)\,x_\mu

    on a fixed Gaussian data set X (n, d) that is never drawn: only its coordinates on the
    directions that the gradients have reached are, at most r + width + width times steps of them.
    The numbers have the law of a simulation of the network itself, at every n and d, also when the
    gradients have reached all d directions or all n samples.

    Parameters
    ----------
    target : Target or str
        What is learned.
    student : Student, optional
        Network; ``width``, ``activation``, ``readout``, ``bias`` and ``init`` may say it instead.
    d : int
        Input dimension, at least r + width.
    alpha, n : float or int
        Samples per dimension, or number of samples: one of the two.
    steps : int
        Number T of updates.
    step_size : float or "auto"
        :math:`\eta`, which multiplies the mean gradient over the batch; of order 1. ``"auto"``
        takes half of what would overshoot, less where labels are large (and ``inner_step_size`` or
        ``radius``, where the rule needs one and none is given); ``attrs["notes"]`` says what was
        chosen, and whether a few passes can learn the target.
    batch_size : int, optional
        Samples of one update; all by default. Otherwise every epoch takes the samples in a new
        random order, and its last batch may be smaller.
    record : int or array of int
        Number of logarithmically spaced times, or the numbers of updates after which to look.
    replicates : int or range
        Number of independent runs, each with its own data set, one after the other; or their
        addresses: runs ``range(4, 8)`` are the same numbers alone and among 8.
    seed : int
        Seed of everything random.
    test_samples : int
        Fresh samples on which the test error of each replicate is measured.
    dtype : {"float64", "float32"}
        Type of the coordinates of the samples; float32 halves the memory. The weights are float64.
    progress : bool or Progress
        True draws a bar on a terminal for runs over two seconds. An object is told the progress by
        ``step(i, total)`` and stops the run by returning True.
    **settings
        Parameters of the student, and of its update: ``rule``, ``inner_step_size``,
        ``inner_steps``, ``radius``, ``interpolation``, ``loss``, ``geometry``, ``train_readout``,
        ``train_bias``, ``weight_decay``, ``momentum`` and ``nesterov``, see
        :class:`gradone.targets.training.TrainedStudent`.

    Returns
    -------
    xarray.Dataset
        ``overlap`` M (replicate, step, neuron, direction), ``norm`` Q (replicate, step, neuron,
        neuron2), ``recovery`` (replicate, step, direction), ``train_mse`` and ``test_mse``
        (replicate, step), and ``readout``, ``bias`` (replicate, step, neuron) where they are
        trained. ``test_mse_err`` is the standard error of the measurement on fresh samples; the
        other errors are 0: the simulation is exact, its spread is that over ``replicate``.

    Raises
    ------
    NotConverged
        The weights diverged; the message says when, and names a stable step size. ``.last`` holds
        the run up to there.
    TooLarge
        The coordinates would not fit in memory: n (r + 9 width + 2 width steps) numbers.

    Notes
    -----
    Formulas: [RV-1], [RV-2]. Cost of step t: O(n width (r + width + width t)), until everything is
    known; then that of the direct simulation. Interrupted by Ctrl-C, the Dataset holds what was
    done; the rest is NaN.

    References
    ----------
    Dandi et al. 2024, arXiv:2402.03220.

    Examples
    --------
    >>> import gradone as gd
    >>> student = gd.Student(width=1, init="orthogonal")
    >>> run = gd.dynamics.reused_batch("tanh(z)", student, d=2000, alpha=3.0, step_size=0.2,
    ...                                steps=4, replicates=4)
    >>> bool(abs(run.overlap.isel(step=-1).mean() - 0.183) < 0.03)
    True
    """
    target = multi_index(as_target(target))
    d, n = whole_number("d", d), _number_of_samples(d, alpha, n)
    training = read_training(
        student, caller=reused_batch, optimizers=("momentum", "nesterov"), step_size=step_size,
        batch_size=n if batch_size is None else min(whole_number("batch_size", batch_size), n),
        **settings,
    )  # fmt: skip
    check_room(d, target.r, training.width)
    if dtype not in ("float64", "float32"):
        raise BadData(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    addresses, steps = read_replicates(replicates), whole_number("steps", steps)
    notes: list[str] = []
    if training.step_size == "auto":
        from ._auto_reuse import chosen_reuse

        training, notes = chosen_reuse(target, training, d)
    task = Task(
        target,
        training,
        n,
        d,
        steps,
        whole_number("seed", seed, least=0),
        read_marks(record, steps),
        whole_number("test_samples", test_samples, least=2),
        dtype,
    )
    _announce_memory(task, len(addresses))
    runs, failure, interrupted = _run(task, addresses, watcher(progress, "reused_batch"))
    if interrupted:
        notes.append("The run was interrupted; replicates that were not simulated are NaN.")
    dataset = _dataset(task, runs, addresses)
    dataset.attrs["notes"] = " ".join(notes)
    if failure:
        raise NotConverged(_divergence(task, *failure), last=dataset)
    return dataset


def _number_of_samples(d: int, alpha: Any, n: Any) -> int:
    if (alpha is None) == (n is None):
        raise BadData("give either alpha or n")
    if n is not None:
        return whole_number("n", n)
    try:
        n = round(float(alpha) * d)
    except (TypeError, ValueError, OverflowError):  # text, sequences, NaN, infinity
        n = 0
    if n < 1:
        raise BadData(f"alpha must be a finite number >= 1/d = {1 / d:g}, got {alpha!r}")
    return n


def _announce_memory(task: Task, replicates: int) -> None:
    p, r, times = task.student.width, task.target.r, len(task.marks)
    kept = 8 * replicates * times * (3 * p * r + 4 * p * p + 2 * r + 4 * p + 4)
    needed = task.bytes_needed + kept
    _LOG.info("reused_batch needs %s of memory", human_bytes(needed))
    require_memory(
        needed,
        f"a run of {task.steps} steps on n = {task.n} samples",
        "Use fewer samples or steps, a smaller width or record, or dtype='float32'.",
    )


def _run(
    task: Task, replicates: range, progress: Progress
) -> tuple[list[list[State]], tuple[int, int] | None, bool]:
    """States at the marks; replicate and step of what ran away, if any; whether it was stopped."""
    runs: list[list[State]] = []
    wanted = set(task.marks.tolist())
    total = len(replicates) * task.steps
    try:
        # What overflows has run away, and is found by its size.
        with np.errstate(over="ignore", invalid="ignore"):
            for number, replicate in enumerate(replicates):
                descent, kept = Descent(task, replicate), list[State]()
                runs.append(kept)
                while True:
                    if descent.done in wanted:
                        kept.append(descent.state())
                    if descent.done == task.steps:
                        break
                    descent.advance()
                    if descent.diverged:
                        return runs, (replicate, descent.done), False
                    if progress.step(number * task.steps + descent.done, total):
                        return runs, None, True
    except KeyboardInterrupt:
        if isinstance(progress, Unwatched):
            raise
        return runs, None, True
    finally:
        progress.close()
    return runs, None, False


def _dataset(task: Task, runs: list[list[State]], replicates: range) -> xr.Dataset:
    student, r = task.student, task.target.r
    p, axes = student.width, ("replicate", "step")
    shapes: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
        "M": (("neuron", "direction"), (p, r)),
        "L": (("neuron", "neuron2"), (p, p)),
        "readout": (("neuron",), (p,)),
        "bias": (("neuron",), (p,)),
        "train_mse": ((), ()),
        "test_mse": ((), ()),
        "test_mse_err": ((), ()),
    }
    found = {
        name: np.full((len(replicates), len(task.marks), *shape), np.nan)
        for name, (_, shape) in shapes.items()
    }
    for run, kept in enumerate(runs):
        for time, state in enumerate(kept):
            for name, array in found.items():
                array[run, time] = getattr(state, name)
    M, L = found["M"], found["L"]
    values: dict[str, tuple[Any, np.ndarray]] = {
        "overlap": ((*axes, "neuron", "direction"), M),
        "norm": ((*axes, "neuron", "neuron2"), M @ M.swapaxes(-1, -2) + L @ L.swapaxes(-1, -2)),
        "recovery": ((*axes, "direction"), recovery(M, L)),
        "train_mse": (axes, found["train_mse"]),
        "test_mse": (axes, found["test_mse"]),
    }
    for name in ("readout", "bias"):
        if getattr(student, f"train_{name}") is not None:
            values[name] = ((*axes, "neuron"), found[name])
    errors: dict[str, tuple[Any, np.ndarray]] = {
        f"{name}_err": (dims, np.zeros(array.shape)) for name, (dims, array) in values.items()
    }
    errors["test_mse_err"] = (axes, found["test_mse_err"])
    return curve(
        values | errors,
        {
            "replicate": np.array(replicates),
            "step": task.marks,
            "neuron": np.arange(1, p + 1),
            "neuron2": np.arange(1, p + 1),
            "direction": np.arange(1, r + 1),
        },
        source="simulation:reused_batch",
        target=task.target.text,
        params=student.params
        | {
            "n": task.n,
            "d": task.d,
            "steps": task.steps,
            "noise": task.target.noise,
            "test_samples": task.test_samples,
            "dtype": task.dtype,
        },
        seed=task.seed,
    )


def _divergence(task: Task, replicate: int, step: int) -> str:
    text = (
        f"the weights of replicate {replicate} diverged at step {step} with step_size = "
        f"{task.student.eta:g}; the run up to there is in error.last. "
    )
    for halvings in range(1, 21):
        slower = task.slower(0.5**halvings)
        descent = Descent(slower, replicate)
        with np.errstate(over="ignore", invalid="ignore"):
            while descent.done < task.steps and not descent.diverged:
                descent.advance()
        if not descent.diverged:
            return (
                text + f"Use step_size = {slower.student.eta:.3g} or less, and other step sizes "
                f"in proportion: on the same samples this stayed within bounds over {task.steps} "
                "steps."
            )
    return text + "No smaller step that was tried is stable: check target, activation and init."


def _memory(sizes: Any) -> list[Need]:
    p, steps, itemsize = sizes.width, sizes.steps, 4 if sizes.dtype == "float32" else 8
    columns = sizes.r + 9 * p + 2 * min(p * steps, sizes.d)
    held = Need(
        sizes.n * columns * itemsize, f"{columns} coordinates of {sizes.n} samples", "n or steps"
    )
    return [held, record_of(sizes)]


ENGINES.add("reused_batch")(
    Engine(
        reused_batch,
        ("overlap", "norm", "recovery", "readout", "bias", "train_mse", "test_mse"),
        Cost(
            "200 n width (r + width + width steps/2) operations in each step",
            lambda s: 200.0 * s.n * s.width * s.steps * (s.r + s.width + s.width * s.steps / 2),
            _memory,
        ),
        numerics=2,
    )
)
