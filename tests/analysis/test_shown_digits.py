"""No digit is shown that is not known, and no verdict that has no meaning in practice."""

import math
import re

import pytest

import gradone as gd
from gradone.base.estimate import Estimate, compact


def test_energy_with_its_error():
    """|C_2|^2/2! of a disc: E[f (|z|^2 - 2)] = 2c exp(-c/2) with c = 1.5."""
    a = gd.analyze("sign(z1**2+z2**2-1.5)")
    exact = (1.5 * math.exp(-0.75)) ** 2
    strength = a.leaps.steps[0].strength
    assert 0 < abs(strength.value - exact) <= strength.error
    shown = re.search(r"\|C_2\|\^2/2! = (0\.\d+)\((\d)\)", a.summary())
    places = len(shown[1]) - 2
    assert abs(float(shown[1]) - exact) <= int(shown[2]) * 10.0**-places


def test_threshold_of_which_only_the_size_is_known():
    text = gd.analyze("cos(pi*z1)*cos(pi*z2)").summary()
    assert "n/d about 1e6" in text
    assert "practically hard" in text
    assert "±" not in text


def test_trivial_with_a_tiny_strength():
    a = gd.analyze("sin(4*z)")
    stage = a.grand_staircase[0]
    # E[E[z|y]^2] by hand: z given sin(4z) sums over the branches of arcsin; c_1^2 bounds it below.
    c1 = 4 * math.exp(-8)
    assert stage.strength.value * (1 - math.exp(-32)) / 2 >= c1**2 * (1 - 1e-6)
    assert math.isclose(stage.matters_at.value, 1 / stage.strength.value)
    assert "n/d = 2.777e5" in a.summary()
    assert a.to_dict()["grand_staircase"][0]["strength"]["value"] == stage.strength.value


def test_strength_of_a_sign():
    """E[E[z|y]^2] = 2/pi for sign(z)."""
    stage = gd.analyze("sign(z)").grand_staircase[0]
    assert stage.strength.agrees_with(2 / math.pi)
    assert stage.matters_at.agrees_with(math.pi / 2)


def test_headlines():
    text = gd.analyze("He2(z1) + sign(z1*z2*z3)").summary()
    assert "n/d > 0.5752(1)" in text
    assert "n/d > π²/4 = 2.467\n" in text + "\n"


@pytest.mark.parametrize("error", [0.0, 3e-7, 1.2e-3, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("value", [1.23456e-5, 0.123456, 9.99951, 123.456, 1.23456e7])
def test_compact_is_true(value, error):
    """What is written lies within the error that is written."""
    text = compact(Estimate(value, error * value))
    if text.startswith(("about", "0 ±")):
        assert error > 0.3
        return
    number, last, power = re.fullmatch(r"([\d.]+)(?:\((\d)\))?(?:e(-?\d+))?", text).groups()
    scale = 10.0 ** int(power or 0)
    unit = scale * 10.0 ** -len(number.partition(".")[2])
    assert abs(float(number) * scale - value) <= 0.51 * unit
    if last:
        assert abs(int(last) * unit - error * value) <= 0.51 * unit
    else:
        assert error * value <= 0.51 * max(unit, 10.0 ** (math.floor(math.log10(value)) - 3))
