"""Random features: a frozen first layer with a ridge readout."""

from __future__ import annotations

from typing import Any

from ._card import ALGORITHMS, Algorithm, Slider, in_neurons
from ._run import Run


@ALGORITHMS.add("random_features")
class RandomFeaturesCard(Algorithm):
    """Ridge regression on random features; the plan has them in the row of kernels."""

    label, color, family = "random features", "orange", "lazy"
    theory = learner = "random_features"
    how = "Random features have width 2 d and ridge 1."
    # The ridge keeps the peak at n = width small.
    defaults = {"width_ratio": 2.0, "ridge": 1.0, "activation": "relu(z)"}
    sliders = (Slider("width_ratio", 0.1, 10.0, "width / d"), Slider("ridge", 1e-3, 10.0))
    at_once = True
    test_samples = 16384  # labels may have heavy tails, and a prediction is a matrix product

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """The width in neurons."""
        return in_neurons(self.chosen(run), run)
