"""Time and memory of gd.analyze, in units of a fixed piece of work on the same machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gradone as gd

from ..reference_work import cpu_time, slowness

TWO = (
    "erf(z1) + erf(z2)",  # next to its limits a staircase of rounded numbers
    "sin(10*z1) + z1/5",
    "z1*z2",
    "sign(z1) + sign(z2)",
    "sign(z1 + z2**3/2)",
    "sign(z2 - sin(3*z1))",
    "sin(10*z1) + z2",
    "gelu(z1*z2)",
    "tanh((0.6*z1 + 0.8*z2)**2 - (0.8*z1 - 0.6*z2)**2/2)",
    "tanh((0.6*z1 + 0.8*z2)**2 + (0.8*z1 - 0.6*z2)*(0.6*z1 + 0.8*z2)/2)",
    "(0.1*z1 + 0.3)*He4(z2) + He2(z1)/2 + z1",
    "sin(5*z1*z2)",
    "sin(z1 + z2**2)",
    "cos(z1**2 + z2)",
    "sin(z1)/(1 + z2**2)",
    "max(-z2/(0.5 + z1**2), exp(-relu(z2)**2/3))",
    "relu(z1)*z2 - abs(z2 - 0.3*z1)",
    "sin(z1**2*z2)",
    "sin(8*z1)*sin(7*z2)",
    "abs(sin(3*z1) - z2)",
    "z1/(1 + z2**2) + z2/(1 + z1**2)",
    "z2*(z2 + z1)*z1/(0.5 + min(z1, z2)**2)",
    "sin(exp(z1*z2))",
    "sin(10*z1 + 3*z2**2) + z1",
    "cos(z1*z2**3) + z1",
    "tanh(4*sin(z1*z2**2)) + z1/3",
    "sin(12*z1)*cos(9*z2) + z2**3",
)
NOISY = ("gelu(z1*z2)", "sign(z1 + z2**3/2)", "sin(3*z1) + z2**2", "z1**3*z2")
THREE = (
    "He2(z1) + sign(z1*z2*z3)",
    "sign(z1) + sign(z2) + sign(z3)",
    "He2(z1) + He2(z2) + He2(0.6*z3 + 0.8*z1)",
    "exp(-z1**2)*z2*z3",
    "sign(z1) + sign(z2) + sign(z3) + sign(z4)",
)

SMALL = [name for name, t in gd.zoo().items() if isinstance(t, gd.Target) and t.r <= 3]


def forget() -> None:
    """Empty the caches of an analysis; the zoo and what numba compiled stay as they are."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("gradone.analysis", "gradone.targets.language.expression")):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def is_fast(text: str, limit: float, noise: float = 0.0) -> bool:
    """Whether one of five analyses stays below the limit; most need one."""

    def seconds() -> float:
        forget()
        return cpu_time(lambda: gd.analyze(gd.Target(text, noise=noise)))

    return any(seconds() < limit * slowness() for _ in range(5))


@pytest.fixture(scope="module", autouse=True)
def warm():
    gd.analyze("z1*z2 + tanh(z3)")


@pytest.mark.stat
@pytest.mark.parametrize("text", TWO)
def test_two_directions_take_less_than_a_second(text):
    assert is_fast(text, 1.0)


@pytest.mark.stat
@pytest.mark.parametrize("text", NOISY)
def test_two_directions_with_noise_take_less_than_a_second(text):
    assert is_fast(text, 1.0, noise=0.1)


@pytest.mark.stat
@pytest.mark.parametrize("text", THREE)
def test_three_directions_take_less_than_three_seconds(text):
    assert is_fast(text, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_small_target_of_the_zoo(name):
    target = gd.zoo()[name]
    assert is_fast(target.text, 1.0 if target.r <= 2 else 3.0, target.noise)


@pytest.mark.stat
def test_memory_stays_below_a_gigabyte():
    """The peak of the program itself: ru_maxrss would count the process that started it as well."""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    code = (
        "import gradone as gd\n"
        f"for text in {THREE!r} + {TWO[3:7]!r}: gd.analyze(text)\n"
        "lines = dict(line.split(':') for line in open('/proc/self/status'))\n"
        "print(lines['VmHWM'].split()[0])"  # kilobytes
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000_000
