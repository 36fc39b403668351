"""Random features fitted with other convex losses: one fixed point for each point of a curve."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...targets.target import Target
from ._erm_solve import Learned, Output, learn
from ._features_points import Setting, Values, label_error, verdict
from ._features_spectrum import FeatureSpectrum


def loss_points(
    setting: Setting, loss: str, alpha: np.ndarray, width_ratio: np.ndarray, ridge: np.ndarray
) -> Values:
    """Variables of a convex loss over (alpha, width_ratio, ridge) [EM-1]."""
    output = _output(setting, loss)
    free_bias = setting.has_constant and not _is_odd(setting.target)
    shape = (len(alpha), len(width_ratio), len(ridge))
    found: dict[str, np.ndarray] = {}
    converged, count = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
    residual = 0.0
    for place in itertools.product(*map(range, shape)):
        spectrum = FeatureSpectrum(
            float(width_ratio[place[1]]), setting.moments.linear, setting.moments.rest
        )
        solution = learn(
            output,
            spectrum.sums,
            samples=float(alpha[place[0]]),
            ridge=float(ridge[place[2]]),
            free_bias=free_bias,
        )
        answers = _regression if loss == "huber" else _classification
        for name, (value, error) in (
            _common(solution) | answers(setting, output, solution)
        ).items():
            for key, number in ((name, value), (f"{name}_err", error)):
                if key not in found:
                    found[key] = np.empty((*shape, *np.shape(value)))
                found[key][place] = number
        converged[place], count[place] = solution.converged, solution.n_iter
        if not solution.converged:
            residual = max(residual, solution.residual)
    values: Values = {
        name: (("direction",) if array.ndim > 3 else (), array) for name, array in found.items()
    }
    reason = (
        f"the fixed point was not reached, residual {residual:.1e}: the output is almost constant "
        "or the data almost separable; try another ridge, or fit_intercept=False"
    )
    return values | {"n_iter": ((), count)} | verdict(converged, reason)


def _output(setting: Setting, loss: str) -> Output:
    """Averages of a loss on the labels of the target."""
    if loss == "huber":
        from ._erm_huber import HuberOutput, Noise

        return HuberOutput(setting.target, setting.delta, [Noise(*part) for part in setting.noise])
    from ._erm_labels import TwoLabels
    from ._erm_margin import MarginOutput

    return MarginOutput(TwoLabels(setting.target, setting.flips), loss)  # type: ignore[arg-type]


def _is_odd(target: Target) -> bool:
    """Whether all labels change sign with z: then no constant is needed."""
    return target.expression.parity(*target.expression.variables) == "odd"


def _common(solution: Learned) -> dict[str, tuple[Any, Any]]:
    field, error = solution.field, solution.error
    return {
        "train_loss": (solution.averages.loss, solution.loss_error),
        "overlap": (field.m, error.m),
        "norm": (field.q, error.q),
        "intercept": (field.b, error.b),
        "effective_ridge": (solution.kappa, solution.kappa * error.V / field.V),
    }


def _regression(setting: Setting, output: Any, solution: Learned) -> dict[str, tuple[Any, Any]]:
    """Errors of real labels: the output and the target have known second moments."""
    expansion = setting.target.hermite(1)
    mean, slope = expansion.coefficient(*(0,) * setting.target.r), expansion.tensor(1)
    second, (_, q, m, b), moved = expansion.second_moment, solution.field, solution.error
    excess = second.value + q + b * b - 2 * float(m @ slope.value) - 2 * b * mean.value
    error = second.error + moved.q + 2 * abs(b - mean.value) * moved.b + 2 * abs(b) * mean.error
    error += 2 * float(np.abs(slope.value) @ moved.m + np.abs(m) @ slope.error)
    error += 1e-15 * (second.value + q)
    train = output.train_mse(solution.field)
    other = solution.field._replace(q=q + moved.q, V=solution.field.V + moved.V)
    return {
        "test_mse": (excess + setting.noise_variance, error),
        "excess_mse": (excess, error),
        "train_mse": (train, abs(output.train_mse(other) - train) + solution.loss_error),
    }


def _classification(setting: Setting, output: Any, solution: Learned) -> dict[str, tuple[Any, Any]]:
    """Probabilities of wrong labels, flipped ones counted."""
    labels, field = output.labels, solution.field
    size = np.linalg.norm(field.m)
    shift = solution.error.q + 2 * float(np.linalg.norm(solution.error.m)) * field.q / max(
        float(size), 1e-8
    )
    return {
        "zero_one_error": label_error(labels, field, 0.0, shift),
        "train_zero_one_error": label_error(labels, field, output.threshold(field), shift),
    }
