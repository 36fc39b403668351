"""Overlaps of a deep network with a hierarchical target, followed through a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import to_numpy
from ..base.curves import curve
from ..base.errors import BadData
from ..targets.hierarchical import Might, Sight, Tree
from .depth_metrics import Overlap, measure_features, row_overlap

if TYPE_CHECKING:
    import xarray as xr

LABELS = {
    "feature_overlap": ("M_h", "overlap of the second layer with the hidden features"),
}


class OverlapMonitor:
    """Callback that measures M_W and M_h at every step of a fit [ME-2].

    Parameters
    ----------
    target : Sight, Might or Tree
        What is learned.
    d : int
        Input dimension.
    layer : int or None
        Hidden layer whose neurons are compared with the features; None leaves M_h out.
    test_samples : int
        Fresh samples for M_h.
    seed, replicate : int
        Address of the data.

    Examples
    --------
    >>> from gradone import Sight
    >>> t = Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)
    >>> monitor = OverlapMonitor(t, 16, layer=None)
    >>> monitor.record(np.eye(16))
    >>> round(float(monitor.curve().row_overlap[0, 0]), 12)
    0.5
    """

    def __init__(
        self,
        target: Sight | Might | Tree,
        d: int,
        *,
        layer: int | None = 2,
        test_samples: int = 4096,
        seed: int = 0,
        replicate: int = 0,
    ) -> None:
        self.target, self.d, self.layer, self.test_samples = target, d, layer, test_samples
        self.address = {"seed": seed, "replicate": replicate}
        self._realization = target.realization(d, seed=seed, replicate=replicate)
        self._rows: list[Overlap] = []
        self._features: list[Overlap] = []

    def record(self, rows: Any, neurons: Callable[[np.ndarray], Any] | None = None) -> None:
        """Measure one moment: rows (p, d), and what enters the neurons of a later layer."""
        branches = self._realization.branches
        self._rows.append(row_overlap(rows, self._realization.W_star, branches=branches))
        if self.layer is not None and neurons is not None:
            measured = measure_features(
                self.target, neurons, d=self.d, test_samples=self.test_samples, **self.address
            )
            self._features.append(measured)

    def curve(self) -> xr.Dataset:
        """What was measured, over (step, branch); chance levels are among the parameters."""
        if not self._rows:
            raise BadData("nothing was measured yet: fit a learner with this callback first")
        values: dict[str, tuple[Any, Any]] = {}
        chance: dict[str, float] = {}
        for name, found in (("row_overlap", self._rows), ("feature_overlap", self._features)):
            if len(found) == len(self._rows):
                dims = ("step", "branch")
                values[name] = (dims, np.stack([one.value for one in found]))
                values[f"{name}_err"] = (dims, np.stack([one.error for one in found]))
                chance[f"{name}_chance"] = found[0].chance
        branches = len(self._rows[0].value)
        return curve(
            values,
            {"step": np.arange(len(self._rows)), "branch": np.arange(1, branches + 1)},
            source="simulation:overlaps",
            target=self.target.text,
            params={"d": self.d, "test_samples": self.test_samples, **chance},
            seed=self.address["seed"],
            labels=LABELS,
        )

    # ---- the protocol of scikit-learn's callbacks

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget an earlier fit."""
        self._rows, self._features = [], []

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: what was measured stays."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: steps are measured when they end."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Measure the network of this step."""
        if context.parent is None:  # the whole fit: its last step was measured already
            return False
        if fitted_estimator is None:
            raise BadData(
                f"{type(estimator).__name__} does not show its network during the fit; call "
                "record(rows, neurons) of this object where the network is at hand"
            )
        rows = np.asarray(to_numpy(fitted_estimator.weights_), np.float64)
        if hasattr(fitted_estimator, "scale_"):  # rows act on standardized inputs
            rows = rows / np.asarray(to_numpy(fitted_estimator.scale_), np.float64)
        self.record(rows, lambda X: fitted_estimator.hidden(X, self.layer))
        return False
