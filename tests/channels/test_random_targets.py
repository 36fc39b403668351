"""Averages and posteriors of single samples agree on targets that nobody chose.

Two general rules without common code: J from slices of labels, and the mean of products of the
output functions of single samples.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import gradone as gd
from gradone.base.seeds import stream
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.moments import total
from gradone.channels.samples.channel import SampleChannel

sys.path.insert(0, str(Path(__file__).parents[1] / "targets" / "language"))
from grammar import samples

SAMPLES = 1500
STANDARD_ERRORS = 2.6  # 99 %
ROUNDING = 1e-12  # entries that are exactly 0 differ by it


def drawn(count):
    """Targets of up to three directions, every second one with noise."""
    found = []
    for i, text in enumerate(samples(12 * count, seed=7, depth=3)):
        try:
            target = gd.Target(text, noise=0.1 * (i % 2))
            spread = float(np.std(target(stream(0, "test", i=i).standard_normal((500, target.r)))))
        except gd.GradoneError:
            continue
        if 0.05 < spread < 50:
            found.append(target)
    return found[:count]


def gap(target, i):
    """Largest difference of the two matrices J over what both state, at a random overlap matrix."""
    r, rng = target.r, stream(0, "test", target=target.text, i=i)
    Q, _ = np.linalg.qr(rng.standard_normal((r, r)))
    M = (Q * rng.uniform(0.1, 0.7, r)) @ Q.T
    omega = rng.standard_normal((SAMPLES, r)) @ np.linalg.cholesky(M).T
    V = np.eye(r) - M
    z = omega + rng.standard_normal((SAMPLES, r)) @ np.linalg.cholesky(V).T
    y = target(z) + np.sqrt(target.noise) * rng.standard_normal(SAMPLES)
    posterior = SampleChannel(target).posterior(y, omega, V)
    products = posterior.g[:, :, None] * posterior.g[:, None, :]
    spread = STANDARD_ERRORS * products.std(axis=0) / np.sqrt(SAMPLES)
    # A few samples may be refused, or have an error as large as what is known.
    poor = posterior.error > 0.1
    assert np.mean(poor) < 0.03, target
    spread += 2 * np.mean(posterior.error[~poor]) * np.sqrt(np.mean(products**2, axis=0))
    spread += np.mean(poor) * np.max(np.abs(products), axis=0)
    found, sources = ChannelAverages(target).estimate(M)
    allowed = total(sources).information + spread + ROUNDING
    return float(np.max(np.abs(found.information - products.mean(axis=0)) / allowed))


@pytest.mark.stat
def test_a_few_random_targets():
    assert max(gap(target, i) for i, target in enumerate(drawn(6))) < 3


@pytest.mark.slow
def test_sixty_random_targets():
    gaps = np.array([gap(target, i) for i, target in enumerate(drawn(60))])
    assert np.mean(gaps <= 1) >= 0.95
    assert gaps.max() < 3
