r"""Random features: the theory against fitted networks; they share no formula.

The threshold is Student's t at two-sided 1e-6 for the number of replicates, plus a finite-size term
of relative size 6/d, and 20/d for the training loss of the hinge: corrections of the theory are
taken to be of order 1/d. The factors were read off runs at d = 50, 100 and 200 with 40 to 200
replicates (tanh and ReLU, ridge 0.1, intercept fitted): d times the relative gap of label errors,
training errors and logistic losses was within 5.2 there, that of the hinge loss of data that are
almost fitted 19 ± 4 at d = 50. At d = 200 the noise of these runs was as large as the term.

No intercept is fitted in classification. With one, at ridge 1, alpha 0.7 and width 2, label errors
were higher than predicted by 10 % (logistic) and 11 to 18 % (hinge) at d = 200, and the gap did not
fall like 1/d: an intercept fluctuates by about :math:`2/\sqrt n`, which is not small compared with
an output that a large ridge keeps small. ReLU features supply one by their mean, so they are
compared at ridges of 0.01 and 0.1 only.
"""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t as student

import gradone as gd

REGRESSION = gd.Target("z1 + 0.5*He2(z2)", noise=0.1)
ACTIVATIONS = ["tanh(z)", "relu(z)", "erf(z)", "sign(z)"]


def finite_size(loss, kind):
    """d times the relative correction that is allowed."""
    return 20.0 if (loss, kind) == ("hinge", "train") else 6.0


def runs_and_theory(target, *, loss, d, replicates, alpha, width_ratio, ridge, activation):
    """Simulated errors over (alpha, width_ratio, ridge, replicate) and predicted ones, by name."""
    learner = "random_features" if loss in ("square", "huber") else "random_features_classifier"
    axes = dict(alpha=alpha, width_ratio=width_ratio, ridge=ridge)
    options = dict(activation=activation, loss=loss, fit_intercept=learner == "random_features")
    runs = gd.simulate(
        target, learner, d=d, replicates=replicates, standardize=False, progress=False, **axes,
        **options,
    )  # fmt: skip
    theory = gd.predict(target, "random_features", **axes, **options)
    assert bool(runs.converged.all())
    pairs = [("test", "excess_mse"), ("train", "train_mse")]
    if learner != "random_features":
        pairs = [("test", "zero_one_error"), ("train", "train_loss")]
    order = ("alpha", "width_ratio", "ridge")
    return {
        kind: (runs[name].transpose(*order, "replicate").values, theory[name].values)
        for kind, name in pairs
    }


def gaps_and_allowances(found, theory, correction):
    """Relative gaps and what is allowed, at each point and for their mean over the points."""
    # Training losses of data that are fitted are compared with 0.01, not with themselves.
    scale = np.maximum(theory, 0.01)[..., None]
    ratio = (found - theory[..., None]) / scale
    replicates = ratio.shape[-1]
    quantile = student.isf(5e-7, replicates - 1) / math.sqrt(replicates)
    gap, spread = ratio.mean(axis=-1), ratio.std(axis=-1, ddof=1)
    together = ratio.reshape(-1, replicates).mean(axis=0)
    return (
        np.append(gap.ravel(), together.mean()),
        quantile * np.append(spread.ravel(), together.std(ddof=1)) + correction,
    )


def check(target, *, loss, d, replicates, activation, **axes):
    found = runs_and_theory(
        target, loss=loss, d=d, replicates=replicates, activation=activation, **axes
    )
    for kind, (errors, theory) in found.items():
        gap, allowed = gaps_and_allowances(errors, theory, finite_size(loss, kind) / d)
        print(
            f"\n{loss} {activation} {kind}: d times the mean gap {d * gap[-1]:.1f}, largest gap "
            f"{np.abs(gap[:-1]).max():.3f}, largest share of the allowance "
            f"{np.abs(gap / allowed).max():.2f}"
        )
        assert (np.abs(gap) < allowed).all()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_squares_at_dimension_400(activation):
    check(
        REGRESSION, loss="square", d=400, replicates=16, activation=activation,
        alpha=[0.7, 3.0], width_ratio=[0.5, 2.0], ridge=[0.01, 0.1, 1.0],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_classification_at_dimension_400(activation, loss):
    check(
        gd.Target("sign(z)"), loss=loss, d=400, replicates=16, activation=activation,
        alpha=[0.7, 3.0], width_ratio=[0.5, 2.0],
        ridge=[0.01, 0.1] if activation == "relu(z)" else [0.01, 0.1, 1.0],
    )  # fmt: skip


@pytest.mark.stat
@pytest.mark.parametrize(
    ("activation", "loss"), [("relu(z)", "square"), ("tanh(z)", "logistic"), ("sign(z)", "hinge")]
)
def test_a_small_selection(activation, loss):
    """Would catch: ridge doubled, halved or divided by n; width and d exchanged; the Huber and
    logistic penalty without its factor 1/2; training errors of new samples."""
    target = REGRESSION if loss == "square" else gd.Target("sign(z)")
    setting = dict(alpha=[1.0], width_ratio=[0.5, 3.0], ridge=[0.02, 0.2])
    if loss == "hinge":  # not fitted there
        setting = dict(alpha=[3.0], width_ratio=[0.5, 2.0], ridge=[0.1, 1.0])
    found = check(target, loss=loss, d=100, replicates=32, activation=activation, **setting)
    doubled = dict(setting, ridge=[2 * r for r in setting["ridge"]])
    errors, _ = found["train"]
    theory = gd.predict(target, "random_features", activation=activation, loss=loss, **doubled)
    wrong = theory["train_mse" if loss == "square" else "train_loss"].values
    gap, allowed = gaps_and_allowances(errors, wrong, finite_size(loss, "train") / 100)
    assert (np.abs(gap) > allowed).any(), "the test would not see a doubled ridge"


@pytest.mark.stat
def test_huber_with_outliers():
    """A fifth of the labels have the noise variance 10; drawn here, and fitted by both losses."""
    d, n, width, replicates = 100, 300, 100, 32
    errors = {"huber": [], "square": []}
    for seed in range(replicates):
        sample = gd.Target("z").sample(n=n + 2000, d=d, seed=seed)
        rng = np.random.default_rng([7, seed])
        sizes = np.where(rng.random(n) < 0.2, 10.0, 0.1)
        y = sample.y[:n] + np.sqrt(sizes) * rng.standard_normal(n)
        for loss, found in errors.items():
            learner = gd.learners.RandomFeatures(
                width, activation="erf(z)", loss=loss, delta=0.5, ridge=0.1, standardize=False,
                random_state=seed,
            ).fit(sample.X[:n], y)  # fmt: skip
            found.append(np.mean((learner.predict(sample.X[n:]) - sample.y[n:]) ** 2))
    for loss, found in errors.items():
        theory = gd.predict(
            gd.Target("z", noise=0.1), "random_features", activation="erf(z)", loss=loss, delta=0.5,
            alpha=3.0, width_ratio=1.0, ridge=0.1, outliers=(0.2, 10.0),
        ).excess_mse.item()  # fmt: skip
        spread = np.std(found, ddof=1) / math.sqrt(replicates)
        allowed = student.isf(5e-7, replicates - 1) * spread + 6 * theory / d
        assert abs(np.mean(found) - theory) < allowed
    assert np.mean(errors["square"]) > 1.5 * np.mean(errors["huber"])


@pytest.mark.slow
def test_double_descent():
    """Fluctuations are amplified at the peak, which is where width = n: alpha = 2 is width 2."""
    widths = [0.5, 1.0, 1.6, 2.0, 2.5, 4.0]
    found = check(
        gd.Target("z", noise=0.1), loss="square", d=400, replicates=16, activation="tanh(z)",
        alpha=[2.0], width_ratio=widths, ridge=[1e-5],
    )  # fmt: skip
    errors, theory = (x.reshape(len(widths), -1) for x in found["test"])
    assert widths[int(errors.mean(axis=1).argmax())] == 2.0
    assert widths[int(theory[:, 0].argmax())] == 2.0
    assert errors.mean(axis=1)[3] > 4 * errors.mean(axis=1)[[0, 5]].max()


def sine_like_tanh():
    """Sine A sin(w z) with the moments of tanh: mu_1 = A w e^(-w^2/2), E = A^2 (1-e^(-2w^2))/2."""
    tanh = gd.Activation("tanh(z)")
    mu1, second = tanh.hermite(1).value, tanh.expression.second_moment().value

    def gap(w):
        return (1 - math.exp(-2 * w * w)) / (2 * (w * math.exp(-w * w / 2)) ** 2) - second / mu1**2

    w = brentq(gap, 0.1, 2.0, xtol=1e-14)
    return f"{mu1 / (w * math.exp(-w * w / 2)):.12f}*sin({w:.12f}*z)"


def equivalent_curves(d, replicates, widths):
    """Errors (width, replicate) of tanh, of the sine and of a sign with the same mu_1."""
    mu1 = gd.Activation("tanh(z)").hermite(1).value
    other = f"{mu1 * math.sqrt(math.pi / 2):.12f}*sign(z)"
    curves = []
    for activation in ("tanh(z)", sine_like_tanh(), other):
        # The same samples and first layers for all three: differences have little noise.
        runs = gd.simulate(
            gd.Target("z", noise=0.1), "random_features", d=d, alpha=2.0, width_ratio=widths,
            ridge=1e-3, replicates=replicates, activation=activation, fit_intercept=False,
            standardize=False, progress=False,
        )  # fmt: skip
        curves.append(runs.excess_mse.squeeze().transpose("width_ratio", "replicate").values)
    return curves


def assert_equivalent(d, replicates, widths):
    tanh, sine, sign = equivalent_curves(d, replicates, widths)
    quantile = student.isf(5e-7, replicates - 1) / math.sqrt(replicates)
    same, different = sine - tanh, sign - tanh
    size = tanh.mean(axis=1)
    allowed = quantile * same.std(axis=1, ddof=1) + 6 * size / d
    assert (np.abs(same.mean(axis=1)) < allowed).all()
    distance = np.abs(different.mean(axis=1))
    assert (distance > quantile * different.std(axis=1, ddof=1)).any()
    assert (distance / np.abs(same.mean(axis=1))).max() > 5
    print(
        f"\nd = {d}: sine - tanh {(same.mean(axis=1) / size).round(3)} (allowed "
        f"{(allowed / size).round(3)}), sign - tanh {(different.mean(axis=1) / size).round(3)}"
    )


def test_the_sine_has_the_moments_of_tanh():
    for name in ("tanh(z)", sine_like_tanh()):
        activation = gd.Activation(name)
        assert activation.hermite(0).value == pytest.approx(0, abs=1e-10)
        assert activation.hermite(1).value == pytest.approx(0.6057055096, abs=1e-9)
        rest = activation.expression.second_moment().value - activation.hermite(1).value ** 2
        assert math.sqrt(rest) == pytest.approx(0.1655757411, abs=1e-8)
    third = [gd.Activation(name).hermite(3).value for name in ("tanh(z)", sine_like_tanh())]
    assert abs(third[0] - third[1]) > 0.01


@pytest.mark.stat
def test_gaussian_equivalence_of_simulated_curves():
    assert_equivalent(120, 16, [1.0, 1.5])


@pytest.mark.slow
def test_gaussian_equivalence_of_simulated_curves_at_dimension_400():
    assert_equivalent(400, 16, [0.5, 1.0, 1.5, 3.0, 6.0])
