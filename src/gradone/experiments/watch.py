"""The verb ``watch``: any training loop, measured against the truth while it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.curves import curve, with_look
from ..base.errors import BadData
from ..base.progress import Progress, watcher
from ..learners._models import read_model
from ..targets.sampled import Sampled, whole_number
from ..targets.target import as_target
from .foreign import EstimatorFailed
from .metrics import Measured, measure_directions, measure_predictions

if TYPE_CHECKING:
    import xarray as xr

_NEURONS = 64  # of which overlaps and scalar products are kept one by one
_KERNEL_ROWS = 512  # fresh rows on which the kernel of the last layer is compared with the labels
LABELS = {"kernel_alignment": ("A", "alignment of the kernel of the last layer with the labels")}


class Monitor:
    r"""Callback that measures a network against a target at chosen moments of its training.

    Parameters
    ----------
    target : Target, hierarchical target, or str
        What is learned.
    d : int
        Input dimension.
    seed, replicate : int
        Address of the data that the network is trained on: ``target.sample(n, d, seed=seed)``.
    test_samples : int
        Fresh samples for the errors.
    time_step : float, optional
        Time of one step; 1/d by default, as in :func:`gradone.dynamics.sgd`. The mean-field limit
        has the step size of a neuron.
    label : str
        Name for people.
    inputs, directions
        Law of the inputs and hidden directions, as of :meth:`.Target.on`.

    Notes
    -----
    ``overlap`` and ``norm`` (scalar products) of neurons are kept for networks of at most 64 of
    them; ``cosine2`` and ``recovery`` for all. The kernel alignment of centered features
    :math:`\Phi` (n, p) and labels is

    .. math:: A = \frac{|\Phi^\top y|^2}{\|\Phi^\top\Phi\|_F\,|y|^2}.                     [ME-5]

    Examples
    --------
    >>> monitor = Monitor("z1*z2", d=10)
    >>> monitor(0, np.eye(2, 10))
    >>> monitor(5, {"weights": np.eye(2, 10), "predict": lambda X: X[:, 0]})
    >>> dict(monitor.curve().recovery.sizes)
    {'step': 2, 'direction': 2}
    """

    def __init__(
        self,
        target: Sampled | str,
        d: int,
        *,
        seed: int = 0,
        replicate: int = 0,
        test_samples: int = 4096,
        time_step: float | None = None,
        label: str = "watched",
        inputs: Any = None,
        directions: Any = "random",
    ) -> None:
        self.target = as_target(target).on(inputs, directions)
        self.d = whole_number("d", d)
        self.label, self.test_samples = label, whole_number("test_samples", test_samples)
        self.address: dict[str, Any] = {"seed": seed, "replicate": replicate}
        self.time_step = 1 / self.d if time_step is None else float(time_step)
        self._W_star = self.target.realization(self.d, **self.address).W_star
        self._fresh = self.target.sample(
            _fresh_rows(self.target), self.d, role="test", **self.address
        )
        self._moments: dict[int, dict[str, Measured]] = {}

    def __call__(self, step: int, state: Any) -> None:
        """Measure the network after `step` steps; anything that :func:`.read_model` takes."""
        step = whole_number("step", step, least=0)
        if self._moments and step <= max(self._moments):
            raise BadData(f"step {step} comes after step {max(self._moments)}: steps must grow")
        model = read_model(state, self.d)
        found: dict[str, Measured] = {}
        if model.weights is not None:
            found |= self._of_weights(model.weights)
        if model.predict is not None:
            found |= measure_predictions(
                self.target,
                model.predict,
                d=self.d,
                test_samples=self.test_samples,
                seed=self.address["seed"],
                replicate=self.address["replicate"],
            )
        if model.layers:
            last = list(model.layers.values())[-1](self._fresh.X)
            value = kernel_alignment(last, self._fresh.y)
            found["kernel_alignment"] = Measured((), value, 0.0)
        self._moments[step] = found

    def _of_weights(self, rows: np.ndarray) -> dict[str, Measured]:
        if not np.isfinite(rows).all():
            raise BadData("some weights are not finite: the training diverged")
        found = measure_directions(self.target, rows, self._W_star)
        found.pop("overlap_aligned", None)
        if "row_overlap" in found:
            return {"row_overlap": found["row_overlap"]}
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        _, values, basis = np.linalg.svd(rows / np.where(sizes, sizes, 1.0), full_matrices=False)
        basis = basis[values > 1e-12 * values[0]]
        spanned = np.sqrt(((basis @ self._W_star.T) ** 2).sum(axis=0))
        found["recovery"] = Measured(("direction",), np.minimum(spanned, 1.0), 0.0)
        overlap = found.pop("overlap")
        if len(rows) <= _NEURONS:
            found["overlap"] = overlap._replace(dims=("neuron", "direction"))
            found["norm"] = Measured(("neuron", "neuron2"), rows @ rows.T, 0.0)
        return found

    def curve(self) -> xr.Dataset:
        """What was measured, over ``step``, with the coordinate ``time``."""
        if not self._moments:
            raise BadData("nothing was measured yet: call the monitor with a step and a network")
        steps = list(self._moments)
        names = dict.fromkeys(name for one in self._moments.values() for name in one)
        values: dict[str, tuple[Any, Any]] = {}
        sizes: dict[str, int] = {}
        for name in names:
            shown = [one.get(name) for one in self._moments.values()]
            like = next(one for one in shown if one is not None)
            shape = np.shape(like.value)
            lost = np.full(shape, np.nan)
            rows = [lost if one is None else np.broadcast_to(one.value, shape) for one in shown]
            errors = [
                np.zeros(shape) if one is None else np.broadcast_to(one.error, shape)
                for one in shown
            ]
            sizes |= dict(zip(like.dims, shape, strict=True))
            values |= {
                name: (("step", *like.dims), np.stack(rows)),
                f"{name}_err": (("step", *like.dims), np.stack(errors)),
            }
        coords: dict[str, Any] = {name: np.arange(1, size + 1) for name, size in sizes.items()}
        found = curve(
            values,
            {"step": steps, **coords},
            source=f"simulation:{self.label}",
            target=self.target.text,  # type: ignore[attr-defined]
            params={"d": self.d, "noise": self.target.noise, "test_samples": self.test_samples},
            seed=self.address["seed"],
            labels=LABELS,
        )
        found = found.assign_coords(time=("step", np.array(steps) * self.time_step))
        return with_look(found, self.label, "black", getattr(self.target, "latex", ""))


def watch(
    step: Any,
    target: Sampled | str,
    *,
    d: int,
    steps: int = 1000,
    every: int | None = None,
    batch_size: int = 1,
    n: int | None = None,
    seed: int = 0,
    replicate: int = 0,
    test_samples: int = 4096,
    time_step: float | None = None,
    label: str = "",
    progress: Progress | bool = True,
    inputs: Any = None,
    directions: Any = "random",
) -> xr.Dataset:
    """Overlaps, norms, errors and kernel alignment of any training loop, against time.

    Parameters
    ----------
    step : function, generator, estimator or pair
        What is trained, in one of these forms:

        - a function ``step(X, y)`` that is called with fresh batches and gives back the network;
        - a generator function ``train(X, y)`` that is called once with n samples and yields the
          network after each of its steps; or a generator that is running already;
        - an estimator with ``partial_fit(X, y)``;
        - a pair ``(module, optimizer)`` of PyTorch, trained on half the mean squared error.

        A network is anything that :func:`gradone.probe` understands: weights (width, d), a function
        of X, a pair (function, parameters) as in JAX, a table ``{"weights": W, "predict": f}``, an
        estimator, a torch module.
    target : Target, hierarchical target, or str
        What is learned.
    d, steps : int
        Input dimension; number of steps at most.
    every : int, optional
        Steps between two measurements; by default there are about fifty.
    batch_size : int
        Fresh samples of each step.
    n : int, optional
        Samples that a generator function is given.
    seed, replicate, test_samples, time_step, label, inputs, directions
        As of :class:`gradone.Monitor`, which is the same as a callback.
    progress : bool or Progress
        True draws a bar on a terminal.

    Returns
    -------
    xarray.Dataset
        Over ``step``, with the coordinate ``time``; it is drawn beside theories as any curve.

    Examples
    --------
    SGD on one neuron, with momentum:

    >>> w, v = np.full((1, 50), 50**-0.5), np.zeros((1, 50))
    >>> def step(X, y):
    ...     global w, v
    ...     v = 0.9 * v + ((y - np.tanh(X @ w[0])) * (1 - np.tanh(X @ w[0]) ** 2)) @ X / len(y)
    ...     w = w + 0.1 * v
    ...     return {"weights": w, "predict": lambda X: np.tanh(X @ w[0])}
    >>> found = watch(step, "tanh(z)", d=50, steps=200, batch_size=20, progress=False)
    >>> bool(found.test_mse[-1] < 0.05), bool(found.cosine2[-1, 0] > 0.9)
    (True, True)
    """
    d, steps = whole_number("d", d), whole_number("steps", steps)
    truth = as_target(target).on(inputs, directions)
    name = label or _name_of(step)
    monitor = Monitor(
        truth,
        d,
        seed=seed,
        replicate=replicate,
        test_samples=test_samples,
        time_step=time_step,
        label=name,
    )
    gap = max(1, steps // 50) if every is None else whole_number("every", every)
    states = _states(
        step, truth, d, steps, whole_number("batch_size", batch_size), n, monitor.address
    )
    bar = watcher(progress, name)
    done = 0
    try:
        while done < steps:
            try:
                state = next(states)
                done += 1
                if done % gap == 0 or done == steps:
                    monitor(done, state)
            except StopIteration:
                break
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raise EstimatorFailed(f"'{name}' failed at step {done}: {what}") from error
            if bar.step(done, steps):
                break
    finally:
        bar.close()
    return monitor.curve()


def _fresh_rows(target: Sampled) -> int:
    rows = None if target.inputs is None else target.inputs.rows_of("test")
    return _KERNEL_ROWS if rows is None else min(rows, _KERNEL_ROWS)


def _name_of(step: Any) -> str:
    thing = step[0] if isinstance(step, tuple) else step
    name = getattr(thing, "__name__", "") or type(thing).__name__
    return "watched" if name in ("<lambda>", "generator") else str(name)


def _states(
    step: Any, target: Sampled, d: int, steps: int, batch: int, n: int | None, address: Any
) -> Iterator[Any]:
    """Networks, one after each step."""
    if inspect.isgenerator(step):
        return step
    if inspect.isgeneratorfunction(step):
        if n is None:
            raise BadData(f"'{_name_of(step)}' is called once with n samples: give n")
        sample = target.sample(whole_number("n", n), d, **address)
        return iter(step(sample.X, sample.y))
    return _on_batches(_step_of(step), target, d, steps, batch, address)


def _step_of(given: Any) -> Callable[[np.ndarray, np.ndarray], Any]:
    if isinstance(given, tuple) and len(given) == 2 and hasattr(given[1], "zero_grad"):
        from ..learners._torch import module_step

        return module_step(*given)
    if hasattr(given, "partial_fit"):

        def fitted(X: np.ndarray, y: np.ndarray) -> Any:
            given.partial_fit(X, y)
            return given

        return fitted
    if callable(given) and not isinstance(given, type):
        return given
    raise BadData(
        f"{given!r} cannot be watched: give a function step(X, y) that gives back the network, a "
        "generator of networks, an estimator with partial_fit, or a pair (module, optimizer)"
    )


def _on_batches(
    step: Callable[[np.ndarray, np.ndarray], Any],
    target: Sampled,
    d: int,
    steps: int,
    batch: int,
    address: Any,
) -> Iterator[Any]:
    for part in target.stream(steps * batch, d, chunk=batch, **address):
        found = step(part.X, part.y)
        if found is None:
            raise BadData("the step gave nothing back; let it return the network")
        yield found


def kernel_alignment(features: np.ndarray, y: np.ndarray) -> float:
    """Alignment of the kernel of features (n, p) with labels (n,), both centered [ME-5].

    Examples
    --------
    >>> y = np.array([1.0, -1.0, 1.0, -1.0])
    >>> round(kernel_alignment(3 * y[:, None], y), 12)
    1.0
    """
    features = features - features.mean(axis=0)
    y = y - y.mean()
    # Of the two Gram matrices the smaller one has the same norm.
    small = features.T @ features if features.shape[1] <= len(y) else features @ features.T
    size = float(np.linalg.norm(small) * (y @ y))
    return float(((features.T @ y) ** 2).sum()) / size if size else 0.0
