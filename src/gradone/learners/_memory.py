"""Parts of the memory of a fit that several learners have, from the sizes of the fit."""

from __future__ import annotations

from typing import Any

from ..base.cost import Need

_CHUNK = 2**22  # numbers in one chunk of rows


def features_of(sizes: Any, system: int) -> list[Need]:
    """A first layer, and the linear system of `system` unknowns that its readout solves."""
    layer = 16 * sizes.width * sizes.d + 8 * min(sizes.test_samples * sizes.width, _CHUNK)
    return [
        Need(40 * system * system, f"the system of {system} features", "width"),
        Need(layer, f"the first layer of {sizes.width} x {sizes.d} numbers", "width"),
    ]


def matrices_of(sizes: Any) -> list[Need]:
    """A few matrices of all pairs of columns, and a chunk of rows."""
    d = sizes.d
    return [Need(8 * _CHUNK + 64 * d * d, f"the {d} x {d} matrices", "d")]


def layers_of(sizes: Any) -> list[Need]:
    """Features of all samples in two layers."""
    return [Need(8 * 1024 * sizes.n, f"two layers of features of {sizes.n} samples", "n")]


def step_of(sizes: Any) -> float:
    """Operations of one step of a network on a batch, forwards and backwards."""
    widths = [256, 50] if sizes.widths is None else [*sizes.widths, 1]
    first, second = widths[:2]
    return float(6 * sizes.batch_size * (sizes.d * first + first * second))
