"""Targets with latent noise: their moments, their samples, their channel."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

import gradone as gd
from gradone.base.errors import BadData, OutOfRegime, TargetError
from gradone.targets.symmetries import label_symmetries

PROBIT = gd.Target("sign(z + sqrt(0.5)*xi)")


def test_probit_labels_have_their_closed_forms():
    """Variances and energies of the reference table, D = 1/2."""
    assert PROBIT.noise_variance.value == pytest.approx(0.5354409456, abs=1e-10)
    assert PROBIT.noise_variance.value == pytest.approx(
        1 - 2 / math.pi * math.asin(2 / 3), abs=1e-12
    )
    assert PROBIT.hermite(1).energy(1).value == pytest.approx(2 / math.pi / 1.5, abs=1e-12)
    assert PROBIT.variance.value == pytest.approx(1.0, abs=1e-12)
    assert (PROBIT.r, PROBIT.q) == (1, 1)


@pytest.mark.parametrize(
    "text", ["z*xi", "(z + xi/2)**2", "tanh(z1*z2 + 0.3*xi)", "relu(z1 + xi1) + z2*xi2"]
)
def test_variances_are_those_of_a_sample(text):
    """Would catch: noise variance without the label noise, or with E[y]^2 left in."""
    target = gd.Target(text, noise=0.3)
    n = 200_000
    z = np.random.default_rng(0).standard_normal((n, target.r))
    y = target.draw(z, np.random.default_rng(1))
    rest = (y - target.mean(z)) ** 2
    spread = rest.std() / math.sqrt(n)
    assert target.noise_variance.value == pytest.approx(rest.mean(), abs=5 * spread)
    inner = rest - 0.3 - target.conditional_variance(z)
    assert abs(inner.mean()) < 5 * inner.std() / math.sqrt(n)
    whole = (y - y.mean()) ** 2
    assert target.variance.value + 0.3 == pytest.approx(
        whole.mean(), abs=5 * whole.std() / math.sqrt(n)
    )
    if not target.regression.variables:
        return
    averaged = target.averaged
    assert (averaged.q, averaged.noise) == (0, target.noise_variance.value)
    assert np.allclose(averaged(z[:9]), target.mean(z[:9]))


def test_a_function_of_z_alone_does_not_exist():
    with pytest.raises(TargetError, match="depends on latent noise; use mean"):
        PROBIT([[0.3]])
    with pytest.raises(TargetError, match="depends on latent noise; use mean"):
        _ = PROBIT.expression
    with pytest.raises(BadData, match=r"xi must have the shape \(..., 1\)"):
        PROBIT([[0.3]], [[1.0, 2.0]])
    assert PROBIT([[0.3], [0.3]], [[1.0], [-1.0]]).tolist() == [1.0, -1.0]
    with pytest.raises(OutOfRegime, match="same mean for every z"):
        _ = gd.Target("z*xi").averaged


def test_samples_extend_and_chunks_are_the_same_rows():
    target, d = gd.Target("tanh(z1*z2 + xi1) + z1*xi2", noise=0.1), 300
    whole = target.sample(2000, d, seed=3)
    assert np.array_equal(target.sample(700, d, seed=3).y, whole.y[:700])
    parts = [part.y for part in target.stream(2000, d, chunk=333, seed=3)]
    assert np.array_equal(np.concatenate(parts), whole.y)
    assert not np.array_equal(target.sample(2000, d, seed=3, role="test").y, whole.y)
    plain = gd.Target("z1*z2").sample(2000, d, seed=3)
    assert np.array_equal(plain.X, whole.X)


def test_samples_follow_the_law():
    """Kolmogorov-Smirnov distance of the noise of z + z*xi, given z, from a Gaussian."""
    sample = gd.Target("z + z*xi").sample(4000, 50)
    z = sample.X @ sample.W_star[0]
    assert stats.kstest(sample.y / z - 1, "norm").pvalue > 1e-6
    realized = gd.Target("z + z*xi").realization(50)
    assert np.allclose(realized(sample.X), z)


def test_the_channel_is_the_probability_of_each_label():
    z = np.array([[-1.0], [0.2], [2.0]])
    log_p = PROBIT.channel.log_likelihood(np.ones(3), z)
    assert np.exp(log_p) == pytest.approx(ndtr(z[:, 0] / math.sqrt(0.5)), rel=1e-12)
    assert PROBIT.channel.kind == "discrete"
    assert [a.value for a in PROBIT.channel.atoms] == [-1.0, 1.0]
    with pytest.raises(OutOfRegime, match="latent noise"):
        gd.Target("tanh(z + xi)").channel.log_likelihood([0.1], [[0.3]])


def test_pickle_keeps_a_target():
    target = gd.Target("sign(z1*z2 + 0.3*xi)", noise=0.2)
    _ = target.regression
    again = pickle.loads(pickle.dumps(target))  # noqa: S301
    assert again == target
    assert np.array_equal(again.sample(5, 9).y, target.sample(5, 9).y)
    assert eval(repr(target), {"Target": gd.Target}) == target  # noqa: S307
    derived = pickle.loads(pickle.dumps(gd.Target("tanh(z + xi)").averaged))  # noqa: S301
    assert derived == gd.Target("tanh(z + xi)").averaged


@pytest.mark.parametrize(
    ("text", "order"),
    [("z*xi", 2), ("sign(z1*z2 + 0.3*xi)", 4), ("tanh(z + xi)", 1), ("tanh(z1*z2*xi)", 8)],
)
def test_symmetries_of_the_label_move_the_noise_with_the_directions(text, order):
    assert label_symmetries(gd.Target(text)).order == order


def test_symmetries_that_mix_directions_with_noise_are_refused():
    with pytest.raises(OutOfRegime, match="rotations mix"):
        label_symmetries(gd.Target("z1*xi1 + z2*xi2"))
