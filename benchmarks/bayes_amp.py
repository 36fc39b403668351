"""Speed of Bayes-AMP: an iteration against a plain channel, the channel against the products.

Run: python benchmarks/bayes_amp.py [--json FILE]. CPU times, best of 5, BLAS on one thread. Limits:
an iteration for sign(z1*z2) at d = 500, alpha = 3 at least 100 times faster than a channel of one
adaptive integral per sample and moment; at d = 2000, alpha = 4 the channel at most 1 (r = 2) or 10
(r = 3) times the two products with X.
"""

import argparse
import json
import math
import os
from pathlib import Path

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best
from scipy.integrate import quad

import gradone as gd
from gradone.channels import posterior_channel
from gradone.learners._callbacks import Step
from gradone.learners._standardize import standardization
from gradone.learners.bayes._amp_iteration import run_amp
from gradone.learners.bayes._products import StandardizedProducts

PARITY = gd.Target("sign(z1*z2)")
SHARES = {
    PARITY: 1.0,
    gd.Target("z1*z2", noise=0.1): 1.0,
    gd.Target("tanh(z1*z2) + 0.5*z3", noise=0.05): 10.0,
    gd.Target("z1**2 + sign(z1*z2*z3)"): 10.0,
    gd.Target("z1*z2*z3"): 10.0,
}
PLAIN_SAMPLES = 20
ITERATIONS = 10


def plain_posterior(y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> list[float]:
    """Moments of sign(z1 z2) = y, each by an adaptive integral over z1, split at the jump."""
    deviation, slope = math.sqrt(V[0, 0]), V[0, 1] / V[0, 0]
    rest = math.sqrt(V[1, 1] - V[0, 1] * slope)
    found = []
    for label, (a, b) in zip(y, omega, strict=True):

        def moments(x, a=a, b=b, label=label):
            """Mass, mean and second moment of z2 on its side, times the density of z1."""
            density = math.exp(-(((x - a) / deviation) ** 2) / 2) / (deviation * 2.5066282746)
            mean = b + slope * (x - a)
            side = label * (1.0 if x > 0 else -1.0)
            mass = math.erfc(-side * mean / (rest * math.sqrt(2))) / 2
            tail = side * rest * math.exp(-((mean / rest) ** 2) / 2) / 2.5066282746
            first = mean * mass + tail
            return density * mass, density * first, density * (mean * first + rest**2 * mass)

        integrands = (
            lambda x: moments(x)[0],
            lambda x: x * moments(x)[0],
            lambda x: moments(x)[1],
            lambda x: x * x * moments(x)[0],
            lambda x: x * moments(x)[1],
            lambda x: moments(x)[2],
        )
        low, high = min(a - 8 * deviation, -1.0), max(a + 8 * deviation, 1.0)
        found += [quad(f, low, 0)[0] + quad(f, 0, high)[0] for f in integrands]
    return found


def instance(target: gd.Target, *, d: int, alpha: float) -> tuple:
    """Products, labels, channel, and directions half way to the truth."""
    sample = target.sample(n=round(alpha * d), d=d, seed=0)
    products = StandardizedProducts(sample.X, standardization(sample.X, owner="benchmark"))
    noise = np.random.default_rng(0).standard_normal((d, target.r))
    W = 0.5 * (math.sqrt(d) * sample.W_star.T + noise)
    return products, sample.y, posterior_channel(target), W


def iteration_against_plain() -> dict[str, float]:
    """CPU seconds of one iteration, and of the plain channel for as many samples."""
    products, y, channel, W = instance(PARITY, d=500, alpha=3.0)
    omega, V = products.forward(W), 0.5 * np.eye(2) + 0.02
    some = slice(PLAIN_SAMPLES)
    ours = np.exp(channel.posterior(y[some], omega[some], V).log_z)
    np.testing.assert_allclose(plain_posterior(y[some], omega[some], V)[::6], ours, rtol=1e-3)

    def iterate() -> None:
        run_amp(
            products,
            y,
            channel,
            W=W,
            steps=map(Step, range(ITERATIONS)),
            damping=0.5,
            tol=1e-12,
            rng=np.random.default_rng(0),
        )

    seconds = interleaved_best(
        {"iteration": iterate, "plain": lambda: plain_posterior(y[some], omega[some], V)}
    )
    return {
        "iteration": seconds["iteration"] / ITERATIONS,
        "plain": seconds["plain"] * len(y) / PLAIN_SAMPLES,
    }


def channel_against_products(target: gd.Target) -> dict[str, float]:
    """CPU seconds of the channel and of the two products at d = 2000, alpha = 4."""
    products, y, channel, W = instance(target, d=2000, alpha=4.0)
    omega, V = products.forward(W), 0.5 * np.eye(target.r) + 0.02
    g = channel.posterior(y, omega, V).g
    return interleaved_best(
        {
            "channel": lambda: channel.posterior(y, omega, V),
            "products": lambda: (products.forward(W), products.backward(g)),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    file = parser.parse_args().json
    plain = iteration_against_plain()
    ratio = plain["plain"] / plain["iteration"]
    print(f"{'':32} {'ours':>10} {'compared':>10} {'ratio':>9}   limit")
    rows = [("iteration, plain channel", *plain.values(), ratio, ratio >= 100, ">= 100")]
    for target, limit in SHARES.items():
        seconds = channel_against_products(target)
        share = seconds["channel"] / seconds["products"]
        rows.append((target.text, *seconds.values(), share, share <= limit, f"<= {limit:g}"))
    for name, ours, other, value, ok, limit in rows:
        verdict = "ok" if ok else "TOO SLOW"
        print(
            f"{name:32} {1e3 * ours:7.2f} ms {1e3 * other:7.2f} ms {value:9.2f}   {limit} {verdict}"
        )
    keys = ("name", "seconds", "compared", "ratio", "ok", "limit")
    result = [dict(zip(keys, row, strict=True)) for row in rows]
    print(json.dumps(result))
    if file:
        file.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
