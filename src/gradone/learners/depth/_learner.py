r"""What the deep learners have in common: data, what is kept, predictions, and the way back.

A learner must never be worse than the constant predictor, nor, if it is layerwise, than ridge
regression with a quadratic kernel. The rows that are held out tell: what predicts them better takes
the place of the network, and unless that beats the mean label there by more than chance, the mean
label is all that is predicted. Of a network that is fitted to all rows in the end and the kernel a
weighted mean is used where neither is clearly better, but their mean is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from ...base.arrays import check_fit, check_new, like, to_numpy
from ...base.errors import BadData
from ...targets.sampled import whole_number
from .._callbacks import CallbackSupportMixin, with_callbacks
from .._standardize import chunk_rows, row_blocks
from ..lazy._frozen_features import check_number
from ._data import Scales, SplitData, beats, split_data
from ._network_training import Schedule, Trainer
from ._quadratic import QuadraticForm, quadratic_fit, quadratic_refit

if TYPE_CHECKING:
    import xarray as xr

_LEAST_STEPS = 100
# Standard errors by which a network must beat the mean label, and the kernel, whose ridge the same
# rows have chosen. By the first of them the kernel must beat a network that is fitted to all rows
# in the end: near the threshold of its directions this brings a network more than the kernel.
_CHANCE, _CHANCE_OF_KERNEL = 2.0, 3.0


class DeepModel(Protocol):
    """A function of standardized inputs, and its layers."""

    @property
    def weights(self) -> list[np.ndarray]:
        """Weights of the layers, the first (p, d) at least."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Outputs (n,)."""

    def hidden(self, X: np.ndarray, layer: int) -> np.ndarray:
        """What enters the neurons of a hidden layer."""


class DeepLearner(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Base of the learners of networks with several layers.

    A learner has `widths`, `chunk_size` and `random_state`, and says the rest below.
    """

    _falls_back_on_kernel = False
    _refits = False  # whether the model is fitted to all rows in the end, as the kernel is
    _model: DeepModel
    _form: QuadraticForm | None
    _share: float  # of the form in what is predicted
    _scales: Scales
    _history: dict[str, list[float]]
    _n: int

    @property
    def _layers(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""
        return tuple(self.widths)

    def _learned(
        self, data: SplitData, X: Any, y: Any, rng: np.random.Generator
    ) -> tuple[DeepModel, np.ndarray, str]:
        """Learn; the model, its errors on the rows held out, and in words what was found."""
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels, numbers.

        Returns
        -------
        estimator
            Itself.
        """
        _, X, y = check_fit(self, X, y, labels="exact", min_samples=2)
        self._n = int(X.shape[0])
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        self._scales, data = split_data(
            to_numpy(X),
            to_numpy(y),
            owner=type(self).__name__,
            chunk_size=self.chunk_size,
            rng=rng,
        )
        self._history, self.n_iter_ = {"step": [], "train_mse": [], "validation_mse": []}, 0
        self._model, errors, found = self._learned(data, X, y, rng)
        self._judge(data, errors, found)
        self.weights_ = like(X, self._model.weights[0])
        self.mean_ = like(X, self._scales.mean)
        factor = self._scales.factor
        self.scale_ = like(X, np.divide(1.0, factor, out=np.ones(len(factor)), where=factor > 0))
        return self

    def _schedule(self, data: SplitData, base: int) -> Schedule:
        """The training, with `base` times the root of the batches of an epoch as steps if free."""
        steps = self.steps
        if steps is None:
            steps = max(_LEAST_STEPS, round(base * math.sqrt(len(data.y) / self.batch_size)))
        return Schedule(steps, self.batch_size, self.step_size, self.weight_decay)

    def _moment(self, trainer: Trainer, X: Any) -> dict[str, Any]:
        """The learner as it is now, for callbacks: overlaps are measured while it trains."""
        assert trainer.network is not None
        return {
            "_model": trainer.network,
            "_form": None,
            "weights_": like(X, trainer.network.weights[0]),
            "constant_": False,
        }

    def _keep(self, trainer: Trainer) -> None:
        """What the training has recorded."""
        self._history = {
            "step": list(map(float, trainer.steps)),
            "train_mse": trainer.train_mse,
            "validation_mse": trainer.validation_mse,
        }
        self.n_iter_ = trainer.steps[-1]

    def _judge(self, data: SplitData, errors: np.ndarray, found: str) -> None:
        """Compare with what is simpler on the rows held out, and say what will be predicted."""
        # The constant is the mean label of the rows to learn from: others have not seen these.
        null = np.mean(data.y, dtype=np.float64) - data.y_held
        n = len(null)
        self._form, self._share = None, 1.0
        self.constant_ = n < 3 or not beats(errors, null, _CHANCE)
        if self._falls_back_on_kernel:
            form, ridge, gain = quadratic_fit(data)
            simple = data.held_out_errors(form)
            clear = n >= 3 and beats(simple, null, _CHANCE_OF_KERNEL)
            if self._refits and not self.constant_:
                better = beats(simple, errors, _CHANCE)
            else:
                better = bool(gain * np.mean(simple**2) < np.mean(errors**2))
            if better and (clear or self.constant_):
                found += (
                    " Ridge regression with the quadratic kernel, fitted to all rows, predicts "
                    f"instead of the network, whose error there is {self._mse(errors):.4g}."
                )
                errors, self.constant_ = simple, not clear
                self._form = quadratic_refit(data, ridge)
            elif self._refits and clear and not beats(errors, simple, _CHANCE):
                share = _best_share(errors, simple)
                mixed = (1 - share) * errors + share * simple
                if beats(mixed, errors, _CHANCE):
                    found += (
                        f" Its error there is {self._mse(errors):.4g}; {share:.2g} of ridge "
                        "regression with the quadratic kernel are mixed in."
                    )
                    errors, self._share = mixed, share
                    self._form = quadratic_refit(data, ridge)
        self.validation_mse_, self.constant_mse_ = self._mse(errors), self._mse(null)
        self.kernel_ = self._form is not None and self._share == 1.0 and not self.constant_
        if self._refits:
            self.kernel_share_ = 0.0 if self._form is None or self.constant_ else self._share
        shown = f"error {self.validation_mse_:.4g} on {n} held-out rows"
        if self.constant_:
            found += (
                f" The mean label is predicted: {shown} is not below that of the mean label, "
                f"{self.constant_mse_:.4g}, by more than chance. Use more samples."
            )
        else:
            found += f" The fit has {shown}, and the mean label has error {self.constant_mse_:.4g}."
        self.diagnosis_ = found.strip()

    def _mse(self, errors: np.ndarray) -> float:
        """Mean square in units of the labels."""
        scale = self._scales.label_scale
        return scale * scale * float(np.mean(errors**2))

    # ---- what was learned

    def predict(self, X: Any) -> Any:
        """Labels of new inputs (n,).

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        """
        _, X = check_new(self, X)
        rows, scales = to_numpy(X), self._scales
        out = np.zeros(len(rows))
        if not self.constant_:
            for part in self._blocks(rows):
                out[part] = self._outputs(scales.inputs(rows[part], rows.dtype))
        return like(X, scales.label_mean + scales.label_scale * out)

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        """What is predicted (n,) of standardized inputs, where it is no constant."""
        if self._form is None:
            return self._model(X)
        simple = self._form(X)
        if self._share == 1.0:
            return simple
        return (1 - self._share) * self._model(X) + self._share * simple

    def hidden(self, X: Any, layer: int = 2) -> Any:
        """What enters the neurons of a hidden layer (n, width), of the network that was learned.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        layer : int
            The hidden layer, from 1.
        """
        _, X = check_new(self, X, method="hidden")
        layers = len(self._layers)
        if whole_number("layer", layer) > layers:
            raise BadData(f"layer must be from 1 to {layers}, the hidden layers, got {layer}")
        rows = to_numpy(X)
        parts = [
            self._model.hidden(self._scales.inputs(rows[part], rows.dtype), layer)
            for part in self._blocks(rows)
        ]
        return like(X, np.concatenate(parts))

    @property
    def history_(self) -> xr.Dataset:
        """Errors during the training, over `step`."""
        import xarray as xr

        records = {key: np.array(values) for key, values in self._history.items()}
        scale = self._scales.label_scale
        steps, unit = records.pop("step"), scale * scale
        return xr.Dataset(
            {key: ("step", unit * values) for key, values in records.items()},
            coords={"step": steps.astype(int)},
        )

    # ---- parameters

    def _blocks(self, rows: np.ndarray) -> list[slice]:
        columns = rows.shape[1] + sum(self._layers)
        return row_blocks(len(rows), self.chunk_size or chunk_rows(columns))

    def _check_parameters(self) -> None:
        given = self.widths
        if given is not None and (
            isinstance(given, str) or not hasattr(given, "__len__") or not len(given)
        ):
            raise BadData(
                f"widths must be the widths of the hidden layers, such as (256, 50), got {given!r}"
            )
        for width in self._layers:
            whole_number("a width", width)
        if self.chunk_size is not None:
            whole_number("chunk_size", self.chunk_size)

    def _check_training(self) -> None:
        """Parameters of AdamW."""
        whole_number("batch_size", self.batch_size)
        if self.steps is not None:
            whole_number("steps", self.steps)
        check_number("step_size", self.step_size)
        check_number("weight_decay", self.weight_decay, zero=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def _best_share(errors: np.ndarray, others: np.ndarray) -> float:
    """Share of the others, from 0 to 1, with which the mean of both errors is smallest."""
    gaps = errors - others
    return float(np.clip(np.mean(errors * gaps) / (np.mean(gaps**2) or 1.0), 0.0, 1.0))
