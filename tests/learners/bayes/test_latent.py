"""Message passing with latent noise inside the label."""

import math

import numpy as np
import pytest

import gradone as gd
from gradone.learners import BayesAMP


@pytest.mark.stat
def test_message_passing_on_probit_labels_reaches_its_state_evolution():
    """D = 1/2, alpha = 2: overlap 0.5244. Would catch: noise left out (0.646), gbar for y."""
    target, d, runs = gd.Target("sign(z + sqrt(0.5)*xi)"), 1000, 12
    found = []
    for k in range(runs):
        sample = target.sample(2 * d, d, replicate=k)
        learner = BayesAMP(channel=target, random_state=k).fit(sample.X, sample.y)
        found.append((learner.directions_ @ sample.W_star.T).item())
    error = np.std(found, ddof=1) / math.sqrt(runs)
    assert abs(np.mean(found) - 0.52435609) < 8.8 * error  # t-quantile of 1e-6 for 12 runs
    assert error < 0.01
