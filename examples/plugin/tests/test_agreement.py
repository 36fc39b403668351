"""Theory against simulation: they share no code."""

import numpy as np

import gradone as gd


def test_the_cosine_is_that_of_the_formula():
    """At two values of n/d, with label noise."""
    target, alpha = gd.Target("tanh(z)", noise=0.25), [0.5, 2.0]
    theory = gd.predict(target, "first_gradient", alpha=alpha).cosine2.values[:, 0]
    runs = gd.simulate(target, "first_gradient", d=300, alpha=alpha, replicates=24, progress=False)
    found = runs.cosine2.values[..., 0]
    error = found.std(axis=1, ddof=1) / np.sqrt(24)
    # 6.7 standard errors are exceeded once in a million; corrections are of order 1/d.
    assert (np.abs(found.mean(axis=1) - theory) < 6.7 * error + 1 / 300).all()
