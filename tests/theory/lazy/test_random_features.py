"""Random features fitted by squares: reference values, limits, identities, the Gaussian model."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.theory.lazy._features_spectrum import activation_moments


def predict(target, *, noise=0.0, alpha, width_ratio, ridge, **parameters):
    return gd.predict(
        gd.Target(target, noise=noise), "random_features",
        alpha=alpha, width_ratio=width_ratio, ridge=ridge, **parameters,
    ).squeeze()  # fmt: skip


MOMENTS = [  # activation, mu_0, mu_1, mu_*
    ("tanh(z)", 0, 0.6057055096, 0.1655757411),
    ("relu(z)", 0.3989422804, 0.5, 0.3014051375),
    ("erf(z)", 0, 0.6514700159, 0.2003643502),
    ("sign(z)", 0, 0.7978845608, 0.6028102750),
    ("erf(z/sqrt(2))", 0, 0.5641895835, 0.1225701723),
]


@pytest.mark.parametrize(("activation", "mu0", "mu1", "mu_star"), MOMENTS)
def test_moments_of_activations(activation, mu0, mu1, mu_star):
    found = activation_moments(gd.Activation(activation))
    assert found.mean == pytest.approx(mu0, abs=1e-8)
    assert math.sqrt(found.linear) == pytest.approx(mu1, abs=1e-8)
    assert math.sqrt(found.rest) == pytest.approx(mu_star, abs=1e-8)
    assert found.has_mean == (mu0 != 0)


def test_moments_of_the_tangent_kernel():
    """For z + He2/2 the kernel is t + t^2/2, its tangent kernel 2 t + 3 t^2/2."""
    found = activation_moments(gd.Activation("z + He2(z)/2"), tangent=True)
    assert (found.linear, found.rest) == (pytest.approx(2.0), pytest.approx(1.5))
    with pytest.raises(gd.OutOfRegime, match="jumps"):
        activation_moments(gd.Activation("step(z)"), tangent=True)


REFERENCE = [  # activation, target, noise, alpha, width_ratio, ridge, k, excess, training error
    ("tanh(z)", "z", 0.1, 2, 1, 0.1, 0.07681453427, 0.4431156656, 0.2301153211),
    ("tanh(z)", "sign(z)", 0, 3, 2, 0.01, 0.01450601137, 0.7446618316, 0.1572825527),
    ("erf(z)", "z1 + z1*z2", 0, 2, 0.5, 0.1, 0.03228393313, 1.981530463, 1.188250191),
    ("erf(z)", "1 + z", 0.1, 2, 1.5, 0.1, 0.1320930022, 1.76853451, 0.6023709625),
    ("relu(z)", "z", 0.1, 2, 1, 0.1, 0.07950546552, 0.6994729333, 0.3161912183),
    ("relu(z)", "relu(z)", 0.05, 3, 2, 0.05, 0.0645777598, 0.2678856828, 0.0846959236),
    ("sign(z)", "z", 0.1, 2, 2, 0.1, 0.3066810118, 0.7182723478, 0.08700097113),
    ("sign(z)", "sign(z)", 0, 4, 1, 0.5, 0.1574107774, 0.8469139352, 0.5340604009),
    ("tanh(z)", "z", 0.2, 1, 2, 1e-4, 0.1156044274, 0.8455361058, 3.129320842e-6),
]


@pytest.mark.parametrize(
    ("activation", "target", "noise", "alpha", "width_ratio", "ridge", "k", "excess", "train"),
    REFERENCE,
)
def test_ridge_has_the_values_of_the_literature(
    activation, target, noise, alpha, width_ratio, ridge, k, excess, train
):
    found = predict(
        target, noise=noise, alpha=float(alpha), width_ratio=float(width_ratio), ridge=ridge,
        activation=activation, fit_intercept=False,
    )  # fmt: skip
    assert float(found.effective_ridge) * width_ratio == pytest.approx(k, rel=1e-6)
    assert float(found.excess_mse) == pytest.approx(excess, rel=1e-6)
    assert float(found.train_mse) == pytest.approx(train, rel=1e-6)
    assert float(found.test_mse) == pytest.approx(excess + noise, rel=1e-6)
    assert float(found.excess_mse_err) < 1e-9


def test_a_tiny_ridge():
    found = predict("z", noise=0.3, activation="relu(z)", alpha=4.0, width_ratio=2.0, ridge=1e-6)
    assert 2 * float(found.effective_ridge) == pytest.approx(9.999932e-7, rel=1e-5)
    assert float(found.excess_mse) == pytest.approx(0.7565853096, rel=1e-5)
    assert float(found.train_mse) == pytest.approx(0.2641498988, rel=1e-5)


KERNEL_LIMIT = [
    ("tanh(z)", 0.10431975, 0.113829411, 0.0491218113),
    ("relu(z)", 0.14037034, 0.188451547, 0.0365984065),
    ("erf(z)", 0.115454946, 0.110907656, 0.0395555356),
    ("sign(z)", 0.343179769, 0.182259059, 0.00599162386),
]


@pytest.mark.parametrize(("activation", "k", "excess", "train"), KERNEL_LIMIT)
def test_the_kernel_limit(activation, k, excess, train):
    setting = dict(noise=0.1, activation=activation, alpha=2.0, ridge=0.1)
    found = predict("z", width_ratio=math.inf, **setting)
    assert float(found.effective_ridge) == pytest.approx(k, rel=1e-7)
    assert float(found.excess_mse) == pytest.approx(excess, rel=1e-7)
    assert float(found.train_mse) == pytest.approx(train, rel=1e-7)
    wide = predict("z", width_ratio=1e6, **setting)
    assert float(wide.excess_mse) == pytest.approx(excess, rel=1e-5)
    assert float(wide.effective_ridge) == pytest.approx(k, rel=1e-5)


def test_the_tangent_kernel():
    """Kernel ridge regression on the sphere at d = 400 gave 0.1155 ± 0.0079 and 0.1089 ± 0.0022."""
    erf = predict(
        "z", noise=0.1, activation="erf(z)", kernel="ntk", alpha=2.0, width_ratio=math.inf,
        ridge=0.1,
    )  # fmt: skip
    assert float(erf.excess_mse) == pytest.approx(0.1119, abs=5e-5)
    relu = predict(
        "z", noise=0.3, activation="relu(z)", kernel="ntk", alpha=4.0, width_ratio=math.inf,
        ridge=0.01,
    )  # fmt: skip
    assert float(relu.excess_mse) == pytest.approx(0.0997, abs=5e-5)


DOUBLE_DESCENT = {  # ridge -> excess error at the widths below; tanh, alpha = 2, noise 0.1
    1e-8: [0.8966, 0.7786, 0.5771, 0.7370, 3.3281, 187.80, 3.3952, 0.4162, 0.2507, 0.1403, 0.1035],
    1e-3: [0.8965, 0.7778, 0.5660, 0.5906, 0.6701, 0.6529, 0.6209, 0.3350, 0.2280, 0.1363, 0.1024],
    1e-1: [0.8854, 0.7303, 0.4431, 0.3066, 0.2542, 0.2450, 0.2369, 0.1921, 0.1692, 0.1392, 0.1234],
}
WIDTHS = [0.25, 0.5, 1.0, 1.5, 1.9, 2.0, 2.1, 3.0, 4.0, 8.0, 20.0]


def test_double_descent():
    found = predict(
        "z", noise=0.1, activation="tanh(z)", alpha=2.0, width_ratio=WIDTHS,
        ridge=list(DOUBLE_DESCENT),
    )  # fmt: skip
    for ridge, errors in DOUBLE_DESCENT.items():
        assert found.excess_mse.sel(ridge=ridge).values == pytest.approx(
            errors, rel=3e-5, abs=5.1e-5
        )


def test_the_ridgeless_limit_and_its_divergence():
    curve = predict(
        "z", noise=0.1, activation="tanh(z)", alpha=2.0, width_ratio=[1.0, 2.0, 3.0],
        ridge=[0.0, 1e-10],
    )  # fmt: skip
    limit, close = curve.sel(ridge=0.0), curve.sel(ridge=1e-10)
    assert np.isinf(float(limit.excess_mse[1]))
    for place in (0, 2):
        assert float(limit.excess_mse[place]) == pytest.approx(
            float(close.excess_mse[place]), rel=1e-6
        )
        assert float(limit.train_mse[place]) == pytest.approx(
            float(close.train_mse[place]), abs=1e-6
        )
    assert limit.train_mse.values[1:] == pytest.approx([0.0, 0.0], abs=0)
    assert bool(limit.converged.all())


@pytest.mark.parametrize("alpha", [0.3, 0.99, 1.01, 3.0])
def test_linear_features_without_ridge_are_least_squares(alpha):
    """Isotropic ridgeless regression: bias 1 - alpha and noise alpha/(1 - alpha), or 1/(alpha - 1).

    The features of a linear activation at infinite width are the inputs themselves.
    """
    found = predict(
        "z", noise=0.5, activation="z", alpha=alpha, width_ratio=math.inf, ridge=0.0
    )  # fmt: skip
    exact = 1 - alpha + 0.5 * alpha / (1 - alpha) if alpha < 1 else 0.5 / (alpha - 1)
    assert float(found.excess_mse) == pytest.approx(exact, rel=1e-9)


def test_it_learns_at_most_the_linear_part():
    target = gd.Target("He2(z1) + z2 + sign(z1*z2*z3)")
    found = gd.predict(
        target, "random_features", activation="tanh(z)", alpha=[10.0, 1e4], width_ratio=1e3,
        ridge=[1e-3, 1.0],
    )  # fmt: skip
    assert (found.excess_mse.values > 3.0).all()
    assert float(found.excess_mse.min()) < 3.05
    overlap = found.overlap.sel(alpha=1e4, ridge=1e-3).squeeze().values
    assert overlap == pytest.approx([0.0, 1.0, 0.0], abs=0.01)


def test_an_activation_without_linear_part_learns_nothing_linear():
    """df1 = width_ratio r/(r + k) is a quadratic equation for k; solved here by hand."""
    alpha, beta, ridge, rest = 2.0, 1.5, 0.1, 2.0
    found = predict("z", activation="He2(z)", alpha=alpha, width_ratio=beta, ridge=ridge)
    # k (alpha - beta rest/(rest + k)) = ridge beta
    b = alpha * rest - beta * rest - ridge * beta
    k = (-b + math.sqrt(b * b + 4 * alpha * ridge * beta * rest)) / (2 * alpha)
    share2 = beta * (rest / (rest + k)) ** 2 / alpha
    assert float(found.effective_ridge) * beta == pytest.approx(k, rel=1e-12)
    assert float(found.excess_mse) == pytest.approx(1 / (1 - share2), rel=1e-12)
    assert float(found.overlap) == 0.0


def test_the_constant_is_learned_by_an_intercept_or_by_features_with_a_mean():
    setting = dict(alpha=2.0, width_ratio=1.5, ridge=0.1, noise=0.1)
    errors = {
        (activation, text, intercept): float(
            predict(text, activation=activation, fit_intercept=intercept, **setting).excess_mse
        )
        for activation in ("tanh(z)", "relu(z)")
        for text in ("z", "z + 1")
        for intercept in (False, True)
    }
    for activation in ("tanh(z)", "relu(z)"):
        same = errors[activation, "z", True]
        assert errors[activation, "z + 1", True] == pytest.approx(same, rel=1e-12)
        assert errors[activation, "z", False] == pytest.approx(same, rel=1e-12)
    assert errors["relu(z)", "z + 1", False] == pytest.approx(errors["relu(z)", "z + 1", True])
    assert errors["tanh(z)", "z + 1", False] > errors["tanh(z)", "z + 1", True] + 1


def test_only_three_moments_of_the_activation_matter():
    """He3 and He5 of the same weight differ, and the theory does not see it."""
    setting = dict(noise=0.1, alpha=1.5, width_ratio=2.0, ridge=0.02)
    third = predict("z", activation="0.6*z + 0.2*He3(z)/sqrt(6)", **setting)
    fifth = predict("z", activation="0.6*z + 0.2*He5(z)/sqrt(120)", **setting)
    other = predict("z", activation="0.6*z + 0.3*He3(z)/sqrt(6)", **setting)
    assert float(third.excess_mse) == pytest.approx(float(fifth.excess_mse), rel=1e-12)
    assert abs(float(third.excess_mse) - float(other.excess_mse)) > 0.01


@pytest.mark.stat
@pytest.mark.parametrize(
    ("alpha", "width_ratio", "ridge"), [(2.0, 1.0, 0.1), (1.0, 2.0, 0.01), (0.7, 0.5, 1.0)]
)
def test_gaussian_features_of_the_same_covariance_agree(alpha, width_ratio, ridge):
    """Linear model mu1 W x + mu* xi, simulated by hand at d = 200, 32 draws.

    Would catch: ridge divided by n or by the width, noise left out, the training error of a new
    sample. The bias of finite d is of the relative order 1/d. The threshold is Student's t at
    two-sided 1e-6.
    """
    d, noise, mu1, mu_star = 200, 0.2, 0.6057055096, 0.1655757411
    n, p = int(alpha * d), int(width_ratio * d)
    tests, trains = [], []
    for seed in range(32):
        rng = np.random.default_rng([6, seed])
        theta = rng.standard_normal(d)
        theta /= np.linalg.norm(theta)
        W = rng.standard_normal((p, d)) / np.sqrt(d)
        X = rng.standard_normal((n, d))
        F = (mu1 * X @ W.T + mu_star * rng.standard_normal((n, p))) / np.sqrt(p)
        y = X @ theta + np.sqrt(noise) * rng.standard_normal(n)
        a = np.linalg.solve(F.T @ F + ridge * np.eye(p), F.T @ y)
        # Exact test error: the missed part of the field and the power of the noise features.
        gap = theta - mu1 * W.T @ a / np.sqrt(p)
        tests.append(gap @ gap + mu_star**2 * a @ a / p)
        trains.append(np.mean((y - F @ a) ** 2))
    found = predict(
        "z", noise=noise, activation="tanh(z)", alpha=alpha, width_ratio=width_ratio, ridge=ridge
    )
    for runs, name in ((tests, "excess_mse"), (trains, "train_mse")):
        theory = float(found[name])
        allowed = 6.1 * np.std(runs, ddof=1) / np.sqrt(32) + 2 * theory / d
        assert abs(np.mean(runs) - theory) < allowed
        assert allowed < 0.25 * theory


def test_bad_input_is_refused_with_a_reason():
    good = dict(alpha=1.0, width_ratio=1.0, ridge=1.0)

    def refuse(match, error=gd.BadData, target="z", **bad):
        with pytest.raises(error, match=match):
            gd.predict(target, "random_features", **(good | bad))

    refuse(r"ridge must be finite numbers >= 0, got -1.0", ridge=-1.0)
    refuse(r"width_ratio must be numbers > 0, got 0.0", width_ratio=0.0)
    refuse("unknown loss 'l1'. Known: square", loss="l1")
    refuse("kernel must be", kernel="rbf")
    refuse("tangent kernel is the limit of infinite width", kernel="ntk")
    refuse("'sign\\(z\\)' jumps", gd.OutOfRegime, kernel="ntk", activation="sign(z)",
           width_ratio=math.inf)  # fmt: skip
    refuse("ridge must be > 0 for the loss 'huber'", loss="huber", ridge=0.0)
    refuse("delta must be", loss="huber", delta=0.0)
    refuse("flips is a probability", loss="logistic", target="sign(z)", flips=0.7)
    refuse("flips are for the losses", loss="huber", flips=0.1)
    refuse("flips are for labels of two values without noise", gd.OutOfRegime, flips=0.1)
    refuse("use one of them", target="sign(z)", flips=0.1, outliers=(0.1, 1.0))
    refuse("outliers are for real labels", loss="hinge", outliers=(0.1, 1.0))
    refuse("outliers are \\(share", outliers=(2.0, 1.0))
    refuse("a classification has two labels, 'z' has real ones", gd.OutOfRegime, loss="hinge")
    refuse("no additive noise", target=gd.Target("sign(z)", noise=0.1), loss="logistic")
    refuse("function of z alone", gd.TargetError, activation="z1*z2")
