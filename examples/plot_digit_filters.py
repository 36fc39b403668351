r"""
Layers of filters on digits
===========================

A layer can be found without training: random features :math:`\sigma(Wh)` of the layer below are
projected on the eigenvectors of their covariance weighted by the label,

.. math:: M = \frac1n \sum_\mu y_\mu\,\sigma(Wh_\mu)\,\sigma(Wh_\mu)^\top,

whose eigenvalues lie furthest outside of the bulk. Here the label says whether a digit is odd. What
to see: about ten eigenvalues leave the bulk that labels in random order would have (the dotted
line), in every layer; a linear fit is right more often after each layer; and the filters of the
first layer are strokes that tell odd from even.
"""

import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from gradone.learners import NeuralLoFiClassifier

# %%
# The images have 8 by 8 pixels, some of which never vary; the learner says so and leaves them out.
X, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digits))
fit, new = order[:1200], order[1200:]
odd = digits % 2
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    learner = NeuralLoFiClassifier(3, n_features=600, random_state=0).fit(X[fit], odd[fit])
print(learner.diagnosis_)
print(f"accuracy on {len(new)} fresh images: {learner.score(X[new], odd[new]):.3f}")

# %%
# With labels in random order nothing predicts, and no layer is kept.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    shuffled = np.random.default_rng(1).permutation(odd[fit])
    null = NeuralLoFiClassifier(3, n_features=600, random_state=0).fit(X[fit], shuffled)
print(f"labels in random order: {null.n_layers_} layers. {null.diagnosis_}")

# %%
# Spectra, probes and filters.
figure = Figure(figsize=(9.0, 5.4), layout="constrained")
spectrum, probe, *pictures = figure.subplots(2, 3).ravel()
for layer, (ratios, color) in enumerate(
    zip(learner.ratios_, ("#0072B2", "#D55E00", "#009E73"), strict=False), start=1
):
    heights = np.sort(ratios[0])[::-1]
    places = np.arange(1, len(heights) + 1)
    spectrum.semilogx(places, heights, ".", color=color, label=f"layer {layer}")
spectrum.axhline(1.0, color="gray", linestyle=":", label="end of the bulk")
spectrum.set(xlabel="place", ylabel="eigenvalue over end of the bulk")
spectrum.legend(frameon=False)

depths = np.arange(len(learner.probe_scores_))
probe.plot(depths, learner.probe_scores_, "o", color="#0072B2", label="linear fit")
probe.axhline(learner.validation_accuracy_, color="gray", linestyle="--", label="whole readout")
probe.set(xlabel="layer", ylabel="accuracy on rows held out", xticks=depths)
probe.legend(frameon=False)

for number, picture in enumerate(pictures, start=1):
    image = learner.weights_[number].reshape(8, 8)  # 0 is the filter of first order
    size = np.abs(image).max()
    picture.imshow(image, cmap="RdBu_r", vmin=-size, vmax=size)
    picture.set(title=f"filter {number}", xticks=[], yticks=[])
