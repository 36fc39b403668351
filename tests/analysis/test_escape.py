"""The linear stage of SGD against closed forms, the field's numbers and direct simulation."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, stdtrit

from gradone import Target
from gradone.analysis import escape, escape_table
from gradone.base.errors import BadData, OutOfRegime

STAIRCASE = "He2(z1) + sign(z1*z2*z3)"
GRAND = "He4(z1) + sign(z1*z2*z3)"
EXTRA = {"rule": "extragradient", "loss": "correlation"}
PLAIN = {"loss": "correlation"}


def he(k, z):
    return np.polynomial.hermite_e.hermeval(z, [0] * k + [1])


def gaussian_mean(f, kinks):
    points = [-12.0, *sorted(kinks), 12.0]
    return sum(
        quad(lambda z: f(z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi), a, b, epsabs=1e-13)[0]
        for a, b in zip(points, points[1:], strict=False)
    )


# ---- reference values


@pytest.mark.parametrize(
    ("rho", "v", "V"), [(0.1, -0.118646, 2.080604), (0.3, -0.117460, 1.807698)]
)
def test_extragradient_makes_he3_visible_to_a_relu(rho, v, V):
    """Would catch: Phi(rho y) without the min, a missing factor rho, V with one power of y."""
    stage = escape("He3(z)", "relu(z)", inner_step=rho, **EXTRA)
    assert stage.v[0] == pytest.approx(v, abs=1e-6)
    assert stage.variance.value == pytest.approx(V, abs=1e-6)
    assert stage.scaling == "d"
    assert stage.drift[0].error < 1e-8


@pytest.mark.parametrize(("rho", "K", "V"), [(0.1, 0.084965, 10.86699), (0.3, 0.456946, 9.470541)])
def test_extragradient_makes_he4_grow_with_a_relu(rho, K, V):
    stage = escape("He4(z)", "relu(z)", inner_step=rho, **EXTRA)
    assert stage.K[0, 0] == pytest.approx(K, abs=1e-6)
    assert stage.variance.value == pytest.approx(V, abs=1e-5)
    assert stage.drift[0].is_zero
    assert stage.scaling == "d log d"
    assert stage.rate.value == pytest.approx(K**2 / (2 * V), rel=1e-4)
    assert stage.step_size.value == pytest.approx(0.4 * K / V, rel=1e-4)


@pytest.mark.parametrize(
    ("target", "activation", "a", "rho", "K", "V", "tol_K", "tol_V"),
    [
        ("He4(z)", "tanh(z)", 1, -0.1, 0.40147, 4.5272, 1e-5, 1e-4),
        (STAIRCASE, "tanh(z + 0.2)", -1, 0.0, 0.144, 1.37, 0.003, 0.01),
        (STAIRCASE, "tanh(z + 0.2)", -1, -0.3, 0.234, 0.825, 0.003, 0.01),
        (GRAND, "tanh(z)", 1, -0.1, 0.39828, 4.8520, 1e-3, 5e-3),
    ],
)
def test_growth_of_the_published_staircases(target, activation, a, rho, K, V, tol_K, tol_V):
    """Would catch: the bias left out of sigma, the readout sign inside but not outside phi."""
    stage = escape(target, activation, readout=a, inner_step=rho, **EXTRA)
    assert abs(stage.top.value - K) < tol_K
    assert abs(stage.variance.value - V) < tol_V
    assert stage.top.error < 3e-3 * K
    assert stage.variance.error < 3e-3 * V
    assert repr(stage.direction) == "span(z1)"
    assert stage.scaling == "d log d"


@pytest.mark.parametrize("activation", ["relu(z)", "tanh(z + 0.2)"])
@pytest.mark.parametrize("rho", [-0.3, 0.3])
def test_parity_has_neither_drift_nor_growth(activation, rho):
    """Zero results say so: every entry is below its error, and the error is small."""
    stage = escape("sign(z1*z2*z3)", activation, inner_step=rho, **EXTRA)
    entries = [*stage.drift, *(e for row in stage.growth for e in row)]
    assert all(e.is_zero and e.error < 1e-6 for e in entries)
    assert stage.scaling not in ("d", "d log d")
    assert "below the error" in stage.verdict


@pytest.mark.parametrize(
    ("target", "activation", "a", "rho", "gamma", "top", "tolerance"),
    [
        (STAIRCASE, "tanh(z + 0.2)", -1, 0.0, 0.1, 0.113, 0.003),
        (STAIRCASE, "tanh(z + 0.2)", -1, -0.3, 0.1, 0.181, 0.003),
        (GRAND, "tanh(z)", 1, -0.1, 0.03, 0.283, 0.005),
        (GRAND, "tanh(z)", 1, -0.1, 0.06, 0.24, 0.005),
        (GRAND, "tanh(z + 0.1)", 1, -0.1, 0.03, 0.076, 0.005),
        (GRAND, "tanh(z + 0.1)", -1, -0.1, 0.03, 0.46, 0.005),
        (GRAND, "tanh(z + 0.2)", 1, -0.3, 0.05, -0.44, 0.006),
        (GRAND, "tanh(z + 0.2)", -1, -0.3, 0.05, 0.03, 0.005),
    ],
)
def test_second_stage_of_the_published_staircases(
    target, activation, a, rho, gamma, top, tolerance
):
    """Would catch: gamma V instead of gamma V/2, E[phi lambda] left out, z_1 kept among k, l."""
    stage = escape(target, activation, readout=a, inner_step=rho, **EXTRA)
    for sign in (1, -1):
        second = stage.second_stage([sign, 0, 0], gamma)
        assert abs(second.top.value - top) < tolerance
        assert second.escapes is (top > 0)


# ---- identities and closed forms


@pytest.mark.parametrize("rho", [0.05, 0.2, 0.7])
def test_relu_reduces_to_one_dimension(rho):
    """Correlation, a = 1, rho > 0: v = E[y z Phi(min(0, rho y))] and V alike; y = He3(z)."""
    stage = escape("He3(z)", "relu(z)", inner_step=rho, **EXTRA)
    roots = (-math.sqrt(3), 0.0, math.sqrt(3))
    v = gaussian_mean(lambda z: he(3, z) * z * ndtr(min(0.0, rho * he(3, z))), roots)
    V = gaussian_mean(lambda z: he(3, z) ** 2 * ndtr(min(0.0, rho * he(3, z))), roots)
    assert stage.v[0] == pytest.approx(v, abs=1e-9)
    assert stage.variance.value == pytest.approx(V, abs=1e-8)


@pytest.mark.parametrize("loss", ["square", "correlation"])
@pytest.mark.parametrize("activation", ["relu(z)", "tanh(z + 0.2)"])
def test_small_inner_steps_tend_to_the_plain_closed_forms(loss, activation):
    """v = a c_1 C_1, K = a c_2 C_2, V with the error of the model; no table is used there."""
    target = Target("z1 + He2(z1) + z1*z2/2", noise=0.3)
    plain = escape(target, activation, loss=loss, readout=-0.7)
    near = escape(
        target, activation, loss=loss, readout=-0.7, rule="extragradient", inner_step=1e-7
    )
    np.testing.assert_allclose(near.v, plain.v, atol=2e-3)
    np.testing.assert_allclose(near.K, plain.K, atol=2e-3)
    assert near.variance.value == pytest.approx(plain.variance.value, rel=2e-3)


def test_one_of_k_steps_is_the_plain_gradient_and_two_are_the_sum():
    """Two steps push twice where the inner step is small."""
    one = escape("z + He2(z)", "tanh(z)", rule="k_steps", inner_steps=1, inner_step=0.2)
    two = escape("z + He2(z)", "tanh(z)", rule="k_steps", inner_steps=2, inner_step=1e-6)
    plain = escape("z + He2(z)", "tanh(z)")
    assert one.v[0] == plain.v[0]
    assert two.v[0] == pytest.approx(2 * plain.v[0], rel=1e-5)
    assert two.variance.value == pytest.approx(4 * plain.variance.value, rel=1e-5)
    ahead = escape("z + He2(z)", "tanh(z)", rule="look_ahead", inner_steps=2, inner_step=1e-6)
    assert ahead.v[0] == two.v[0]


def test_sam_is_the_extragradient_with_the_other_sign():
    sam = escape("He4(z)", "tanh(z)", rule="sam", inner_step=0.1)
    extra = escape("He4(z)", "tanh(z)", rule="extragradient", inner_step=-0.1)
    assert sam.K[0, 0] == extra.K[0, 0]


def test_noise_enters_the_variance_and_nothing_else_of_the_plain_rule():
    """Would catch: noise counted as a standard deviation, or left out of V."""
    clean, noisy = (escape(Target("He2(z)", noise=n), "tanh(z + 0.2)", **PLAIN) for n in (0.0, 0.5))
    assert noisy.K[0, 0] == clean.K[0, 0]
    assert noisy.variance.value / clean.variance.value == pytest.approx((2 + 0.5) / 2, abs=1e-12)


def test_noise_changes_what_a_repeated_sample_sees():
    """phi is nonlinear in y, so label noise blurs T(y): V(noise) is not V + noise E[s'^2]."""
    stage = escape(Target("He4(z)", noise=0.5), "relu(z)", inner_step=0.3, **EXTRA)
    xi, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.linspace(-11, 11, 20001)
    y = he(4, grid)[:, None] + math.sqrt(0.5) * xi
    mass = np.outer(np.exp(-(grid**2) / 2), weights / weights.sum())
    mass /= mass.sum()
    V = float((y**2 * ndtr(np.minimum(0, 0.3 * y)) * mass).sum())
    assert stage.variance.value == pytest.approx(V, rel=1e-4)


def test_rotations_rotate_and_change_no_size():
    rotated = "He2({c}*z1 + {s}*z2) + sign(({c}*z1 + {s}*z2)*({c}*z2 - {s}*z1)*z3)"
    angle = 0.4
    text = rotated.format(c=f"{math.cos(angle):.15f}", s=f"{math.sin(angle):.15f}")
    options = {"readout": -1.0, "inner_step": -0.3, **EXTRA}
    plain, turned = (escape(t, "tanh(z + 0.2)", **options) for t in (STAIRCASE, text))
    assert turned.top.agrees_with(plain.top)
    assert turned.variance.agrees_with(plain.variance)
    assert turned.direction.contains([math.cos(angle), math.sin(angle), 0.0], 1e-3)


def test_a_function_of_one_linear_form_is_one_dimensional():
    """He4((z1 + z2)/sqrt 2): K is k1 times the projector on (1, 1)."""
    stage = escape("He4((z1 + z2)/sqrt(2))", "relu(z)", inner_step=0.3, **EXTRA)
    np.testing.assert_allclose(stage.K, 0.456946 / 2 * np.ones((2, 2)), atol=1e-6)


# ---- statements of the field


def test_relu_wants_extragradient_and_tanh_wants_sam_for_even_targets():
    for activation, wanted in (("relu(z)", "extragradient"), ("tanh(z)", "sam")):
        stages = {
            rule: escape("He4(z)", activation, rule=rule, loss="correlation", inner_step=0.1)
            for rule in ("extragradient", "sam")
        }
        assert [rule for rule, s in stages.items() if s.scaling == "d log d"] == [wanted]


def test_without_repetition_the_information_exponent_decides():
    """He3: tanh needs d^2 steps, relu has no third Hermite coefficient; He4: one sign, d^3."""
    cubic = escape("He3(z)", "tanh(z)", **PLAIN)
    assert (cubic.scaling, cubic.exponent, cubic.step_power) == ("d^(l-1)", 3, 1.5)
    assert escape("He3(z)", "relu(z)", **PLAIN).exponent is None
    assert [escape("He4(z)", "relu(z)", readout=a).exponent for a in (1, -1)] == [None, 4]
    assert escape("z1*z2*z3", "tanh(z + 0.2)").exponent == 3


def test_readout_of_the_wrong_sign_is_stuck():
    """He2 with a relu: K = a c_2 mu_2, so a = -1 is pulled back to m = 0."""
    assert escape("He2(z)", "relu(z)").scaling == "d log d"
    assert escape("He2(z)", "relu(z)", readout=-1).scaling == "stuck"


def test_a_direction_that_is_pulled_back_takes_its_partners_along():
    """a = +1 holds z1 at 0; sign(z1*z2*z3) pushes nothing within span(z2, z3)."""
    stage = escape(STAIRCASE, "tanh(z + 0.2)", **PLAIN)
    assert stage.scaling == "stuck"
    assert stage.direction.dim == 0
    assert stage.step_size is None
    assert math.isinf(stage.hitting_time(1000).value)


def test_table_puts_the_fastest_first():
    table = escape_table("He3(z)", "relu(z)", loss="correlation")
    assert table.best.scaling == "d"
    assert table.best.update.rule in ("extragradient", "sam")
    assert table.stages[-1].scaling == "stuck"
    assert "extragradient" in table.summary()


# ---- hitting times


@pytest.mark.parametrize(
    ("link", "step", "d", "tau"),
    [
        ("z", 1.0, 10**3, 0.624),
        ("z", 1.0, 10**6, 0.6550),
        ("z", 0.3, 10**3, 1.814),
        ("z", 0.3, 10**6, 1.9167),
        ("He2(z)/sqrt(2)", 0.1, 10**3, 15.53),
        ("He2(z)/sqrt(2)", 0.1, 10**4, 21.59),
        ("He2(z)/sqrt(2)", 0.3, 10**3, 6.03),
        ("He2(z)/sqrt(2)", 0.3, 10**4, 8.29),
    ],
)
def test_hitting_times_of_matched_links(link, step, d, tau):
    time = escape(link, link, **PLAIN).hitting_time(d, step_size=step)
    assert time.value / d == pytest.approx(tau, abs=0.006)


@pytest.mark.parametrize("d", [128, 256])
def test_hitting_time_of_he3_scales_as_d_squared(d):
    """The velocity with the full V(m) = E[g^2 s'(lambda)^2], by another route."""
    link = "He3(z)/sqrt(6)"
    time = escape(link, link, **PLAIN).hitting_time(d, step_size=0.3)
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    z, w = np.meshgrid(nodes, nodes)
    mass = np.outer(weights, weights) / weights.sum() ** 2
    gamma, start = 0.3 / math.sqrt(d), 1 / math.sqrt(d)

    def slowness(x):
        m = math.exp(x)
        field = m * z + math.sqrt(1 - m * m) * w
        V = float((mass * he(3, z) ** 2 / 6 * (3 * he(2, field)) ** 2 / 6).sum())
        return m / (gamma * (1 - m * m) * 3 * m * m - gamma**2 / 2 * m * V)

    expected = quad(slowness, math.log(start), math.log(0.5))[0]
    assert time.value / d == pytest.approx(expected, rel=1e-4)
    assert time.value / d**2 == pytest.approx(1.08, rel=0.3)


def test_hitting_time_follows_the_known_ode():
    """Spherical, correlation, gamma = 0.1, rho = 0.3: m = -0.1353, -0.3005 at tau = 10, 20."""
    stage = escape("He3(z)", "relu(z)", inner_step=0.3, **EXTRA)
    times = [
        stage.hitting_time(10**12, step_size=0.1, threshold=m).value / 10**12
        for m in (0.1353, 0.3005)
    ]
    assert times == pytest.approx([10, 20], abs=0.3)


def test_too_large_a_step_never_arrives():
    stage = escape("He2(z)", "relu(z)", **PLAIN)
    largest = 2 * stage.top.value / stage.variance.value
    assert math.isinf(stage.hitting_time(1000, step_size=1.01 * largest).value)


# ---- second stage with kinks


def test_second_stage_of_a_relu_counts_the_jump_of_its_derivative():
    """y = z1^2 z2^2 style slices in closed form: sigma'' = delta at 0.

    Target z1 + z2^2 on lambda = z1, relu, correlation: E[phi' z2^2] = phi(0) E[z2^4] =
    3/sqrt(2 pi); E[phi z1] = E[z1^2 step] + E[z2^2] E[z1 step]; V_1 likewise. Would catch: the
    delta of sigma'' dropped.
    """
    second = escape("z1 + z2**2", "relu(z)", **PLAIN).second_stage([1, 0], 0.2)
    density = 1 / math.sqrt(2 * math.pi)
    V1 = 1 / 2 + 2 * density + 3 / 2
    expected = 3 * density - (1 / 2 + density) - 0.1 * V1
    assert second.matrix[0, 0] == pytest.approx(expected, abs=1e-6)


def test_second_stage_sees_a_drift_where_there_is_one():
    """From z1, the term z1*z2 pushes z2 directly: E[phi z2] = a E[z1 s'(z1)] = phi(0)."""
    second = escape("z1 + z1*z2", "relu(z)", **PLAIN).second_stage([1, 0], 0.1)
    assert second.drift[0].value == pytest.approx(1 / math.sqrt(2 * math.pi), abs=1e-6)
    assert second.escapes
    assert repr(second.direction) == "span(z2)"


@pytest.mark.stat
@pytest.mark.parametrize("overlap", [1.0, 0.8])
@pytest.mark.parametrize(("activation", "rho"), [("tanh(z + 0.2)", -0.3), ("relu(z)", 0.0)])
def test_second_stage_is_the_slope_of_the_drift(activation, rho, overlap, rng):
    """Central difference of E[phi z2] when the neuron leans towards z2, by plain sampling."""
    target, gamma, lean, n = Target("He2(z1) + z1*z2 + z2**2"), 0.1, 0.02, 1_000_000
    stage = escape(target, activation, inner_step=rho, **EXTRA)
    found = stage.second_stage([1, 0], gamma, overlap=overlap)
    sigma = {"relu(z)": lambda x: (x > 0) * 1.0}.get(activation, lambda x: np.cosh(x + 0.2) ** -2.0)
    z1, z2, w = rng.standard_normal((3, n))
    y = z1**2 - 1 + z1 * z2 + z2**2
    push = lambda u: y * sigma(u + rho * y * sigma(u))  # noqa: E731
    base = overlap * z1 + math.sqrt(max(1 - overlap**2 - lean**2, 0.0)) * w
    if overlap == 1.0:
        base = math.sqrt(1 - lean**2) * z1
    slope = (push(base + lean * z2) - push(base - lean * z2)) / (2 * lean) * z2
    field = overlap * z1 + math.sqrt(1 - overlap**2) * w
    now = push(field)
    sample = slope - now * field - gamma / 2 * now**2
    error = sample.std() / math.sqrt(n)
    # lean^2: size of the third derivative left by the central difference, of order one.
    assert abs(found.matrix[0, 0] - sample.mean()) < 5.5 * error + 10 * lean**2


# ---- direct simulation in d dimensions, which shares no code


@pytest.mark.stat
@pytest.mark.parametrize(
    ("text", "activation", "rule", "rho"),
    [
        ("He3(z1)", "relu(z)", "extragradient", 0.3),
        ("He3(z1) + z1*z2", "tanh(z + 0.2)", "k_steps", 0.2),
        ("He3(z1) + z1", "relu(z)", "sam_normalized", 0.5),
    ],
)
def test_one_step_in_d_dimensions_moves_the_overlap_by_the_drift(text, activation, rule, rho, rng):
    """d = 300, squared loss, noise 0.2; 64 replicates of 2000 samples; power: v is 8 sigma or more.

    Would catch: |x|^2/d left out of the inner step, the sign of the inner step, the model's own
    output left out of the error, V without the noise.
    """
    d, n, replicates, a = 300, 2000, 64, 1.0
    s, slope = {
        "relu(z)": (lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
        "tanh(z + 0.2)": (lambda x: np.tanh(x + 0.2), lambda x: np.cosh(x + 0.2) ** -2.0),
    }[activation]
    moved, squares = [], []
    for _ in range(replicates):
        x = rng.standard_normal((n, d))
        z, u, size = x[:, :2], x[:, 2], (x * x).sum(axis=1)  # w = e_3 is orthogonal to e_1, e_2
        added = {"He3(z1) + z1*z2": z[:, 0] * z[:, 1], "He3(z1) + z1": z[:, 0]}
        y = he(3, z[:, 0]) + added.get(text, 0.0)
        y = y + math.sqrt(0.2) * rng.standard_normal(n)
        push = a * (y - a * s(u)) * slope(u)
        if rule == "sam_normalized":
            field = u - rho / math.sqrt(d) * np.sqrt(size) * np.sign(push)
            push = a * (y - a * s(field)) * slope(field)
        else:
            field = u + rho / d * size * push
            more = a * (y - a * s(field)) * slope(field)
            push = push + more if rule == "k_steps" else more
        moved.append((push * z[:, 0]).mean())
        squares.append((push**2).mean())
    stage = escape(
        Target(text, noise=0.2), activation, rule=rule, inner_step=rho, radius=rho, loss="square"
    )
    quantile = stdtrit(replicates - 1, 1 - 5e-7)
    for sample, theory in ((moved, stage.v[0]), (squares, stage.variance.value)):
        error = np.std(sample, ddof=1) / math.sqrt(replicates)
        # 10/d: |x|^2 fluctuates by d sqrt(2/d), and the push curves by a number of order one.
        assert abs(np.mean(sample) - theory) < quantile * error + 10 / d * abs(theory)
    assert abs(stage.v[0]) > 8 * np.std(moved, ddof=1) / math.sqrt(replicates)


# ---- errors, imports


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "extragradent"}, "unknown rule .*Did you mean 'extragradient'"),
        ({"rule": "adam"}, r"unknown rule 'adam'; it is one of [^?]*$"),  # not "did you mean 'sam'"
        ({"loss": "hinge"}, "unknown loss"),
        ({"readout": 0.0}, "readout must not be 0"),
        ({"inner_step": math.nan}, "inner_step must be a finite number"),
        ({"rule": "k_steps", "inner_steps": 0}, "inner_steps must be at least 1"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(BadData, match=message):
        escape("He2(z)", "relu(z)", **options)


def test_too_many_directions_are_refused():
    with pytest.raises(OutOfRegime, match="5 directions"):
        escape("z1*z2*z3*z4*z5", "relu(z)")


def test_a_direction_of_the_wrong_size_is_refused():
    with pytest.raises(BadData, match="3 numbers"):
        escape(STAIRCASE, "tanh(z)").second_stage([1, 0], 0.1)


def test_import_is_light():
    code = "import sys; from gradone.analysis import escape; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"scipy.stats", "scipy.optimize", "xarray", "matplotlib", "numba", "sympy"}
    assert heavy.isdisjoint(run.stdout.split())


@pytest.mark.parametrize(
    ("rule", "missing"), [("extragradient", "inner_step"), ("sam_normalized", "radius")]
)
def test_a_rule_without_its_step_is_not_taken_for_the_plain_one(rule, missing):
    with pytest.raises(BadData, match=f"needs {missing}"):
        escape("He3(z)", rule=rule)
