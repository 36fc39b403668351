"""CPU time of analyses in a process of the lab, each for the first time after its warm-up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from ..reference_work import slowness

# Seconds that are demanded, by the number of directions.
LIMITS = {"two": 0.3, "three": 3.0}

ONE_DIRECTION = (
    "z1",
    "He2(z1)",
    "He5(z1)",
    "He7(z1) + He2(z1)/5",
    "z1**6",
    "relu(z1 - 1)",
    "step(z1 - 0.5) - step(z1 + 1)",
    "exp(z1)",
    "exp(-z1**2)",
    "log(1 + z1**2)",
    "tanh(3*z1)",
    "sin(20*z1)",
    "sin(10*z1) + z1/5",
    "cos(5*z1)*z1",
)
POLYNOMIALS = (
    "z1*z2",
    "z1 + z1*z2",
    "z1**2 - z2**2",
    "(z1 + z2)**3",
    "He2(z1) + He3(z2)",
    "He3(z1)*He2(z2) + z1",
    "He6(z1) + He5(z2)",
    "z1**4*z2**4",
    "z1**3 - 3*z1*z2**2",
    "He2(0.6*z1 + 0.8*z2) + z1",
)
SMOOTH = (
    "tanh(z1*z2)",
    "tanh(z1) + tanh(z2)",
    "erf(z1) + erf(z2)",
    "erf(2*z1)*z2**2",
    "sigmoid(z1*z2)",
    "sigmoid(3*z1) + sigmoid(3*z2) - z1*z2",
    "gelu(z1*z2)",
    "softplus(z1) + softplus(2*z2)",
    "exp(-z1**2)*z2",
    "z1**2*z2**3 + tanh(z1)",
    "log(1 + z1**2 + z2**2)",
    "z1/(1 + z2**2) + z2/(1 + z1**2)",
    "tanh(z1**2 - z2**2)",
)
WITH_BREAKS = (
    "abs(z1) - abs(z2)",
    "relu(z1) + relu(z2)",
    "relu(z1)*relu(z2)",
    "relu(z1*z2)",
    "relu(z1 + z2) - relu(z1 - z2)",
    "relu(z1**2 - z2)",
    "max(z1, z2)",
    "min(z1, z2)*z1",
    "abs(z1*z2 - 1)",
    "sqrt(abs(z1*z2))",
    "sqrt(z1**2 + z2**2)",
    "step(z1)*z2",
    "sign(z1*z2) + z1",
    "sign(z1) + sign(z2)",
    "sign(z1 + z2**2 - 1)",
    "sign(z1 + z2**3/2)",
    "sign(z2 - sin(3*z1))",
    "max(-z2/(0.5 + z1**2), exp(-relu(z2)**2/3))",
    "z2*(z2 + z1)*z1/(0.5 + min(z1, z2)**2)",
)
OSCILLATING = (
    "sin(3*z1 + 4*z2)",
    "cos(z1**2 + z2)",
    "cos(6*z1) + cos(6*z2)",
    "sin(5*z1*z2)",
    "sin(z1 + z2**2)",
    "sin(z1**2*z2)",
    "sin(exp(z1*z2))",
    "sin(12*z1)*cos(9*z2) + z2**3",
    "cos(z1*z2**3) + z1",
    "tanh(4*sin(z1*z2**2)) + z1/3",
    "abs(sin(3*z1) - z2)",
    "sin(10*z1 + 3*z2**2) + z1",
    "sin(8*z1)*sin(7*z2)",
    "sin(12*z1)*cos(9*z2)",
    "sin(10*z1 + 3*z2**2)",
    # every order has to be integrated, and none is seen
    "sin(9*z1)*sign(z2)",
    "sin(12*z1 + 3*z1*z2)",
    # strengths next to their errors, which are looked at twice
    "sin(30*z1*z2)",
    "sin(9*z1*z2 + 3*z1)",
)
TWO = (*ONE_DIRECTION, *POLYNOMIALS, *SMOOTH, *WITH_BREAKS, *OSCILLATING)
NOISY = tuple((text, (0.1, 0.5)[i % 2]) for i, text in enumerate(TWO[::2]))
THREE = (
    ("He2(z1) + sign(z1*z2*z3)", None),
    ("sign(z1) + sign(z2) + sign(z3)", 0.1),
    ("relu(z1) + relu(z2) + relu(z3)", None),
    ("max(max(z1, z2), z3)", None),
    ("z1 + z1*z2 + z1*z2*z3", 0.1),
    ("sin(z1 + z2*z3)", None),
    ("sin(z1 + z2*z3)", 0.1),
    ("cos(4*z1)*z2 + z3**2", None),
    ("sign(z1*z2 + z3)", None),
    ("exp(-z1**2)*z2*z3", None),
)

# Every question is answered by a child of the warm process: nothing is remembered.
_ANSWERING = """
import json, os, sys, time
from gradone.lab import answers, warm
answers.answer("warm up", {})
for line in sys.stdin:
    inside, outside = os.pipe()
    if os.fork() == 0:
        start = time.process_time()
        found = answers.answer("analyze", json.loads(line))
        seconds = time.process_time() - start
        os.write(outside, json.dumps({"seconds": seconds, "error": found.get("error")}).encode())
        os._exit(0)
    os.wait()
    print(os.read(inside, 1 << 16).decode(), flush=True)
    os.close(inside), os.close(outside)
"""

Seconds = Callable[[str, float | None], float]


@pytest.fixture(scope="module")
def seconds() -> Iterator[Seconds]:
    """Function that analyses a target, and says how long that took."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ANSWERING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # like every child of the lab
    )

    def asked(target: str, noise: float | None) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"target": target, "noise": noise}) + "\n")
        process.stdin.flush()
        found = json.loads(process.stdout.readline())
        assert found["error"] is None
        return float(found["seconds"])

    yield asked
    process.communicate(timeout=20)


def is_fast(seconds: Seconds, target: str, noise: float | None, limit: float) -> bool:
    """Whether one of five analyses stays below the limit; most need one."""
    return any(seconds(target, noise) < limit * slowness() for _ in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("target", TWO)
def test_two_directions(seconds, target):
    assert is_fast(seconds, target, None, LIMITS["two"])


@pytest.mark.slow
@pytest.mark.parametrize(("target", "noise"), NOISY)
def test_two_directions_with_noise(seconds, target, noise):
    assert is_fast(seconds, target, noise, LIMITS["two"])


@pytest.mark.slow
@pytest.mark.parametrize(("target", "noise"), THREE)
def test_three_directions(seconds, target, noise):
    assert is_fast(seconds, target, noise, LIMITS["three"])
