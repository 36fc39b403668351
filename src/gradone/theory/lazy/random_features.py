"""Random features with a trained readout, in the limit of n, width and d in proportion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...base.curves import curve
from ...base.errors import BadData, OutOfRegime
from ...targets.activation import Activation
from ...targets.on_inputs import OnInputs
from ...targets.target import Target
from .._registry import THEORIES, Theory
from ._features_losses import loss_points
from ._features_of_rows import NOTE, rows_points
from ._features_points import Setting, square_points
from ._features_spectrum import activation_moments

if TYPE_CHECKING:
    import xarray as xr

LOSSES = ("square", "huber", "logistic", "hinge")
_NODES = 60  # along each direction, for averages over coordinates that are not Gaussian
LABELS = {
    "train_zero_one_error": (r"P(\hat y_i \ne y_i)", "share of wrong training labels"),
    "overlap": (r"\mathbb{E}[z \hat f]", "overlap of the prediction with the hidden directions"),
    "norm": (r"\mathrm{Var}\,\hat f", "variance of the prediction"),
    "intercept": (r"\mathbb{E} \hat f", "mean of the prediction"),
}


@THEORIES.add("random_features")
class RandomFeaturesTheory(Theory):
    r"""Learning without feature learning: the first layer stays random, the readout is fitted.

    The network is :math:`f(x) = \frac{1}{\sqrt p}\sum_{k \le p} a_k \sigma(\langle w_k, x\rangle)`
    with n = alpha d, p = width_ratio d and :math:`\sum_i (y_i - f_i)^2 + \lambda|a|^2` (other
    losses: :math:`\sum_i \ell_i + \frac\lambda2|a|^2`). For squares

    .. math::
        \kappa\,(\alpha - \mathrm{df}_1(\kappa)) = \lambda, \qquad
        \mathbb{E}(y - \hat f)^2 = \frac{F_1 (1 - 2A + A_2) + F_{NL} + \Delta}
        {1 - \mathrm{df}_2/\alpha}                                                    [LR-3]

    with :math:`F_1` the weight of the linear part of the target and :math:`F_{NL}` of the rest,
    and sums over the Marchenko-Pastur spectrum of the features [LR-1], which know the activation by
    three moments only [LR-2]. Other losses solve the fixed point [EM-1] of a few scalars.

    Parameters
    ----------
    alpha, width_ratio, ridge : array
        n/d, width/d and the penalty. ``width_ratio=inf`` is kernel ridge regression with
        :math:`K = \lim \phi\phi^\top/p`; ``ridge=0`` is the limit of a vanishing one (squares).
    activation : str
        Function of ``z``.
    loss : {"square", "huber", "logistic", "hinge"}
        The last two are for targets with two values, such as ``sign(z1 + z2)``.
    kernel : {"readout", "ntk"}
        ``"ntk"``: the tangent kernel of both layers, for infinite width.
    fit_intercept : bool
        Whether a constant is fitted besides. Features with a mean do it anyway.
    delta : float
        Residual from which the Huber loss is linear.
    flips : float
        Probability that a label of two values is flipped, in training and in new samples; not for
        the Huber loss. For squares it is the target ``sign(...)*sign(xi + c)`` with
        :math:`p = \Phi(-c)`, number for number.
    outliers : (float, float), optional
        Share of the samples whose label noise has another variance, and this variance.

    Notes
    -----
    At most the linear part of the target is learned: ``excess_mse`` is never below the weight
    :math:`F_{NL}` of the rest. Where the width equals n the ridgeless error diverges (``inf``).
    ``overlap`` holds :math:`\mathbb{E}[z_i \hat f]`, ``norm`` the variance of the prediction,
    ``effective_ridge`` the number :math:`\kappa`. Rows of the first layer are Gaussian of variance
    1/d or uniform on the sphere. Finite-size corrections are of order 1/d, relative to the
    distance from the peak; at d = 300 a few percent. Errors bound rounding, quadrature and the
    errors of the Hermite coefficients. Cost: 0.3 ms for a point with squares, 3 to 20 ms with other
    losses, more for labels of several directions.

    References
    ----------
    Mei & Montanari 2019, arXiv:1908.05355; Gerace et al. 2020, arXiv:2002.09339; Goldt et al. 2020,
    arXiv:2006.14709; Hu & Lu 2020, arXiv:2009.07669; Loureiro et al. 2021, arXiv:2102.08127.

    Examples
    --------
    Double descent:

    >>> import gradone as gd
    >>> curve = gd.predict(gd.Target("z", noise=0.1), "random_features", activation="tanh(z)",
    ...                    alpha=2.0, width_ratio=[1.0, 2.0, 4.0], ridge=1e-3)
    >>> curve.excess_mse.squeeze().values.round(4)
    array([0.566 , 0.6529, 0.228 ])
    >>> error = gd.predict("sign(z)", "random_features", activation="tanh(z)", loss="logistic",
    ...                    alpha=2.0, width_ratio=1.5, ridge=0.1).zero_one_error
    >>> round(float(error.squeeze()), 6)
    0.255524
    """

    answers = (
        *("test_mse", "excess_mse", "train_mse", "train_loss", "zero_one_error"),
        *LABELS,
        "effective_ridge",
    )
    axes = ("alpha", "width_ratio", "ridge")
    may_be_zero = ("ridge",)
    may_be_infinite = ("width_ratio",)
    regime = "n, width, d -> infinity in proportion; Gaussian input; the first layer stays random"
    cites = (
        "mei2019rf", "gerace2020rf", "goldt2020get", "hu2020universality", "loureiro2021curves",
    )  # fmt: skip

    latent = True
    laws = ("gaussian", "delocalized", "axes", "rows")
    whitens = True  # the learner standardizes the columns, which whitens a diagonal covariance

    def obstacle_of_inputs(self, target: OnInputs) -> str | None:
        """Why the theory does not cover inputs of one of its laws, or None."""
        if target.situation == "covariance" and not target.inputs.is_diagonal:  # type: ignore[attr-defined]
            return "the covariance is not diagonal, and columns are standardized, not whitened"
        if target.situation in ("axes", "rows") and target.target.q:
            return "the target has latent noise, whose mean is known for Gaussian z alone"
        if target.situation == "rows" and not target.are_axes:
            return (
                "the directions of the rows are no principal axes, and the small axes of a table "
                "are so far from Gaussian that its moments are up to a third off"
            )
        return None

    def obstacle(self, target: Target) -> str | None:
        """Why the theory does not cover a target, or None."""
        return None

    def predict(
        self,
        target: Target | OnInputs,
        *,
        alpha: Any,
        width_ratio: Any,
        ridge: Any,
        activation: str = "relu(z)",
        loss: Literal["square", "huber", "logistic", "hinge"] = "square",
        kernel: Literal["readout", "ntk"] = "readout",
        fit_intercept: bool = True,
        delta: float = 1.0,
        flips: float = 0.0,
        outliers: tuple[float, float] | None = None,
    ) -> xr.Dataset:
        """Errors at each alpha, width ratio and ridge."""
        table = None
        if isinstance(target, OnInputs):
            if loss != "square" or flips or outliers is not None:
                raise OutOfRegime(
                    "where directions are coordinates of these inputs the theory covers "
                    "loss='square' without flips and outliers: only second moments of the labels "
                    "and the features count there"
                )
            if target.situation == "rows":
                if kernel == "ntk" or not fit_intercept:
                    raise OutOfRegime(
                        "on rows of a table the theory covers kernel='readout' with an intercept"
                    )
                table, target = target, target.target
            else:
                target = _gaussian_twin(target)
        _check(target, loss, kernel, width_ratio, ridge, delta, flips, outliers)
        if target.q and (loss != "square" or outliers is not None):
            raise OutOfRegime(
                "with latent noise inside the target the theory covers loss='square' without "
                "outliers: other losses see the whole law of the label"
            )
        target = target.averaged
        function = Activation(activation)
        moments = activation_moments(function, tangent=kernel == "ntk")
        setting = Setting(
            target=target,
            moments=moments,
            has_constant=fit_intercept or moments.has_mean,
            delta=float(delta),
            flips=float(flips),
            outliers=None if outliers is None else (float(outliers[0]), float(outliers[1])),
        )
        if table is not None:
            values = rows_points(table, function, alpha, width_ratio, ridge)
        elif loss == "square":
            values = square_points(setting, alpha, width_ratio, ridge)
        else:
            values = loss_points(setting, loss, alpha, width_ratio, ridge)
        extra = {"delta": delta} if loss == "huber" else {"flips": flips}
        found = curve(
            {name: ((*self.axes, *dims), array) for name, (dims, array) in values.items()},
            {
                "alpha": alpha,
                "width_ratio": width_ratio,
                "ridge": ridge,
                "direction": np.arange(1, target.r + 1),
            },
            source=f"theory:{self.name}",
            target=target.text,
            params={
                "noise": target.noise, "activation": function.text, "loss": loss, "kernel": kernel,
                "fit_intercept": bool(fit_intercept), "outliers": outliers,
            } | extra,
            labels=LABELS,
        )  # fmt: skip
        return found if table is None else found.assign_attrs(notes=NOTE)


def _gaussian_twin(target: OnInputs) -> Target:
    """Gaussian target with the mean, linear weights and variance of one on other inputs [LR-3]."""
    z, weights = target.z_rule(_NODES)
    y = np.asarray(target.target.mean(z), np.float64)
    mean, linear = float(weights @ y), (weights * y) @ z
    rest = max(float(weights @ y**2) - mean**2 - float(linear @ linear), 0.0)
    terms = [f"{mean:.17g}", *(f"({c:.17g})*z{i}" for i, c in enumerate(linear, start=1))]
    terms.append(f"{math.sqrt(rest / 2):.17g}*He2(z1)")
    return Target(" + ".join(terms), noise=target.noise)


def _check(
    target: Target,
    loss: str,
    kernel: str,
    width_ratio: np.ndarray,
    ridge: np.ndarray,
    delta: float,
    flips: float,
    outliers: tuple[float, float] | None,
) -> None:
    """Refuse parameters that are wrong or have no meaning together."""
    if loss not in LOSSES:
        raise BadData(f"unknown loss {loss!r}. Known: {', '.join(LOSSES)}.")
    if kernel not in ("readout", "ntk"):
        raise BadData(f"kernel must be 'readout' or 'ntk', got {kernel!r}")
    if kernel == "ntk" and np.isfinite(width_ratio).any():
        raise BadData(
            "the tangent kernel is the limit of infinite width; write width_ratio=math.inf, got "
            f"{float(width_ratio[np.isfinite(width_ratio)][0]):g}"
        )
    if loss != "square" and not (ridge > 0).all():
        raise BadData(
            f"ridge must be > 0 for the loss '{loss}', got 0: without it the weights grow without "
            "end when the data can be fitted. Use a small one such as 1e-6."
        )
    if not (_is_number(delta) and 0 < delta < math.inf):
        raise BadData(f"delta must be a finite number > 0, got {delta!r}")
    if not (_is_number(flips) and 0 <= flips < 0.5):
        raise BadData(f"flips is a probability in [0, 0.5), got {flips!r}")
    if flips and loss == "huber":
        raise BadData("flips are for the losses 'square', 'logistic' and 'hinge', not for 'huber'")
    if flips and outliers is not None:
        raise BadData("flips are for labels of two values, outliers for real ones: use one of them")
    if outliers is None:
        return
    if loss in ("logistic", "hinge"):
        raise BadData(f"outliers are for real labels; for the loss '{loss}' use flips=...")
    if (
        np.shape(outliers) != (2,)
        or not all(map(_is_number, outliers))
        or not (0 <= outliers[0] <= 1 and 0 <= outliers[1] < math.inf)
    ):
        raise BadData(f"outliers are (share in [0, 1], variance >= 0), got {outliers!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
