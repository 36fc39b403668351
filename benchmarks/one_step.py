"""Speed of the theory of one giant step: one point, against a plain nested-quadrature solver.

Run: python benchmarks/one_step.py [--json FILE]. CPU times, best of several, BLAS on one thread.
The plain solver writes every expectation as an adaptive integral over kappa of adaptive integrals
over the feature's and the label's Gaussians, and iterates the published equations for one value of
the second layer to a relative change of 1e-4. Limits: 2 ms, and 500 times faster than that.
"""

import json
import math
import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options
from scipy.integrate import quad

import gradone as gd
from gradone.theory.giant._one_step_model import OneStep

ALPHA, BETA, RIDGE = 1.6, 1.0, 0.1
LIMIT, RATIO = 2e-3, 500.0


def gaussian(f):
    """Mean of a function of one standard normal variable."""
    density = 1 / math.sqrt(2 * math.pi)
    value, _ = quad(lambda z: f(z) * density * math.exp(-z * z / 2), -8, 8, epsrel=1e-6)
    return value


def plain(sigma, g, r, c, gamma):
    """Test error by nested quadrature, for one value of the second layer."""
    rho, ab, s_c, beta = math.sqrt(1 - gamma**2), ALPHA / BETA, math.sqrt(c), BETA

    def features(k):
        mu0 = gaussian(lambda z: sigma(r * k + s_c * z))
        mu1 = gaussian(lambda z: z * sigma(r * k + s_c * z)) / s_c
        square = gaussian(lambda z: sigma(r * k + s_c * z) ** 2)
        return mu0, mu1, square - mu0**2 - c * mu1**2

    def label(k):
        return (
            gaussian(lambda x: g(gamma * k + rho * x)),
            gaussian(lambda x: x * g(gamma * k + rho * x)),
            gaussian(lambda x: g(gamma * k + rho * x) ** 2),
        )

    V = [c / RIDGE, 1 / RIDGE]

    def mean(f):
        """Mean over kappa of f(kappa, mu0, mu1, mu2^2, D)."""

        def integrand(k):
            mu0, mu1, rest = features(k)
            return f(k, mu0, mu1, rest, 1 / (1 + mu1**2 * V[0] + rest * V[1]))

        return gaussian(integrand)

    change = 1.0
    while change > 1e-4:
        Vh1 = ab * mean(lambda k, a, b, e, D: b * b * D)
        Vh2 = ab * mean(lambda k, a, b, e, D: e * D)
        x = (RIDGE + Vh2) / Vh1
        b = x + c - c * beta
        s = 2 / (b + math.sqrt(b * b + 4 * c * beta * x))
        change = abs(s / Vh1 / V[1] - 1)
        V = [(1 - x * s) / Vh1, s / Vh1]
    ds = -(c * beta * s * s + s) / (2 * c * beta * x * s + b)
    Av = c * beta * V[1]
    cross = mean(lambda k, a, b, e, D: a * b * k * D)
    A = [
        [mean(lambda k, a, b, e, D: a * a * D), cross],
        [ab * Av * cross, 1 + ab * Av * mean(lambda k, a, b, e, D: b * b * k * k * D)],
    ]
    known = [
        mean(lambda k, a, b, e, D: a * label(k)[0] * D),
        ab * Av * mean(lambda k, a, b, e, D: b * k * label(k)[0] * D),
    ]
    m, zeta = np.linalg.solve(A, known)
    psih = ab * mean(lambda k, a, b, e, D: b * label(k)[1] * D)
    T = np.array([[1 - 2 * x * s - x * x * ds, s + x * ds], [s + x * ds, -ds]]) / Vh1**2

    def base(k, a, b):
        h, h1, hh = label(k)
        along = a * m + b * k * zeta
        return hh - 2 * along * h + along**2 - 2 * b * beta * V[0] * psih * h1

    both = mean(lambda k, a, b, e, D: b * b * e * D * D)
    gram = ab * np.array([
        [mean(lambda k, a, b, e, D: b**4 * D * D), both],
        [both, mean(lambda k, a, b, e, D: e * e * D * D)],
    ])  # fmt: skip
    drive = [
        ab * mean(lambda k, a, b, e, D: b * b * base(k, a, b) * D * D) + beta * psih**2,
        ab * mean(lambda k, a, b, e, D: e * base(k, a, b) * D * D) + c * beta * (zeta / Av) ** 2,
    ]
    q = np.linalg.solve(np.eye(2) - T @ gram, T @ drive)
    return mean(lambda k, a, b, e, D: base(k, a, b) + b * b * q[0] + e * q[1])


def main() -> None:
    arguments = options(__doc__).parse_args()
    target, activation = gd.Target("sin(z)"), gd.Activation("tanh(z)")
    where = {"readout_ratio": ALPHA, "width_ratio": BETA, "ridge": RIDGE, "width": math.inf}
    steps = iter(np.linspace(2.5, 3.5, 1000))

    def model(step):
        return OneStep(
            target, activation, readout="ones", variant="spiked", batch_ratio=20.0, step_size=step
        )

    alphas = np.linspace(0.2, 4.0, 60)

    def curve():
        return gd.predict(
            target,
            "one_step",
            readout_ratio=alphas,
            batch_ratio=20.0,
            step_size=3.0,
            activation="tanh(z)",
            readout="ones",
        )

    ready = model(3.0)
    ready.point(**where)
    curve()
    seconds = interleaved_best(
        {
            "point, step not seen before": lambda: model(next(steps)).point(**where),
            "point, step seen before": lambda: ready.point(**where),
        },
        repeats=7,
        calls=20,
    )
    seconds["point of a curve of 60"] = interleaved_best({"curve": curve})["curve"] / len(alphas)
    spike = ready.spike
    arguments_of_plain = math.tanh, math.sin, spike.strength, spike.scales.item(), spike.alignment
    found: list[float] = []
    slow = interleaved_best({"plain": lambda: found.append(plain(*arguments_of_plain))}, repeats=1)[
        "plain"
    ]
    gap = abs(found[0] - ready.point(**where).test)
    seconds["plain nested quadrature"] = slow
    for name, value in seconds.items():
        verdict = "baseline" if value == slow else "ok"
        if value != slow and not (value < LIMIT and slow / value > RATIO):
            verdict = "TOO SLOW"
        print(f"{name:40}{1e3 * value:12.3f} ms {slow / value:12.0f} x   {verdict}")
    print(f"the test errors differ by {gap:.1e}")
    result = {"seconds": seconds, "limit": LIMIT, "ratio": RATIO, "gap": gap}
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
