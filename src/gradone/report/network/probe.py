"""The verb ``probe``: what a trained network has learned, on data of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.arrays import to_numpy
from ...base.errors import BadData
from ...base.progress import Progress, watcher
from ...learners import SpectralDirections
from ...learners._models import Model, read_model
from .measures import Layer, Standing, in_chunks, measure_layer, stability, standing_out

if TYPE_CHECKING:
    from ...charts import Panels

Kind = Literal["lazy", "one spike", "directions", "unconfirmed"]
_ROWS, _GRADIENTS = 4000, 1000  # rows that are looked at; those at which gradients are taken
_PERMUTATIONS = 79  # of the labels: either order has the level 1/80
_LEAST = 40


@dataclass(frozen=True, repr=False)
class Probe:
    """Answer of :func:`gradone.probe`.

    Parameters
    ----------
    kind : {"lazy", "one spike", "directions", "unconfirmed"}
        The verdict in one word.
    directions : ndarray (k, d)
        Confirmed directions, orthonormal; those in which the predictions change most come first.
    weights, gradients : Standing or None
        Directions that stand out in the first layer and in the gradients of the predictions.
    confirmed : int
        Number of directions that the labels themselves confirm, and the p-values of the test for
        first and second order in `p_values`.
    share, share_err : float
        Part of the mean squared gradient in `directions`, and its standard error.
    stability : float
        Mean squared cosine between directions from two halves of the rows.
    ansatz : float
        Alignment of the average gradient outer product with the weights [PR-1]; NaN if not known.
    layers : tuple of Layer
        The inputs and each hidden layer.
    n, d : int
        Rows and columns of the data.
    """

    kind: Kind
    directions: np.ndarray
    weights: Standing | None
    gradients: Standing | None
    confirmed: int
    p_values: tuple[float, float]
    share: float
    share_err: float
    stability: float
    ansatz: float
    layers: tuple[Layer, ...]
    n: int
    d: int

    @property
    def verdict(self) -> str:
        """What was learned, in words."""
        from .words import verdict

        return verdict(self)

    def __repr__(self) -> str:
        return f"Probe({self.kind}, {len(self.directions)} directions, {self.n} x {self.d})"

    def summary(self) -> str:
        """The answer as text for a terminal."""
        from .words import summary

        return summary(self)

    def chart(self) -> Panels:
        """Spectra of gradients and weights with the edges of chance, and the layers."""
        from .page import chart

        return chart(self)

    def to_html(self) -> str:
        """A page that asks nothing of the network."""
        from .page import page

        return page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page."""
        path = Path(path)
        path.write_text(self.to_html(), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        from .page import body

        return body(self)


def probe(
    model: Any,
    X: Any,
    y: Any,
    *,
    before: Any = None,
    fresh: bool = False,
    seed: int = 0,
    progress: Progress | bool = True,
) -> Probe:
    """What a trained network has learned: lazy, one spike, or several directions.

    Parameters
    ----------
    model : object
        An estimator with ``predict``, a multilayer perceptron of scikit-learn, a PyTorch module, a
        function of X, a pair ``(function, parameters)`` as in JAX, weights (width, d), or a table
        with ``predict``, ``weights`` and ``layers`` (a function of X for each name).
    X, y : array (n, d), array (n,)
        Data; numbers.
    before : object, optional
        The same network before it was trained, for the alignment of its kernels.
    fresh : bool
        Whether the network was not trained on these rows. Then the labels are asked about the
        directions of the network alone, which sees much more.
    seed : int
        Of the rows that are looked at and of all permutations.
    progress : bool or Progress
        True draws a bar on a terminal.

    Returns
    -------
    Probe
        With ``verdict``, ``directions``, ``summary()``, ``chart()``, ``save("probe.html")``.

    Notes
    -----
    A direction is claimed if it stands out in the first layer (in the gradients, where weights are
    not known) beyond rows with permuted entries [PR-2], and if the labels confirm it: their first
    and second conditional moments exceed those of permuted labels, in the whole space or, for
    fresh rows, in the span of these directions. Labels that have nothing to do with the inputs
    give a claim in at most 2.5 % of all cases, also if the network was trained on them. What is
    visible to the third order alone is not confirmed unless rows are fresh and the moments see it.

    At most 4000 rows are looked at and 1000 gradients are taken (exact ones of PyTorch, finite
    differences of others). Memory: some arrays of 4000 x d and 4000 x width numbers.

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("z1 + He2(z1)").sample(n=4000, d=30)
    >>> step = gd.learners.GiantStep(width=200, step_size=4.0, random_state=0).fit(s.X, s.y)
    >>> found = probe(step, s.X, s.y, progress=False)
    >>> found.kind, bool(abs(found.directions[0] @ s.W_star[0]) > 0.9)
    ('one spike', True)
    """
    X, y = _data(X, y)
    n, d = X.shape
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(n, min(n, _ROWS), replace=False))
    rows, labels = np.asarray(X[chosen], np.float64), np.asarray(y[chosen], np.float64)
    read, old = read_model(model, d), None if before is None else read_model(before, d)
    bar = watcher(progress, "probe")
    total, done = 4 + len(read.layers), 0

    def told() -> None:
        nonlocal done
        done += 1
        bar.step(done, total)

    try:
        _check_predictions(read, rows[:2])
        places = rows[rng.permutation(len(rows))[:_GRADIENTS]]
        slopes = None if read.predict is None else in_chunks(read.gradients, places)
        told()
        weights = None if read.weights is None else standing_out(read.weights, rng)
        gradients = None if slopes is None else standing_out(slopes, rng)
        told()
        standing = weights or gradients
        if standing is None:
            raise BadData("the model tells neither weights nor predictions")
        leading = _leading(standing, slopes)
        confirmed, p_values = _confirmed(rows, labels, leading if fresh else None, rng)
        told()
        k = min(confirmed, len(leading))
        layers = _layers(read, old, rows, labels, rng, told)
    finally:
        bar.close()
    share, error = _share(slopes, leading[:k])
    return Probe(
        kind="lazy" if not standing.count
        else "unconfirmed" if not k else "one spike" if k == 1 else "directions",
        directions=leading[:k], weights=weights, gradients=gradients, confirmed=confirmed,
        p_values=p_values, share=share, share_err=error,
        stability=float("nan") if slopes is None or not k else stability(slopes, k),
        ansatz=_ansatz(slopes, read.weights), layers=layers, n=n, d=d,
    )  # fmt: skip


def _data(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        X, y = np.asarray(to_numpy(X)), np.asarray(to_numpy(y))
        is_number = X.dtype.kind in "fiub" and y.dtype.kind in "fiub"
    except (TypeError, ValueError):
        is_number = False
    if not is_number or X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise BadData(
            "probe needs numbers X (n, d) and y (n,), got "
            f"{np.shape(X)} and {np.shape(y)}; code classes as numbers first"
        )
    if len(X) < _LEAST:
        raise BadData(f"probe needs at least {_LEAST} rows, got {len(X)}")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise BadData("some numbers of X or y are not finite")
    if np.ptp(y) == 0:
        raise BadData("all labels are the same: there is nothing that a network could learn")
    return X, y


def _check_predictions(model: Model, rows: np.ndarray) -> None:
    if model.predict is None:
        return
    found = model.predict(rows)
    if found.shape != (len(rows),):
        raise BadData(
            f"predictions have the shape {found.shape}, not ({len(rows)},): give a function of one "
            "output, such as the difference of two of them"
        )
    if not np.isfinite(found).all():
        raise BadData("some predictions are not finite")


def _leading(standing: Standing, slopes: np.ndarray | None) -> np.ndarray:
    """Directions (k, d) of what stands out: those in which the predictions change most."""
    k = standing.count
    if slopes is None or not k:
        return standing.directions
    return np.linalg.eigh(slopes.T @ slopes)[1][:, ::-1][:, :k].T


def _confirmed(
    rows: np.ndarray, y: np.ndarray, inside: np.ndarray | None, rng: np.random.Generator
) -> tuple[int, tuple[float, float]]:
    """Number of directions that the labels confirm, and the p-values of both orders."""
    if inside is not None:
        if not len(inside):
            return 0, (1.0, 1.0)
        rows = rows @ inside.T
    finder = SpectralDirections(n_permutations=_PERMUTATIONS, random_state=rng)
    finder.fit(rows, y)
    first, second = finder.p_values_
    return int(finder.n_directions_), (float(first), float(second))


def _layers(
    read: Model, old: Model | None, rows: np.ndarray, y: np.ndarray, rng: Any, told: Any
) -> tuple[Layer, ...]:
    found = [measure_layer("inputs", rows, y, None, rng)]
    told()
    for name, layer in read.layers.items():
        earlier = None
        if old is not None and name in old.layers:
            earlier = in_chunks(old.layers[name], rows)
        found.append(measure_layer(name, in_chunks(layer, rows), y, earlier, rng))
        told()
    return tuple(found)


def _share(slopes: np.ndarray | None, directions: np.ndarray) -> tuple[float, float]:
    """Part of the mean squared gradient in a subspace, with its standard error (a ratio)."""
    if slopes is None or not len(directions):
        return float("nan"), float("nan")
    inside, whole = ((slopes @ directions.T) ** 2).sum(axis=1), (slopes**2).sum(axis=1)
    mean = float(whole.mean()) or 1.0
    share = float(inside.mean()) / mean
    return share, float((inside - share * whole).std(ddof=1) / np.sqrt(len(slopes)) / mean)


def _ansatz(slopes: np.ndarray | None, weights: np.ndarray | None) -> float:
    if slopes is None or weights is None:
        return float("nan")
    G, F = slopes.T @ slopes, weights.T @ weights
    return float((G * F).sum() / (np.linalg.norm(G) * np.linalg.norm(F) or 1.0))
