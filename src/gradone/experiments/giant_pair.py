r"""Giant steps of a network and their exact limit: how much of each gradient lies in the target.

For the classes c of neurons with one second-layer weight, and the cosines of their t-th gradients
with the hidden directions,

.. math:: C_t = \sqrt{\overline{\textstyle\sum_k \cos^2(G_{c,t}, w^\star_k)}^{\,c}}.     [GP-1]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.curves import curve
from ..base.seeds import stream
from ..targets.target import Target

if TYPE_CHECKING:
    import xarray as xr

STEPS = 2
_STEP_SIZE = 1.5
_ACTIVATION = "relu(z)"
_LABELS = {"gradient_share": ("C", "cosine of the gradient with the target's directions")}


def limit_of_giant_steps(target: Target, alphas: np.ndarray) -> xr.Dataset:
    """Shares C_t of the gradients in the limit of large d [GP-1].

    Examples
    --------
    The first gradient does not see z2, the second does:

    >>> found = limit_of_giant_steps(Target("z1 + z1*z2"), np.array([8.0]))
    >>> found.gradient_share.values.round(2)
    array([[0.82, 0.77]])
    """
    from ..theory.predict import predict

    found = predict(
        target,
        "giant_steps",
        alpha=alphas,
        step_size=_STEP_SIZE,
        activation=_ACTIVATION,
        steps=STEPS - 1,
        points=4096,
    )
    cosines = found["gradient_cosine"].transpose("alpha", "step", "neuron", "direction")
    shares = found["share"].values
    squares = (cosines.values**2).sum(-1) @ shares
    errors = np.abs(found["gradient_cosine_err"].transpose(*cosines.dims).values).sum(-1) @ shares
    return _as_curve(np.sqrt(squares), errors, alphas, "theory:giant_steps", target)


def run_giant_steps(
    target: Target, *, d: int, alpha: float, replicates: int = 2, seed: int = 0
) -> xr.Dataset:
    """Shares C_t of the gradients of a network on data, each step on n = alpha d fresh samples."""
    from ..learners import GiantStep

    width, n = 2 * max(d // 8, 2), max(round(alpha * d), 2)
    runs = []
    for replicate in range(replicates):
        sample = target.sample(STEPS * n + 2, d, seed=seed, replicate=replicate)
        rng = stream(seed, "init", d=d, replicate=replicate, learner="giant_step")
        start = rng.standard_normal((width // 2, d))
        start /= np.linalg.norm(start, axis=1)[:, None]
        learner = GiantStep(
            width,
            steps=STEPS,
            step_size=_STEP_SIZE,
            activation=_ACTIVATION,
            batch_size=n,
            init=start,
            readout="signs",
            bias_scale=0.0,
            ridge=1.0,
            standardize=False,
            shuffle=False,
            keep_weights=True,
            random_state=rng,
        ).fit(sample.X, sample.y)
        weights = np.concatenate([np.vstack([start, start])[None], learner.weights_history_])
        changes = np.diff(weights, axis=0)
        lengths = np.linalg.norm(changes, axis=-1)
        cosines = changes @ sample.W_star.T / np.maximum(lengths, 1e-300)[..., None]
        classes = [cosines[:, learner.initial_readout_ == a].mean(1) for a in (1.0, -1.0)]
        runs.append(np.sqrt(np.mean([(each**2).sum(-1) for each in classes], axis=0)))
    values = np.array(runs)
    error = values.std(0, ddof=1) / np.sqrt(replicates) if replicates > 1 else np.zeros(STEPS)
    places = np.array([alpha])
    return _as_curve(
        values.mean(0)[None], error[None], places, "simulation:giant_steps", target, d=d
    )


def _as_curve(
    values: np.ndarray,
    errors: np.ndarray,
    alphas: np.ndarray,
    source: str,
    target: Target,
    **params: int,
) -> xr.Dataset:
    dims = ("alpha", "step")
    return curve(
        {"gradient_share": (dims, values), "gradient_share_err": (dims, errors)},
        {"alpha": np.asarray(alphas, float), "step": np.arange(1, STEPS + 1)},
        source=source,
        target=target.text,
        params={"step_size": _STEP_SIZE, "activation": _ACTIVATION, **params},
        labels=_LABELS,
    )
