"""Spectrum of the features for second layers of several values: closed forms and real steps."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.targets.activation import Activation
from gradone.theory.giant._one_step_readout import fields
from gradone.theory.giant._one_step_spike import spike_of
from gradone.theory.giant._readout_law import ReadoutLaw, readout_law
from gradone.theory.giant._spectrum_blocks import BlockBulk
from gradone.theory.giant._spectrum_solver import Bulk
from gradone.theory.giant.feature_spectrum import _layer

from .direct_step import giant_step, sphere_rows

SIN, TANH = gd.Target("sin(z)"), Activation("tanh(z)")
SETTING = {"readout_ratio": 2.0, "batch_ratio": 8.0, "activation": "tanh(z)"}


def student(layer, kind=BlockBulk, *, readout_ratio=2.0, width_ratio=1.0):
    spike = spike_of(SIN, TANH, layer, batch_ratio=5.0, step_size=3.0)
    f = fields(SIN, TANH, layer, spike, row_norms=False, level=1)
    return kind(f, width_ratio, readout_ratio)


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0, 1.0]])
def test_equal_values_are_one_value(values):
    one = student(readout_law("ones"), Bulk)
    same = student(ReadoutLaw(np.array(values), np.full(len(values), 1 / len(values))))
    x = np.array([0.05, 0.4, 1.2, 3.0, 100.0])
    # The height above the axis, 1e-7 of the bound, is what is left.
    assert same.transform(x)[0] == pytest.approx(one.transform(x)[0], rel=2e-5)
    assert same.edges()[1] == pytest.approx(one.edges()[1], rel=1e-3)
    (top,), (expected,) = same.outliers(2000.0, 0.0, 2.0), one.outliers(2000.0, 0.0, 2.0)
    assert top == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("readout_ratio", "width_ratio"), [(2.0, 1.0), (0.8, 1.5), (3.0, 0.4)])
def test_moments_have_their_closed_forms(readout_ratio, width_ratio):
    r"""With s_j = c_j mu_1^j^2 + mu_2^j^2, E over kappa and shares pi they are sum pi_j E[s_j] and

    sum pi_j (E s_j)^2 + beta sum pi_j pi_l c_j c_l E[mu_1^j mu_1^l]^2 + (p/n) E[(sum pi_j s_j)^2].
    """
    layer = ReadoutLaw(np.array([0.5, 1.0, 2.5]), np.array([0.5, 0.3, 0.2]))
    bulk = student(layer, readout_ratio=readout_ratio, width_ratio=width_ratio)
    low, high, _ = bulk.edges()
    angle = np.linspace(0, math.pi, 801)[1:-1]
    x = low + (high - low) * (1 - np.cos(angle)) / 2
    mass = bulk.density(x) * np.sin(angle) * (high - low) / 2 * (angle[1] - angle[0])
    f, pi = bulk.fields, layer.shares
    s = f.scales[:, None] * f.slope**2 + f.rest
    both = (f.slope * f.weights) @ f.slope.T * np.sqrt(np.outer(f.scales, f.scales))
    square = pi @ (s @ f.weights) ** 2 + width_ratio * pi @ both**2 @ pi
    square += width_ratio / readout_ratio * (f.weights @ (pi @ s) ** 2)
    assert mass.sum() + bulk.zeros == pytest.approx(1, abs=2e-3)
    assert mass @ x == pytest.approx(pi @ (s @ f.weights), rel=1e-4)
    assert mass @ x**2 == pytest.approx(square, rel=1e-4)


def test_signs_are_ones_for_an_odd_activation():
    assert _layer("signs", TANH, 1).values.tolist() == [1.0]
    assert _layer("signs", Activation("relu(z)"), 1).values.tolist() == [-1.0, 1.0]
    gaussian = _layer("gaussian", TANH, 2)
    assert gaussian.shares @ gaussian.values**2 == pytest.approx(1, abs=2e-3)
    assert gaussian.shares @ gaussian.values == pytest.approx(math.sqrt(2 / math.pi), abs=2e-3)


def test_a_target_with_a_jump_has_an_outlier():
    """A large batch, whose kinks need nodes of their own: about width times E[mu_0^2]."""
    found = gd.predict(
        "sign(z)", "feature_spectrum", readout_ratio=2.0, batch_ratio=1e6, step_size=2.0,
        activation="tanh(z)", width=1000,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    r = 2.0 * 0.6057055 * math.sqrt(2 / math.pi)
    kappa, z = rng.standard_normal((2, 4000))
    means = np.tanh(r * kappa[:, None] + z).mean(axis=1)
    expected = 1000 * np.mean(means**2)
    assert found.largest_eigenvalue.sel(step=1).item() == pytest.approx(expected, rel=0.1)


def quantile_gaps(rng, readout, values, step, d=400):
    """Largest gap of the distribution functions of a real step and of the theory, and the top."""
    theory = gd.predict(
        "sin(z)", "feature_spectrum", step_size=step, readout=readout, width=d, **SETTING
    )
    theory = theory.isel(readout_ratio=0, step=1)
    W = giant_step(rng, sphere_rows(rng, d, d), values, "tanh(z)", np.sin, 0.0, 8 * d, step)
    F = np.tanh(rng.standard_normal((2 * d, d)) @ W.T)
    found = np.linalg.eigvalsh(F.T @ F / (2 * d))
    count = d - int(theory.outliers)
    expected = np.interp(found[:count], theory.eigenvalue, theory.share_below)
    gap = np.abs(expected - np.arange(1, count + 1) / d).max()
    return gap, found[-1] / theory.largest_eigenvalue.item(), theory, found


@pytest.mark.stat
def test_spectrum_of_a_real_step_with_two_values(rng):
    """Would catch: the bulk of one value, 0.03 away, or of rows of equal norm."""
    values = np.repeat([0.5, 2.0], 200)
    gap, top, _, _ = quantile_gaps(rng, {0.5: 0.5, 2.0: 0.5}, values, 3.0)
    assert gap < 2 * math.log(400) / 400
    assert top == pytest.approx(1, abs=6 / math.sqrt(400))


@pytest.mark.slow
def test_spectrum_of_a_real_step_with_a_gaussian_second_layer(rng):
    gap, top, theory, found = quantile_gaps(rng, "gaussian", rng.standard_normal(400), 6.0)
    assert gap < 2 * math.log(400) / 400
    assert top == pytest.approx(1, abs=6 / math.sqrt(400))
    assert theory.outliers.item() == 2
    assert found[-3] < 1.1 * theory.edge.item() < found[-2]
