r"""
Energies and noise stability
============================

The energies :math:`W_k` of a target decide what each degree of it costs to learn. Mehler's formula
gives an independent check: correlate two inputs, :math:`z_\rho = \rho z + \sqrt{1-\rho^2}\,z'`, and

.. math:: S(\rho) = \mathbb{E}[g(z)\,g(z_\rho)] = \sum_k W_k\,\rho^k .

The lines are the right-hand side with energies from quadrature, the points the left-hand side from
a plain simulation that knows nothing of Hermite polynomials. The flat start of the 3-parity is its
missing linear and quadratic part: it begins as :math:`(2\rho/\pi)^3`.
"""

import numpy as np
from matplotlib.figure import Figure

import gradone as gd
from gradone.base.seeds import stream

TARGETS = {
    "relu(z1)": "#E69F00",
    "z1 + tanh(z1*z2)": "#009E73",
    "sign(z1*z2*z3)": "#0072B2",
}
DEGREE, SAMPLES, REPLICATES = 12, 1000, 16

# %%
# Quadrature gives the energies up to degree 12 and the sum of all higher ones. This rest enters the
# series at unknown degrees above 12, so it contributes between 0 and ``tail * rho**13``, which is
# drawn as a band.
rho = np.linspace(0.0, 1.0, 101)
powers = rho ** np.arange(DEGREE + 1)[:, None]
expansions = {text: gd.Target(text).hermite(DEGREE) for text in TARGETS}

# %%
# The simulation draws independent pairs of inputs and measures the spread over replicates.
rho_simulated = np.linspace(0.05, 0.95, 10)


def noise_stability(target, rho, replicate):
    """Mean of g(z) g(z_rho) over fresh pairs."""
    rng = stream(0, "data", target=target.canonical, rho=rho, replicate=replicate)
    z, other = rng.standard_normal((2, SAMPLES, target.r))
    return float(np.mean(target(z) * target(rho * z + np.sqrt(1 - rho**2) * other)))


# %%
# The picture shows theory and simulation together.
figure = Figure(figsize=(9.0, 3.8), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.3])
for shift, (text, color) in enumerate(TARGETS.items()):
    target, expansion = gd.Target(text), expansions[text]
    energies = np.array([energy.value for energy in expansion.energies])
    degrees = np.arange(DEGREE + 1) + 0.27 * (shift - 1)
    left.bar(degrees, energies, width=0.25, color=color)

    series = energies @ powers
    right.plot(rho, series, color=color, label=text)
    right.fill_between(
        rho, series, series + expansion.tail.value * rho ** (DEGREE + 1), color=color, alpha=0.25
    )
    runs = np.array(
        [[noise_stability(target, x, i) for i in range(REPLICATES)] for x in rho_simulated]
    )
    error = 2.95 * runs.std(axis=1, ddof=1) / np.sqrt(REPLICATES)  # 99 %, 15 degrees of freedom
    right.errorbar(
        rho_simulated, runs.mean(axis=1), error, fmt="o", ms=4, color=color, capsize=2, lw=1
    )
left.set(xlabel="degree $k$", ylabel="energy $W_k$", xticks=range(0, DEGREE + 1, 2))
left.set_title("energies by quadrature", fontsize=10)
right.set(xlabel=r"correlation $\rho$", ylabel=r"noise stability $S(\rho)$")
right.set_title("series of the energies (lines), simulation (points)", fontsize=10)
right.legend(frameon=False, loc="upper left")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# The errors of the quadrature are too small to draw:
for text, expansion in expansions.items():
    print(f"{text:18} W_3 = {expansion.energy(3)}")
