"""Speed of the covariate model: one point of a learning curve with p = 600 features.

Run: python benchmarks/gaussian_covariates.py [--json FILE]. CPU times, best of 5, BLAS on one
thread. Limit: 30 ms for each loss, labels and errors included. The baseline is the plain iteration
of the fixed point of squares. Also the deterministic equivalents at 4000 levels (limit 30 ms too).
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options, report

import gradone as gd

P, N, RIDGE = 600, 800, 0.1


def plain(eigenvalues, weights, rho):
    """V = sum omega/(ridge + Vhat omega), Vhat = n/(1 + V), until V moves by less than 1e-9."""
    V = 1.0
    for _ in range(10_000):
        v_hat = N / (1 + V)
        new = float(np.sum(eigenvalues / (RIDGE + v_hat * eigenvalues)))
        if abs(new - V) < 1e-9 * new:
            break
        V = new
    kappa = RIDGE / v_hat
    missed = kappa / (eigenvalues + kappa)
    left = rho - weights.sum() + weights @ missed**2
    return left / (1 - np.sum((1 - missed) ** 2) / N)


def main() -> None:
    arguments = options(__doc__).parse_args()
    rng = np.random.default_rng(0)
    eigenvalues = 10 * np.arange(1, P + 1) ** -1.2
    coefficients = 0.3 * eigenvalues * rng.standard_normal(P)
    weights = coefficients**2 / eigenvalues
    model = {"eigenvalues": eigenvalues, "coefficients": coefficients, "rho": 1.2 * weights.sum()}
    levels = gd.theory.power_law(capacity=1.5, source=0.4, terms=4000)

    def point(loss):
        return gd.theory.gaussian_covariates(**model, n=N, ridge=RIDGE, loss=loss)

    jobs = {
        "plain iteration, square": lambda: plain(eigenvalues, weights, model["rho"]),
        "square": lambda: point("square"),
        "huber": lambda: point("huber"),
        "logistic": lambda: point("logistic"),
        "hinge": lambda: point("hinge"),
        "random features, 4000 levels": lambda: gd.theory.random_feature_ridge(
            **levels, n=300, width=200, ridge=0.01, noise=0.1
        ),
    }
    for job in jobs.values():  # compiles
        job()
    gap = abs(point("square").test_mse.item() / jobs["plain iteration, square"]() - 1)
    seconds = interleaved_best(jobs)
    report(
        seconds,
        baseline="plain iteration, square",
        limit=0.03,
        file=arguments.json,
        relative_difference=gap,
    )


if __name__ == "__main__":
    main()
