r"""
Weak recovery above its threshold
=================================

How much data does an even target need before any efficient method sees its direction?
:func:`gradone.analyze` answers with a number: with :math:`G(y) = \mathbb{E}[z^2 - 1 \mid y]`,

.. math:: \alpha_c = \frac{1}{\mathbb{E}[G(y)^2]}, \qquad \alpha = n/d .

The spectral method that reaches it takes the leading eigenvector of
:math:`\frac1n\sum_i T(y_i)\,x_i x_i^\top` with :math:`T = G/(1+G)`. The points are its squared
overlap with the hidden direction in dimension 500, the vertical lines are the thresholds, the
curves what the theory of such matrices predicts at large d. For both targets the overlap leaves
its chance value 1/d at the line, up to a rounding that shrinks as d grows; the binary label says
less about :math:`z`, so it needs almost twice as much data.
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.sparse.linalg import eigsh

import gradone as gd

D, REPLICATES = 500, 5
ALPHAS = np.array([0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5])

# %%
# :math:`G(y)` of the two targets. For :math:`y = z^2` it is :math:`y - 1`. For the binary label it
# is the mean of :math:`z^2 - 1` inside or outside of [-1, 1]: the two integrals of
# :math:`(z^2-1)\varphi` differ in sign only, because the whole of it is 0.
z = (np.arange(200_000) + 0.5) / 20_000  # z > 0 is enough: everything here is even
weight = np.exp(-(z**2) / 2) / np.sum(np.exp(-(z**2) / 2))
outside = z > 1
mean_outside = np.sum((weight * (z**2 - 1))[outside])
share = np.sum(weight[outside])


def square(y):
    """E[z^2 - 1 | y] for y = z^2."""
    return y - 1


def binary(y):
    """E[z^2 - 1 | y] for y = 1[|z| > 1]."""
    return np.where(y > 0.5, mean_outside / share, -mean_outside / (1 - share))


TARGETS = {
    "z**2": (square, "#0072B2"),
    "step(abs(z) - 1)": (binary, "#E69F00"),
}

# %%
# The weights :math:`T`. Labels :math:`y = z^2` near 0 would weigh without bound; cutting them off
# makes the eigenvector easier to find, and moves the threshold by less than 3 %.


def weights(g):
    """T = G / (1 + G), not below -5."""
    return np.maximum(g / (1 + g), -5.0)


# %%
# In the simulation one sample serves all values of :math:`\alpha`, because a larger n extends a
# smaller one.


def overlaps(target, conditional, replicate):
    """Squared overlap of the leading eigenvector with the hidden direction, for each alpha."""
    sample = target.sample(n=int(ALPHAS[-1] * D), d=D, seed=0, replicate=replicate)
    weighted = sample.X * weights(conditional(sample.y))[:, None]
    found, matrix, start = [], np.zeros((D, D)), 0
    for stop in (ALPHAS * D).astype(int):
        matrix += weighted[start:stop].T @ sample.X[start:stop]
        _, top = eigsh(matrix, k=1, which="LA", v0=np.ones(D), tol=1e-3)
        found.append(float((sample.W_star[0] @ top[:, 0]) ** 2))
        start = stop
    return found


# %%
# In the theory of large d each :math:`w > 1` belongs to one :math:`\alpha`, and gives the squared
# overlap there; at :math:`w = 1` it vanishes, and :math:`1/\alpha` is :math:`\mathbb{E}[G^2]`.


def prediction(g):
    """Values of alpha, and the squared overlap at each of them; g holds G at the points z."""
    t, alphas, squares = weights(g), [], []
    for w in 1 + np.geomspace(1e-4, 30, 200):
        inverse = np.sum(weight * t * (z**2 - 1) / (w - t))
        lost = np.sum(weight * t**2 / (w - t) ** 2)
        gain = np.sum(weight * t**2 * (z**2 - 1) / (w - t) ** 2)
        alphas.append(1 / inverse)
        squares.append((inverse - lost) / (inverse + gain))
    return np.array(alphas), np.array(squares)


# %%
# The picture shows theory and simulation together.
figure = Figure(figsize=(7.2, 4.0), layout="constrained")
ax = figure.subplots()
for text, (conditional, color) in TARGETS.items():
    target = gd.Target(text)
    threshold = gd.analyze(target).weak_threshold
    alphas, squares = prediction(conditional(target(z[:, None])))
    ax.plot([0, *alphas], [0, *squares], color=color, label=f"{text}, theory")
    ax.axvline(float(threshold), ymax=0.7, color=color, ls="--", lw=1)
    runs = np.array([overlaps(target, conditional, i) for i in range(REPLICATES)])
    error = runs.std(axis=0, ddof=1) / np.sqrt(REPLICATES)
    label = f"{text}, d = {D}, mean of {REPLICATES}"
    style = {"fmt": "o", "ms": 4, "capsize": 2, "lw": 1}
    ax.errorbar(ALPHAS, runs.mean(axis=0), error, color=color, label=label, **style)
    print(f"{text:18} weak recovery above n/d = {threshold}")
ax.axhline(1 / D, color="0.6", lw=0.8)
ax.set(xlabel=r"$\alpha = n/d$", ylabel="squared overlap")
ax.set(xlim=(0, ALPHAS[-1] + 0.1), ylim=(0, 1))
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
