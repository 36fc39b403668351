"""Random features with logistic, hinge and Huber loss: reference values, limits, brute force."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.calculus.marchenko_pastur import density, edges

MU = {  # mu1, mu* of the reference table
    "tanh(z)": (0.6057055096, 0.1655757411),
    "erf(z)": (0.6514700159, 0.2003643502),
    "sign(z)": (0.7978845608, 0.6028102750),
    "relu(z)": (0.5, 0.3014051375),
}


def predict(target, *, alpha, width_ratio, ridge, **parameters):
    return gd.predict(
        target, "random_features", alpha=float(alpha), width_ratio=float(width_ratio), ridge=ridge,
        **parameters,
    ).squeeze()  # fmt: skip


def degrees_of_freedom(activation, width_ratio, kappa):
    """(1/d) Tr Omega/(Omega + k), as an integral over the density of the spectrum."""
    mu1, mu_star = MU[activation]
    low, high = edges(width_ratio)
    t = (np.arange(20000) + 0.5) * math.pi / 20000  # the density vanishes at both ends
    x = (high + low) / 2 - (high - low) / 2 * np.cos(t)
    weight = density(x, width_ratio) * (high - low) / 2 * np.sin(t) * math.pi / 20000
    eigenvalue = mu1**2 * x + mu_star**2
    k = kappa * width_ratio
    bulk = weight @ (eigenvalue / (eigenvalue + k))
    return bulk + max(width_ratio - 1, 0.0) * mu_star**2 / (mu_star**2 + k)


CLASSIFICATION = [
    # activation, loss, alpha, width_ratio, ridge, flips, V, q, m, error, training loss, tolerance
    ("tanh(z)", "logistic", 2, 1.5, 0.1, 0, 1.7189743, 1.6185448, 0.88384858, 0.25552424,
     0.33006321, 1e-6),
    ("erf(z)", "logistic", 4, 1, 0.01, 0, 2.9297924, 10.862679, 2.4574144, 0.2321597, 0.24686271,
     1e-6),
    ("sign(z)", "logistic", 2, 3, 0.01, 0.1, 41.44967, 11.245005, 1.7011347, 0.33064618,
     0.058576031, 1e-6),
    ("relu(z)", "logistic", 3, 2, 0.1, 0, 1.6131778, 1.583316, 0.8831482, 0.25235371, 0.33570641,
     1e-6),
    ("relu(z)", "logistic", 1, 0.5, 1, 0, 0.28596866, 0.061972285, 0.077142705, 0.39971051,
     0.60841874, 1e-6),
    ("tanh(z)", "hinge", 2, 1.5, 0.1, 0, 0.95518, 1.65231, 0.91560, 0.247655, 0.15895, 2e-4),
    ("sign(z)", "hinge", 3, 2, 1, 0.05, 0.50304, 0.68578, 0.49363, 0.29672, 0.37440, 2e-4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("activation", "loss", "alpha", "width_ratio", "ridge", "flips", "V", "q", "m", "error",
     "train", "tolerance"),
    CLASSIFICATION,
)  # fmt: skip
def test_classification_has_the_values_of_the_literature(
    activation, loss, alpha, width_ratio, ridge, flips, V, q, m, error, train, tolerance
):
    found = predict(
        "sign(z)", alpha=alpha, width_ratio=width_ratio, ridge=ridge, activation=activation,
        loss=loss, flips=flips,
    )  # fmt: skip
    # The reference counts errors on labels before they are flipped.
    clean = (float(found.zero_one_error) - flips) / (1 - 2 * flips)
    kappa = float(found.effective_ridge)
    V_found = degrees_of_freedom(activation, width_ratio, kappa) * kappa / ridge
    for value, reference in (
        (V_found, V), (found.norm, q), (found.overlap, m), (clean, error), (found.train_loss, train)
    ):  # fmt: skip
        assert float(value) == pytest.approx(reference, rel=max(tolerance, 1e-7))
    assert float(found.intercept) == 0.0
    assert float(found.zero_one_error_err) < 1e-7
    assert clean == pytest.approx(math.acos(m / math.sqrt(q)) / math.pi, abs=5e-5)


@pytest.mark.parametrize(
    ("activation", "b", "q", "m", "error", "train"),
    [
        ("relu(z)", 1.504266, 1.3802308, 0.78579322, 0.197208, 0.2668112),
        ("tanh(z)", 1.5876778, 1.8524556, 1.0365724, 0.173494, 0.2463147),
    ],
)
def test_unbalanced_labels_have_an_intercept(activation, b, q, m, error, train):
    found = predict(
        "sign(z + 0.7)", alpha=3, width_ratio=2, ridge=0.1, activation=activation, loss="logistic"
    )
    for name, value in (
        ("intercept", b), ("norm", q), ("overlap", m), ("zero_one_error", error),
        ("train_loss", train),
    ):  # fmt: skip
        assert float(found[name]) == pytest.approx(value, rel=1e-5)


def test_without_intercept_odd_features_make_more_errors():
    setting = dict(alpha=3, width_ratio=2, ridge=0.1, loss="logistic")
    text = "sign(z + 0.7)"
    free = predict(text, activation="tanh(z)", **setting)
    none = predict(text, activation="tanh(z)", fit_intercept=False, **setting)
    assert float(none.intercept) == 0.0
    assert float(none.zero_one_error) > float(free.zero_one_error) + 0.05
    mean = predict(text, activation="relu(z)", fit_intercept=False, **setting)
    assert float(mean.intercept) == pytest.approx(1.504266, rel=1e-5)


def test_squares_on_labels():
    found = predict("sign(z)", alpha=2, width_ratio=1.5, ridge=0.1, activation="tanh(z)")
    for name, value in (
        ("norm", 0.52633227), ("overlap", 0.53097434), ("zero_one_error", 0.23864027),
        ("train_mse", 2 * 0.11936167),
    ):  # fmt: skip
        assert float(found[name]) == pytest.approx(value, rel=1e-6)
    kappa = float(found.effective_ridge)
    V = degrees_of_freedom("tanh(z)", 1.5, kappa) * kappa / 0.1
    assert pytest.approx(0.68652886, rel=1e-6) == V
    # Labels 0 and 1 are the same problem, decided at 1/2.
    other = predict("step(z)", alpha=2, width_ratio=1.5, ridge=0.1, activation="tanh(z)")
    assert float(other.zero_one_error) == pytest.approx(float(found.zero_one_error), rel=1e-9)
    assert float(other.train_zero_one_error) == pytest.approx(
        float(found.train_zero_one_error), rel=1e-9
    )


def test_huber_has_the_values_of_the_literature():
    found = predict(
        gd.Target("z", noise=0.2), alpha=2, width_ratio=1, ridge=0.1, activation="tanh(z)",
        loss="huber", delta=1.0,
    )  # fmt: skip
    assert float(found.excess_mse) == pytest.approx(0.4828498, rel=1e-6)
    assert float(found.train_loss) == pytest.approx(0.1429119, rel=1e-6)
    heavy = predict(
        gd.Target("z", noise=0.1), alpha=3, width_ratio=1, ridge=0.1, activation="erf(z)",
        loss="huber", delta=0.5, outliers=(0.2, 10.0),
    )  # fmt: skip
    assert float(heavy.excess_mse) == pytest.approx(0.5028173, rel=1e-6)
    assert float(heavy.train_loss) == pytest.approx(0.3026093, rel=1e-6)
    squares = predict(
        gd.Target("z", noise=0.1), alpha=3, width_ratio=1, ridge=0.1, activation="erf(z)",
        outliers=(0.2, 10.0),
    )  # fmt: skip
    assert float(squares.excess_mse) == pytest.approx(0.977, abs=1e-3)
    assert float(squares.test_mse) == pytest.approx(0.977 + 0.8 * 0.1 + 0.2 * 10, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "noise"),
    [("z", 0.2), ("sign(z)", 0.0), ("relu(z) + 1", 0.1), ("z1 + z1*z2", 0.0),
     ("abs(z1 - z2) + z1", 0.0)],
)  # fmt: skip
def test_huber_with_a_large_delta_is_square(text, noise):
    """Two solvers: the scalar equation, and the fixed point with integrals over z."""
    target = gd.Target(text, noise=noise)
    setting = dict(alpha=2, width_ratio=1.3, ridge=0.05, activation="tanh(z)")
    square = predict(target, **setting)
    huber = predict(target, loss="huber", delta=1e4, **setting)
    for name in ("excess_mse", "test_mse", "train_mse", "norm", "intercept", "effective_ridge"):
        assert float(huber[name]) == pytest.approx(float(square[name]), rel=1e-6, abs=1e-9)
    assert huber.overlap.values == pytest.approx(square.overlap.values, abs=1e-6)
    assert float(huber.train_loss) == pytest.approx(float(square.train_mse) / 2, rel=1e-6)


def test_the_kernel_limit_of_the_losses():
    for loss, text in (("logistic", "sign(z)"), ("hinge", "sign(z + 0.5)"), ("huber", "tanh(z)")):
        setting = dict(alpha=2, ridge=0.1, activation="erf(z)", loss=loss)
        limit = predict(text, width_ratio=math.inf, **setting)
        wide = predict(text, width_ratio=1e6, **setting)
        for name in ("norm", "overlap", "train_loss"):
            assert float(limit[name]) == pytest.approx(float(wide[name]), rel=2e-5)


def brute_force(text, loss, *, V, q, m, b, samples):
    """Means of g, g^2, z g and of the loss over drawn samples, with standard errors."""
    rng = np.random.default_rng(17)
    target = gd.Target(text)
    total, square = np.zeros(3 + len(m)), np.zeros(3 + len(m))
    for _ in range(10):
        z = rng.standard_normal((samples // 10, len(m)))
        y = np.asarray(target(z))
        f = z @ m + np.sqrt(q - m @ m) * rng.standard_normal(len(z)) + b
        t = y * f
        if loss == "hinge":
            x = np.where(t >= 1, t, np.minimum(t + V, 1.0))
            values = np.maximum(1 - x, 0)
        else:
            low, high = t, t + V  # bisection
            for _ in range(40):
                x = (low + high) / 2
                up = x - t - V / (1 + np.exp(x)) < 0
                low, high = np.where(up, x, low), np.where(up, high, x)
            values = np.logaddexp(0.0, -x)
        g = y * (x - t) / V
        columns = np.column_stack([g, g**2, values, z * g[:, None]])
        total += columns.sum(axis=0)
        square += (columns**2).sum(axis=0)
    mean = total / samples
    return mean, np.sqrt((square / samples - mean**2) / samples)


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "loss", "m", "b"),
    [
        ("sign(z1 + 0.5*z2**3)", "logistic", (0.9, 0.6), 0.0),
        ("sign(z1 + 0.5*z2 - 0.4)", "hinge", (0.7, 0.5), -0.3),
        ("sign(z**2 - z - 1)", "hinge", (-0.5,), 0.2),
    ],
)
def test_averages_of_the_output_function_are_those_of_drawn_samples(text, loss, m, b):
    """Would catch: the law of the label given the output with a wrong sign, C for its inverse."""
    from gradone.theory.lazy._erm_labels import TwoLabels
    from gradone.theory.lazy._erm_margin import MarginOutput
    from gradone.theory.lazy._erm_solve import Field

    m = np.array(m)
    found = MarginOutput(TwoLabels(gd.Target(text)), loss).averages(Field(1.4, 2.0, m, b))
    mean, spread = brute_force(text, loss, V=1.4, q=2.0, m=m, b=b, samples=5 * 10**5)
    mean_z_g = found.H - m * found.D
    expected = np.array([found.mean, found.G, found.loss, *mean_z_g])
    assert (np.abs(mean - expected) < 5.5 * spread + 1e-6).all()
    assert (spread < 2e-3).all()


@pytest.mark.parametrize("loss", ["logistic", "hinge", "huber", "square"])
def test_rotated_targets_are_the_same(loss):
    """One direction has closed forms, two go through integrals over the plane."""
    setting = dict(alpha=2, width_ratio=1.5, ridge=0.1, activation="relu(z)", loss=loss)
    one, two = (
        predict("sign(z + 1/2)", **setting),
        predict("sign(3*z1/5 - 4*z2/5 + 1/2)", **setting),
    )
    for name in sorted(set(one.data_vars) - {"status", "converged", "n_iter", "overlap"}):
        if not name.endswith("_err"):
            allowed = float(one[f"{name}_err"] + two[f"{name}_err"]) + 1e-9
            assert float(two[name]) == pytest.approx(float(one[name]), abs=2 * allowed), name
            assert allowed < 1e-3
    assert two.overlap.values == pytest.approx(float(one.overlap) * np.array([0.6, -0.8]), abs=1e-4)


def test_a_multi_index_teacher():
    """Fixed point found by a plain iteration on a product grid, without acceleration."""
    found = predict(
        "sign(z1 + 0.5*z2**3)", alpha=3, width_ratio=2, ridge=0.1, activation="tanh(z)",
        loss="logistic",
    )  # fmt: skip
    assert found.overlap.values == pytest.approx([0.92153608, 0.64811332], abs=2e-5)
    assert float(found.norm) == pytest.approx(2.03386946, abs=3e-5)
    assert float(found.zero_one_error) == pytest.approx(0.2207, abs=2e-4)


def test_labels_without_linear_part_are_not_learned():
    for loss in ("logistic", "hinge", "square"):
        found = predict(
            "sign(z1*z2*z3)", alpha=3, width_ratio=2, ridge=0.1, activation="tanh(z)", loss=loss
        )
        assert found.overlap.values == pytest.approx([0.0] * 3, abs=1e-9)
        assert float(found.zero_one_error) == pytest.approx(0.5, abs=1e-6)
        assert float(found.train_zero_one_error) < 0.4


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_extreme_ridges(loss):
    """Large: the output is proportional to the correlation of labels and features; error known.

    There g = 1/2 (logistic) or 1 (hinge) times y, so that the direction of the readout is that of
    one gradient step: the cosine follows from df1 -> trace/kappa.
    """
    alpha, beta = 2.0, 1.5
    mu1, mu_star = MU["tanh(z)"]
    found = predict(
        "sign(z)", alpha=alpha, width_ratio=beta, ridge=1e5, activation="tanh(z)", loss=loss
    )
    rest = mu_star**2 / mu1**2
    slope = math.sqrt(2 / math.pi)  # E[z y]
    # q/m^2 with df2 -> Tr Omega^2/(d k^2), A -> mu1^2 p/(d k), A2 -> c^T Omega c/k^2
    trace2 = beta * ((1 + rest) ** 2 + beta)  # (1/d) Tr (WW^T + rest)^2
    field2 = beta * (1 + beta + rest)  # theta^T W^T (WW^T + rest) W theta
    q = trace2 / alpha + slope**2 * field2
    cosine = slope * beta / math.sqrt(q)
    assert float(found.zero_one_error) == pytest.approx(math.acos(cosine) / math.pi, abs=1e-5)
    small = predict(
        "sign(z)", alpha=alpha, width_ratio=3.0, ridge=1e-5, activation="tanh(z)", loss=loss
    )
    assert float(small.train_zero_one_error) < 1e-6
    assert bool(small.converged)
    assert float(small.train_loss) < 2e-3


def test_the_limits_of_separable_data_agree():
    """With a vanishing ridge both losses find the maximal margin."""
    errors = [
        float(
            predict(
                "sign(z)", alpha=1.0, width_ratio=3.0, ridge=ridge, activation="tanh(z)", loss=loss
            ).zero_one_error
        )
        for loss, ridge in (("hinge", 1e-4), ("logistic", 1e-9))
    ]
    assert errors[0] == pytest.approx(errors[1], abs=3e-3)


def test_labels_of_many_directions():
    """Squares need second moments only; other losses integrate over the directions."""
    text = "sign(z1 + z2*z3*z4*z5)"
    found = predict(text, alpha=2, width_ratio=1, ridge=0.1)
    assert float(found.overlap[0]) > 0.1
    assert "zero_one_error" not in found
    with pytest.raises(gd.OutOfRegime, match="5 directions"):
        predict(text, alpha=2, width_ratio=1, ridge=0.1, loss="logistic")
