"""Targets with true values that were derived without the package.

A case is (kind, text, noise, number, truth): the threshold of stage `number` of the grand
staircase, the strength of the statistical query of order `number`, or the Hermite energy of degree
`number`. Truths are functions, called when the case is run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import norms_and_products as norms
import one_variable as line
import signs_and_sums as sums
from integration import PI, Number, integral, phi
from rotations import in_other_coordinates, rotation, small_rotation


class Case(NamedTuple):
    """One number of one target."""

    kind: str
    text: str
    noise: float
    number: int
    truth: Callable[[], Number]

    @property
    def name(self) -> str:
        """For lists of failures."""
        noise = f" + noise {self.noise}" if self.noise else ""
        return f"{self.kind} {self.number} of {self.text[:60]}{noise}"


def threshold(text: str, stage: int, truth, noise: float = 0.0) -> Case:
    return Case("threshold", text, noise, stage, _callable(truth))


def strength(text: str, order: int, truth, noise: float = 0.0) -> Case:
    return Case("strength", text, noise, order, _callable(truth))


def energy(text: str, degree: int, truth) -> Case:
    return Case("energy", text, 0.0, degree, _callable(truth))


def _callable(truth) -> Callable[[], Number]:
    return truth if callable(truth) else (lambda: Number(truth, 1e-9 * abs(truth) + 1e-15))


def easy(moment: Number) -> Number:
    """Threshold 1/E[(z^2 - 1|y)^2] from the moment of unit norm."""
    return Number(2 * moment.value, 2 * moment.error).inverse()


def turned(text: str, r: int, seed: int) -> str:
    return in_other_coordinates(text, rotation(r, seed))


def tilted(text: str, r: int) -> str:
    return in_other_coordinates(text, small_rotation(r, 0.01))


def scaled(text: str, r: int, factor: float) -> str:
    return in_other_coordinates(text, factor * np.eye(r))


PARITY = PI**2 / 4
FORM = norms.principal_axes([[1.0, 0.15], [0.15, -2.0]])  # z1^2 - 2 z2^2 + 0.3 z1 z2
SIGN_OF_FORM = "sign(z1**2 - 2*z2**2 + 0.3*z1*z2 - 0.5)"
ONE = norms.principal_axes([[1.0, 0.5], [0.5, 0.0]])  # z1^2 + z1 z2

ONE_VARIABLE = [
    # any function of |z| that increases: |z| is known, E[(z^2 - 1)^2] = 2
    *(threshold(t, 0, 0.5) for t in ("z1**2", "abs(z1)", "exp(-z1**2)", "z1**4", "cos(z1/9)")),
    threshold("He4(z1)", 0, lambda: easy(line.polynomial_moments([1, 0, -6, 0, 3], 2)[0])),
    threshold(
        "He6(z1)", 0, lambda: easy(line.polynomial_moments([1, 0, -15, 0, 45, 0, -15], 2)[0])
    ),
    threshold("z1**4 - 2*z1**2", 0, lambda: easy(line.polynomial_moments([1, 0, -2, 0, 0], 2)[0])),
    threshold("step(abs(z1) - 1)", 0, 1 / line.window_strength(1.0)),
    threshold("step(abs(z1) - 0.3)", 0, 1 / line.window_strength(0.3)),
    threshold("cos(2*z1)", 0, lambda: easy(line.wave_moments(2.0, 2, even=True))),
    threshold("cos(3*z1)", 0, lambda: easy(line.wave_moments(3.0, 2, even=True))),
    # |z| is known outside the window, an atom inside: c = E[z^2 - 1; |z| < 1] = -2 phi(1)
    threshold(
        "relu(z1**2 - 1)",
        0,
        lambda: Number(
            integral(lambda z: 2 * (z * z - 1) ** 2 * float(phi(z)), 1.0, 9.0).value
            + (2 * float(phi(1.0))) ** 2 / (2 * float(ndtr(1.0)) - 1),
            1e-9,
        ).inverse(),
    ),
    threshold(
        "min(z1**2, 2)",
        0,
        lambda: Number(
            integral(lambda z: 2 * (z * z - 1) ** 2 * float(phi(z)), 0.0, 2**0.5).value
            + 8 * float(phi(2**0.5)) ** 2 / (2 * float(ndtr(-(2**0.5)))),
            1e-9,
        ).inverse(),
    ),
    *(
        threshold(
            "z1**2", 0, lambda v=v: easy(line.noisy_line_moments(np.square, v, 2)[0]), noise=v
        )
        for v in (0.1, 1.0, 5.0)
    ),
    threshold(
        "abs(z1)",
        0,
        lambda: easy(line.noisy_line_moments(np.abs, 0.3, 2, kinks=[0.0])[0]),
        noise=0.3,
    ),
    threshold(
        "cos(2*z1)",
        0,
        lambda: easy(line.noisy_line_moments(lambda z: np.cos(2 * z), 0.1, 2)[0]),
        noise=0.1,
    ),
    threshold(
        "step(abs(z1) - 1)",
        0,
        lambda: easy(line.noisy_line_moments(lambda z: 1.0 * (abs(z) > 1), 0.5, 2)[0]),
        noise=0.5,
    ),
    threshold("0.6*z1*z1 + 1.6*z1*z2 + 16*z2*z2/15", 0, 0.5),  # 0.6 (z1 + 4 z2/3)^2
    strength("He3(z1)", 1, lambda: line.polynomial_moments([1, 0, -3, 0], 1)[0]),
    strength("He5(z1)", 1, lambda: line.polynomial_moments([1, 0, -10, 0, 15, 0], 1)[0]),
    strength("z1**3 - z1", 1, lambda: line.polynomial_moments([1, 0, -1, 0], 1)[0]),
    strength("z1**2 + z1", 1, lambda: line.polynomial_moments([1, 1, 0], 1)[0]),
    strength("abs(z1 - 1)", 1, lambda: line.polynomial_moments([1, -2, 1], 1)[0]),
    strength("sign(z1)", 1, 2 / PI),
    strength("relu(z1)", 1, 0.5 + 1 / PI),  # known for z > 0; atom of mean -sqrt(2/pi)
    strength("step(z1 - 1)", 1, float(phi(1.0) ** 2 / ndtr(1.0) / ndtr(-1.0))),
    strength(
        "max(-1, min(1, z1))",
        1,
        float(2 * ndtr(1.0) - 1 - 2 * phi(1.0) + 2 * phi(1.0) ** 2 / ndtr(-1.0)),
    ),
    strength("z1**2*exp(-z1**2)", 4, line.bump_fourth_moment),
    strength("sin(z1)", 1, lambda: line.wave_moments(1.0, 1, even=False)),
    strength("sin(3*z1)", 1, lambda: line.wave_moments(3.0, 1, even=False)),
    strength("sin(3*z1)", 3, lambda: line.wave_moments(3.0, 3, even=False)),
    strength("z1", 1, 1 / 1.7, noise=0.7),
    strength(
        "sign(z1)", 1, lambda: Number(2 / PI * sums.noisy_sign_factor(0.5).value, 1e-9), noise=0.5
    ),
    strength("tanh(z1)", 1, lambda: line.noisy_line_moments(np.tanh, 0.1, 1)[0], noise=0.1),
    strength("z1**3", 1, lambda: line.noisy_line_moments(lambda z: z**3, 1.0, 1)[0], noise=1.0),
    strength(
        "relu(z1)",
        1,
        lambda: line.noisy_line_moments(lambda z: np.maximum(z, 0), 0.2, 1, kinks=[0.0])[0],
        noise=0.2,
    ),
]

TWO_VARIABLES = [
    *(threshold(t, 0, norms.product_of_two) for t in ("z1*z2", "tanh(z1*z2)", "z1**2 - z2**2")),
    threshold("(z1 + 0.5*z2)*(0.5*z1 - z2)", 0, norms.product_of_two),
    *(
        threshold("z1*z2", 0, lambda v=v: norms.product_of_two(v), noise=v)
        for v in (0.001, 0.01, 0.1, 1.0)
    ),
    threshold("tanh(z1*z2)", 0, lambda: norms.seen_product(np.tanh, 0.05, -1.0, 1.0), noise=0.05),
    threshold("z1**2 + z1*z2", 0, lambda: min(norms.indefinite_form(ONE[1], -ONE[0]))),
    threshold("z1**2 - 3*z2**2", 0, lambda: min(norms.indefinite_form(1.0, 3.0))),
    threshold("z1**2 + z2**2", 0, 1.0),
    threshold("exp(-(z1**2 + z2**2)/2)", 0, 1.0),
    threshold("z1**2 + z2**2", 0, lambda: norms.noisy_norm(2, 0.2), noise=0.2),
    threshold("sign(z1**2 + z2**2 - 1)", 0, 4 * (math.exp(0.5) - 1)),
    # t = |z|^2/2: E[(t - 1)^2; t < 1/2] = 1 - 5/4 e^{-1/2}; the atom adds e^{-1/2}/4
    threshold("relu(1 - z1**2 - z2**2)", 0, 1 / (1 - math.exp(-0.5))),
    threshold("z1**2 + 2*z2**2", 0, lambda: norms.quadratic_form(1.0, 2.0)),
    threshold("z1**2 + 2*z2**2", 1, lambda: norms.quadratic_form(1.0, 2.0)),  # alone 1/2
    threshold(
        "z1**2 + 3*z2**2 + z1*z2",
        1,
        lambda: norms.quadratic_form(*norms.principal_axes([[1.0, 0.5], [0.5, 3.0]])),
    ),
    threshold(
        "tanh(z1**2 + 2*z2**2 + 0.7*z1*z2)",
        0,
        lambda: norms.quadratic_form(*norms.principal_axes([[1.0, 0.35], [0.35, 2.0]])),
    ),
    threshold("sign(z1*z2)", 0, PARITY),
    *(
        threshold(
            "sign(z1*z2)",
            0,
            lambda v=v: Number(PARITY / sums.noisy_sign_factor(v).value, 1e-8),
            noise=v,
        )
        for v in (0.2, 1.0, 5.0)
    ),
    threshold("sign(z1)*z2", 0, sums.sign_times_line),
    threshold(SIGN_OF_FORM, 0, lambda: min(norms.quadratic_sign(FORM[1], -FORM[0], 0.5)[:2])),
    threshold(SIGN_OF_FORM, 1, lambda: norms.quadratic_sign(FORM[1], -FORM[0], 0.5)[2]),
    threshold(
        SIGN_OF_FORM, 1, lambda: norms.noisy_quadratic_sign(FORM[1], -FORM[0], 0.5, 0.5), noise=0.5
    ),
    threshold("step(z1*z2 - 1)", 0, lambda: norms.quadratic_sign(0.5, 0.5, 1.0)[0]),
    threshold("step(z1*z2 - 1)", 1, lambda: norms.quadratic_sign(0.5, 0.5, 1.0)[2]),
    strength("sign(z1) + sign(z2)", 1, 2 / PI),
    threshold("sign(z1) + sign(z2)", 1, sums.committee_of_two),
    # given the sum s, y is 0 or 2 sign(s), as |t| > |s| or not, plus noise: two levels 2 apart
    threshold(
        "sign(z1) + sign(z2)",
        1,
        lambda: norms.noisy_quadratic_sign(1.0, 1.0, 0.0, 0.4),
        noise=0.4,
    ),
    strength("max(z1, z2)", 1, sums.maximum_strength),
    strength("max(z1, z2)", 1, lambda: sums.maximum_strength(0.1), noise=0.1),
    threshold("max(z1, z2)", 1, 0.5),  # given the sum, |difference| is known
    threshold(
        "max(z1, z2)",
        1,
        lambda: easy(line.noisy_line_moments(lambda t: np.abs(t) / 2**0.5, 0.1, 2, kinks=[0.0])[0]),
        noise=0.1,
    ),
    strength("relu(z1)*relu(z2)", 1, lambda: norms.relu_product()[0]),
    threshold("relu(z1)*relu(z2)", 1, lambda: norms.relu_product()[1]),
    strength("z1*abs(z2)", 1, norms.half_product_mean),
    threshold("z1*abs(z2)", 1, 0.5),
    strength("sign(z1)*z2**2", 1, 2 / PI),
    threshold("sign(z1)*z2**2", 1, 0.5),
    strength("z1 + z2**2", 1, sums.line_plus_square),
    strength("z1 + z2**2", 1, lambda: sums.line_plus_square(0.3), noise=0.3),
    threshold("z1 + z2**2", 1, 0.5),
    threshold(
        "z1 + z2**2", 1, lambda: easy(line.noisy_line_moments(np.square, 0.3, 2)[0]), noise=0.3
    ),
    strength("tanh(z1) + tanh(z2)", 1, sums.two_tanh_strength),
    threshold("tanh(z1) + tanh(z2)", 1, 0.5),  # even and monotone in the difference
    strength("exp(z1/2)*z2", 1, lambda: max(sums.growing_line())),
    strength("z1 + z1*z2", 1, sums.line_times_shifted),
    strength("sin(z1 + z2**2)", 1, sums.wave_of_line_and_square),
    strength("cos(2*z1)*sign(z2)", 1, lambda: sums.sign_times_wave(2.0)),
    threshold("cos(2*z1)*sign(z2)", 1, lambda: easy(line.wave_moments(2.0, 2, even=True))),
]

MORE_VARIABLES = [
    threshold("z1**2 + z2**2 + z3**2", 0, 1.5),  # G = (y/r - 1) I: E = 2/r
    threshold("z1**2 + z2**2 + z3**2", 0, lambda: norms.noisy_norm(3, 0.5), noise=0.5),
    threshold("sign(z1**2 + z2**2 + z3**2 - 2)", 0, lambda: norms.ball_indicator(3, 2.0)),
    threshold("z1*z2*z3", 0, norms.product_of_three),
    threshold("z1**2 + sign(z1*z2*z3)", 0, sums.square_and_parity),
    threshold("z1**2 + sign(z1*z2*z3)", 1, PARITY),
    threshold("z1**2 + sign(z2*z3)", 0, sums.square_and_parity),
    threshold("z1**2 + sign(z2*z3)", 1, PARITY),
    threshold("z1*z2 + z2*z3 + z1*z3", 0, norms.square_minus_exponential),
    threshold("z1*z2 + z2*z3 + z1*z3", 1, 1.0),  # Q ~ Exp(1) is known: G = (Q - 1) I
    strength("z3 + z1*z2", 1, sums.line_plus_product),
    strength("z3 + z1*z2", 1, lambda: sums.line_plus_product(0.2), noise=0.2),
    strength("z3 + z1*z2", 1, lambda: sums.line_plus_product(0.001), noise=0.001),
    threshold("z3 + z1*z2", 1, norms.product_of_two),
    threshold("z3 + z1*z2", 1, lambda: norms.product_of_two(0.2), noise=0.2),
    strength("sign(z1*z2) + z3", 1, sums.line_plus_sign),
    threshold("sign(z1*z2) + z3", 1, PARITY),
    threshold("sign(z1*(z2 + z3))", 0, PARITY),
    threshold("abs(z1)*sign(z2*z3)", 0, 0.5),
    threshold("abs(z1)*sign(z2*z3)", 1, PARITY),
    threshold("z1*z2*sign(z3)", 0, norms.product_and_sign),
    threshold(
        "tanh(z1*z2) + z3/2", 1, lambda: norms.seen_product(np.tanh, 0.05, -1.0, 1.0), noise=0.05
    ),
    strength("max(z1, max(z2, z3))", 1, sums.maximum_of_three_strength),
    # E[z_i|y] = sqrt(2/pi) y/3 and E[y^2] = 3
    strength("sign(z1) + sign(z2) + sign(z3)", 1, 2 / PI),
    strength("relu(z1 + z2*z3)", 1, sums.kinked_line_plus_product),
    threshold("z1**2 + z2**2 + z3**2 + z4**2", 0, 2.0),
    threshold("z1*z2 + z3*z4", 0, norms.two_products),
    # s = sign + sign: E[s_1|y]^2 is 1, 0, 1 with probabilities 1/4, 1/2, 1/4
    threshold("sign(z1*z2) + sign(z3*z4)", 0, 2 * PARITY),
    threshold("z1*z2*z3*z4", 0, norms.product_of_four),
    threshold("sign(z1**2 + z2**2 + z3**2 + z4**2 - 3)", 0, lambda: norms.ball_indicator(4, 3.0)),
    strength("z1*z2*z3 + z4", 1, sums.line_plus_product_of_three),
    threshold("z1*z2*z3 + z4", 1, norms.product_of_three),
    strength("z1*z2 + z3*z4 + z5", 1, sums.line_plus_two_products),
    threshold("z1*z2 + z3*z4 + z5", 1, norms.two_products),
]

# The first direction is oblique and estimated; together with the second it spans z1, z2.
SLOW = [
    threshold("sign(z1 + z2**3 + z3**2 - 1)", 2, norms.cubic_window),
    threshold("sign(z1 + z2**3) + z3*z4", 2, norms.product_of_two),
]

TRANSFORMED = [
    threshold(turned("He4(z1) + 0*z2", 2, 1), 0, ONE_VARIABLE[5].truth),
    threshold(turned("z1*z2", 2, 2), 0, norms.product_of_two),
    threshold(tilted("sign(z1*z2)", 2), 0, PARITY),
    threshold(turned("sign(z1) + sign(z2)", 2, 3), 1, sums.committee_of_two),
    threshold(turned("max(z1, z2)", 2, 4), 1, 0.5),
    threshold(scaled("z1**2 + 2*z2**2", 2, 1.001), 0, lambda: norms.quadratic_form(1.0, 2.0)),
    threshold(turned("z1*z2*z3", 3, 5), 0, norms.product_of_three),
    threshold(tilted("z1**2 + sign(z1*z2*z3)", 3), 0, sums.square_and_parity),
    threshold(turned("z1**2 + sign(z1*z2*z3)", 3, 6), 1, PARITY),
    threshold(turned("z3 + z1*z2", 3, 7), 1, norms.product_of_two),
    strength(turned("max(z1, z2)", 2, 8), 1, sums.maximum_strength),
    strength(turned("relu(z1)*relu(z2)", 2, 9), 1, lambda: norms.relu_product()[0]),
]

# Energies |C_k|^2/k! from closed forms of the coefficients.
ENERGIES = [
    *(energy("sign(z1)", k, v) for k, v in ((1, 2 / PI), (3, 1 / (3 * PI)), (5, 3 / (20 * PI)))),
    *(energy("sign(z1*z2)", k, v) for k, v in ((2, (2 / PI) ** 2), (4, 4 / (3 * PI**2)))),
    energy("sign(z1*z2*z3)", 3, (2 / PI) ** 3),
    *(energy("relu(z1)", k, v) for k, v in ((1, 0.25), (2, 1 / (4 * PI)), (4, 1 / (48 * PI)))),
    energy("abs(z1)", 2, 1 / PI),
    *(energy("exp(z1/2)", k, math.exp(0.25) / 4**k / math.factorial(k)) for k in (1, 2, 5)),
    *(energy("sin(2*z1)", k, 4**k * math.exp(-4) / math.factorial(k)) for k in (1, 3, 7)),
    energy("cos(z1 + 2*z2)", 2, 25 * math.exp(-5) / 2),
    energy("step(z1 - 1)", 3, float(phi(1.0)) ** 2 * 0.0),  # He_2(1) = 0
    energy("step(z1 - 1)", 2, float(phi(1.0)) ** 2 / 2),
    energy("max(z1, z2)", 1, 0.5),  # z1/2 + z2/2 + |z1 - z2|/2
    energy("max(z1, z2)", 2, 1 / (2 * PI)),
    energy("z1**2*exp(-z1**2)", 2, 0.0),
    energy("sin(z1 + z2*z3)", 1, math.exp(-1) / 2),  # E cos(z1 + z2 z3) = e^{-1/2}/sqrt 2
    energy("exp(-(z1**2 + z2**2)/2)", 2, 2 * (1 / 2 * 1 / 2) ** 2 / 2),  # c = -1/4 on each axis
    energy("erf(z1)", 1, 4 / (3 * PI)),
    energy("sign(z1 + z2*z3)", 1, lambda: _sign_of_product_and_line()),
    energy("relu(z1)*relu(z2)", 2, 1 / 16 + 2 / (2 * (2 * PI) ** 2)),
]


def _sign_of_product_and_line() -> Number:
    """|C_1|^2 of sign(z1 + z2 z3): E[sign z1] = 2 E[phi(z2 z3)] = sqrt(2/pi) E[1/sqrt(1 + x^2)]."""
    mean = integral(lambda x: float(phi(x)) / math.sqrt(1 + x * x), -9.0, 0.0, 9.0)
    return Number(2 / PI * mean.value**2, 1e-9)


CASES = [*ONE_VARIABLE, *TWO_VARIABLES, *MORE_VARIABLES, *SLOW, *TRANSFORMED, *ENERGIES]
