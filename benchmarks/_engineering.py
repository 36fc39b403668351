"""Six functions of engineering (borehole and others), of inputs that are turned at random.

The turn leaves the functions as they are but takes away the columns that trees cut along. Formulas
and ranges: the Virtual Library of Simulation Experiments (sfu.ca/~ssurjano).
"""

from collections.abc import Callable

import numpy as np

ROWS = 1000
Function = Callable[..., np.ndarray]


def borehole(rw, r, tu, hu, tl, hl, length, kw):
    ratio = np.log(r / rw)
    return 2 * np.pi * tu * (hu - hl) / (
        ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / tl)
    )  # fmt: skip


def circuit(b1, b2, f, c1, c2, beta):
    middle, gain = 12 * b2 / (b1 + b2), beta * (c2 + 9)
    return (
        (middle + 0.74) * gain / (gain + f)
        + 11.35 * f / (gain + f)
        + 0.74 * f * gain / ((gain + f) * c1)
    )


def piston(mass, area, volume, k, pressure, air, gas):
    a = pressure * area + 19.62 * mass - k * volume / area
    v = area / (2 * k) * (np.sqrt(a**2 + 4 * k * pressure * volume / gas * air) - a)
    return 2 * np.pi * np.sqrt(mass / (k + area**2 * pressure * volume / gas * air / v**2))


def wing(area, fuel, aspect, sweep, q, taper, thick, load, gross, paint):
    sweep = np.deg2rad(sweep)
    return (
        0.036 * area**0.758 * fuel**0.0035 * (aspect / np.cos(sweep) ** 2) ** 0.6 * q**0.006
        * taper**0.04 * (100 * thick / np.cos(sweep)) ** -0.3 * (load * gross) ** 0.49
        + area * paint
    )  # fmt: skip


def arm(*inputs):
    angles, lengths = np.cumsum(inputs[:4], axis=0), np.array(inputs[4:])
    return np.hypot((lengths * np.cos(angles)).sum(axis=0), (lengths * np.sin(angles)).sum(axis=0))


def ishigami(x, y, z):
    return np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


FUNCTIONS: dict[str, tuple[Function, list[tuple[float, float]]]] = {
    "borehole": (
        borehole,
        [(0.05, 0.15), (100, 50000), (63070, 115600), (990, 1110), (63.1, 116), (700, 820)]
        + [(1120, 1680), (9855, 12045)],
    ),
    "circuit": (circuit, [(50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300)]),
    "piston": (
        piston,
        [(30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000), (90000, 110000), (290, 296)]
        + [(340, 360)],
    ),
    "wing": (
        wing,
        [(150, 200), (220, 300), (6, 10), (-10, 10), (16, 45), (0.5, 1), (0.08, 0.18), (2.5, 6)]
        + [(1700, 2500), (0.025, 0.08)],
    ),
    "arm": (arm, [(0, 2 * np.pi)] * 4 + [(0, 1)] * 4),
    "ishigami": (ishigami, [(-np.pi, np.pi)] * 3),
}


def turned(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs turned at random, and the values of the function."""
    function, ranges = FUNCTIONS[name]
    rng = np.random.default_rng(2027)
    unit = rng.random((ROWS, len(ranges)))
    low, high = np.array(ranges, float).T
    turn = np.linalg.qr(rng.standard_normal((len(ranges), len(ranges))))[0]
    return (unit - 0.5) @ turn, function(*(low + unit * (high - low)).T)
