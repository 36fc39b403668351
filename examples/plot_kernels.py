r"""
Kernels of random features
==========================

A network with many random neurons :math:`\sigma(\langle w, x\rangle)` is a kernel machine with

.. math:: K(\rho) = \mathbb{E}[\sigma(u)\,\sigma(v)], \qquad
          \mathbb{E}[u^2] = \mathbb{E}[v^2] = 1, \quad \mathbb{E}[uv] = \rho,

where :math:`\rho` is the cosine of the angle between two inputs. Three kernels have names: that of
``relu`` is the arc-cosine kernel, those of ``erf`` and ``sign`` are arcsine laws. ``tanh`` has no
closed form. The lines are bivariate quadrature, split at the kinks; the points are simulated with
random weights at width 100; their spread shrinks as one over the root of the width.
"""

import numpy as np
from matplotlib.figure import Figure

from gradone.base.seeds import stream
from gradone.targets.activation import Activation

ACTIVATIONS = {
    "relu(z)": "#E69F00",
    "erf(z)": "#009E73",
    "tanh(z)": "#CC79A7",
    "sign(z)": "#0072B2",
}
CLOSED_FORMS = {
    "relu(z)": lambda c: (np.sqrt(1 - c**2) + (np.pi - np.arccos(c)) * c) / (2 * np.pi),
    "erf(z)": lambda c: 2 / np.pi * np.arcsin(2 * c / 3),
    "sign(z)": lambda c: 2 / np.pi * np.arcsin(c),
}
D, WIDTH, REPLICATES = 50, 100, 50

# %%
# The theory is one bivariate mean for each correlation, and meets the closed forms.
rho = -np.cos(np.linspace(0.0, np.pi, 41))  # dense at the ends, where sign is steep
curves = {}
for text in ACTIVATIONS:
    activation = Activation(text)
    curves[text] = [activation.covariance_with(activation, float(c)) for c in rho]
for text, exact in CLOSED_FORMS.items():
    gap = max(abs(e.value - exact(c)) for e, c in zip(curves[text], rho, strict=True))
    error = max(e.error for e in curves[text])
    print(
        f"{text:8} largest distance to the closed form {gap:.0e}, largest error stated {error:.0e}"
    )

# %%
# The simulation has two unit vectors at a given angle in dimension 50, and Gaussian weights.
rho_simulated = np.linspace(-0.9, 0.9, 10)


def simulated_kernel(activation, rho, replicate):
    """Mean of the product of two features over the neurons of one random layer."""
    rng = stream(0, "init", rho=rho, replicate=replicate)
    first, other = np.linalg.qr(rng.standard_normal((D, 2)))[0].T
    second = rho * first + np.sqrt(1 - rho**2) * other
    weights = rng.standard_normal((WIDTH, D))
    return float(np.mean(activation(weights @ first) * activation(weights @ second)))


# %%
# The picture shows both. The bars are 99 % intervals of the mean over 50 draws of the weights.
figure = Figure(figsize=(6.4, 4.0), layout="constrained")
ax = figure.subplots()
for text, color in ACTIVATIONS.items():
    activation = Activation(text)
    ax.plot(rho, [e.value for e in curves[text]], color=color, label=text)
    runs = np.array(
        [[simulated_kernel(activation, c, i) for i in range(REPLICATES)] for c in rho_simulated]
    )
    error = 2.68 * runs.std(axis=1, ddof=1) / np.sqrt(REPLICATES)
    ax.errorbar(
        rho_simulated, runs.mean(axis=1), error, fmt="o", ms=4, color=color, capsize=2, lw=1
    )
ax.set(xlabel=r"correlation $\rho$", ylabel=r"kernel $K(\rho)$")
ax.set_title("quadrature (lines), random features (points)", fontsize=10)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
