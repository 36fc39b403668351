"""Spectrum of the features: reference values, moments in closed form, direct simulation."""

import dataclasses
import math

import numpy as np
import pytest

import gradone as gd
from gradone.targets.activation import Activation
from gradone.theory.giant._one_step_readout import fields
from gradone.theory.giant._one_step_spike import spike_of
from gradone.theory.giant._readout_law import readout_law
from gradone.theory.giant._spectrum_solver import Bulk

from .direct_step import giant_step, sphere_rows

SIN, TANH = gd.Target("sin(z)"), Activation("tanh(z)")


def bulk_after(step, batch, *, readout_ratio=2.0, width_ratio=1.0, level=1):
    layer = readout_law("ones")
    spike = spike_of(SIN, TANH, layer, batch_ratio=batch, step_size=step)
    f = fields(SIN, TANH, layer, spike, row_norms=False, level=level)
    return Bulk(f, width_ratio, readout_ratio)


@pytest.mark.parametrize(("batch", "largest"), [(20.0, 275.6), (2.0, 330.4)])
def test_edges_and_outliers_of_the_reference(batch, largest):
    found = gd.predict(
        "sin(z)",
        "feature_spectrum",
        readout_ratio=2.0,
        batch_ratio=batch,
        step_size=3.0,
        activation="tanh(z)",
        width=1000,
    )
    before, after = found.edge.values.ravel()
    assert before == pytest.approx(2.09, abs=0.02)
    assert after == pytest.approx(1.45, abs=0.02)
    assert found.largest_eigenvalue.values.ravel() == pytest.approx([before, largest], abs=0.05)
    assert found.outliers.values.ravel().tolist() == [0, 1]
    assert found.edge_err.values.max() < 1e-6
    assert found.converged.values.all()


@pytest.mark.parametrize(("step", "edge", "even"), [(3.0, 1.448, 1.367), (6.0, 1.043, 0.862)])
def test_the_bulk_ends_later_than_that_of_even_samples(step, edge, even):
    """The reference's edges, where the density falls below a threshold, lie a little inside."""
    bulk = bulk_after(step, 20.0)
    f = bulk.fields
    slope = np.sqrt(np.full_like(f.slope, f.weights @ f.slope[0] ** 2))
    rest = np.full_like(f.rest, f.weights @ f.rest[0])
    same = Bulk(dataclasses.replace(f, slope=slope, rest=rest), 1.0, 2.0)
    assert bulk.edges()[1] == pytest.approx(edge, abs=0.01)
    assert same.edges()[1] == pytest.approx(even, abs=0.01)


def test_the_edge_of_linear_features_is_that_of_a_product_of_two_wishart_matrices():
    """(11 + 5 sqrt 5)/4 for p = d and n = 2 d; a linear step changes no bulk."""
    found = gd.predict(
        "sin(z)",
        "feature_spectrum",
        readout_ratio=2.0,
        batch_ratio=4.0,
        step_size=0.7,
        activation="z",
    )
    expected = (11 + 5 * math.sqrt(5)) / 4
    assert found.edge.values.ravel() == pytest.approx([expected, expected], abs=1e-7)


@pytest.mark.parametrize("step", [0.0, 1.5])
@pytest.mark.parametrize(
    ("readout_ratio", "width_ratio"), [(2.0, 1.0), (0.8, 1.5), (2.0, 10.0), (3.0, 0.4)]
)
def test_moments_have_their_closed_forms(step, readout_ratio, width_ratio):
    r"""Mean and mean square of the eigenvalues.

    With s = c mu_1^2 + mu_2^2 they are E[s] and
    (E mu_1^2)^2 c^2 (1 + beta) + 2 c E[mu_1^2] E[mu_2^2] + (E mu_2^2)^2 + (p/n) E[s^2].
    """
    bulk = bulk_after(step, 5.0, readout_ratio=readout_ratio, width_ratio=width_ratio)
    low, high, _ = bulk.edges()
    angle = np.linspace(0, math.pi, 4001)[1:-1]
    x = low + (high - low) * (1 - np.cos(angle)) / 2
    mass = bulk.density(x) * np.sin(angle) * (high - low) / 2 * (angle[1] - angle[0])
    f, c = bulk.fields, bulk.fields.scales.item()
    slope2, rest = f.slope[0] ** 2, f.rest[0]
    one, two = f.weights @ slope2, f.weights @ rest
    s = c * slope2 + rest
    square = (c * one) ** 2 * (1 + width_ratio) + 2 * c * one * two + two**2
    assert mass.sum() + bulk.zeros == pytest.approx(1, abs=3e-4)
    assert mass @ x == pytest.approx(f.weights @ s, rel=1e-5)
    expected = square + width_ratio / readout_ratio * (f.weights @ s**2)
    assert mass @ x**2 == pytest.approx(expected, rel=1e-5)


def test_the_transform_solves_its_equations_on_the_right_sheet():
    """The plain twin of the compiled kernel: the equations themselves, evaluated with NumPy."""
    bulk = bulk_after(3.0, 20.0, readout_ratio=1.2, width_ratio=0.8)
    x = np.array([0.05, 0.5, 1.5, 3.0, 200.0])
    tau, V1, change = bulk.transform(x)
    f, c, beta, rho = bulk.fields, bulk.fields.scales.item(), 0.8, 0.8 / 1.2
    D = 1 / (1 + V1[:, None] * f.slope[0] ** 2 + rho * tau[:, None] * f.rest[0])
    C1, C2 = D @ (f.weights * f.slope[0] ** 2), D @ (f.weights * f.rest[0])
    equation = c * beta * C1 * (C2 - x) * tau**2 + (C2 - x + c * C1 * (1 - beta)) * tau - 1
    assert np.abs(equation).max() < 1e-7
    assert np.abs(V1 * (1 + c * beta * C1 * tau) - rho * c * tau).max() < 1e-9
    assert change.max() < 1e-8
    assert (tau.imag > -1e-9).all()
    assert tau[-1].real == pytest.approx(-1 / 200, rel=0.01)


def test_the_share_below_counts_zero_eigenvalues():
    found = gd.predict(
        "sin(z)", "feature_spectrum", readout_ratio=0.5, batch_ratio=20.0, step_size=1.0,
        eigenvalue=[1e-4, 0.5, 10.0], activation="tanh(z)",
    )  # fmt: skip
    below = found.share_below.sel(step=0).values.ravel()
    assert below[0] == pytest.approx(0.5, abs=1e-3)
    assert below[2] == pytest.approx(1.0, abs=1e-3)
    assert 0.5 < below[1] < 1


def test_what_is_not_covered_is_refused():
    where = {"readout_ratio": 1.0, "batch_ratio": 1.0, "step_size": 1.0}
    with pytest.raises(gd.OutOfRegime, match="depends on 2 directions.*Theories that do"):
        gd.predict("z1*z2", "feature_spectrum", **where, activation="tanh(z)")
    with pytest.raises(gd.OutOfRegime, match="second spike.*Theories that do"):
        gd.predict("z + z**2", "feature_spectrum", activation="relu(z)", **where)
    with pytest.raises(gd.BadData, match="eigenvalue must be finite numbers > 0"):
        gd.predict("z", "feature_spectrum", eigenvalue=[-1.0, 1.0], **where, activation="tanh(z)")


def eigenvalues(rng, W, n):
    F = np.tanh(rng.standard_normal((n, W.shape[1])) @ W.T)
    return np.linalg.eigvalsh(F.T @ F / n)


@pytest.mark.stat
@pytest.mark.parametrize("batch", [20.0, 2.0])
def test_spectrum_of_a_real_step(rng, batch):
    """Largest distance of the distribution functions, before and after; the large outlier apart.

    Would catch: the moments before the step used after it (a distance of 0.1).
    """
    d, readout_ratio = 400, 2.0
    theory = gd.predict(
        "sin(z)",
        "feature_spectrum",
        readout_ratio=readout_ratio,
        batch_ratio=batch,
        step_size=3.0,
        width=d,
        activation="tanh(z)",
    )
    W = sphere_rows(rng, d, d)
    moved = giant_step(rng, W, np.ones(d), "tanh(z)", np.sin, 0.0, round(batch * d), 3.0)
    for step, rows in enumerate((W, moved)):
        values = eigenvalues(rng, rows, round(readout_ratio * d))
        one = theory.sel(step=step).squeeze()
        count = d - int(one.outliers)
        expected = np.interp(values[:count], one.eigenvalue, one.share_below)
        ranks = np.arange(1, count + 1) / count
        # Eigenvalues are rigid: fluctuations of order log(d)/d, and one of d is missing.
        assert np.abs(expected - ranks).max() < 2 * math.log(d) / d
    assert values[-1] == pytest.approx(one.largest_eigenvalue.item(), rel=6 / math.sqrt(d))


@pytest.mark.stat
def test_an_outlier_of_order_one(rng):
    """A step of the size 1/sqrt(width) makes an eigenvalue just outside the bulk."""
    d, readout_ratio, batch, step = 300, 2.0, 4.0, 0.25
    theory = gd.predict(
        "z",
        "feature_spectrum",
        readout_ratio=readout_ratio,
        batch_ratio=batch,
        step_size=step,
        width=d,
        activation="tanh(z)",
    ).sel(step=1)
    assert theory.outliers.item() == 1
    assert 1.2 * theory.edge.item() < theory.largest_eigenvalue.item() < 4 * theory.edge.item()
    tops = []
    for _ in range(12):
        W = giant_step(
            rng, sphere_rows(rng, d, d), np.ones(d), "tanh(z)", lambda z: z, 0.0, round(batch * d),
            step,
        )  # fmt: skip
        tops.append(eigenvalues(rng, W, round(readout_ratio * d))[-1])
    sem = np.std(tops, ddof=1) / math.sqrt(12)
    gap = abs(np.mean(tops) - theory.largest_eigenvalue.item())
    assert gap < 8.6 * sem + 10 / d * theory.largest_eigenvalue.item()
    assert np.mean(tops) - 8.6 * sem > theory.edge.item()
