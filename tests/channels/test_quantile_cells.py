"""Sums over the cells of an output."""

from __future__ import annotations

import numpy as np
import pytest

from gradone.channels.conditional.quantile_cells import sums_below, sums_over_cells

OUTPUTS = {
    "Gaussian": lambda z: z,
    "heavy tails": lambda z: z**7,
    "crowded at zero": lambda z: np.sign(z) * np.exp(-3 / np.abs(z)),
    "bounded": lambda z: np.tanh(5 * z),
    "an atom": lambda z: np.maximum(z, 0.3),
    "nothing but atoms": np.sign,
    "rare and huge": lambda z: np.where(z > 3, 1e12 * z, z),
}


@pytest.mark.parametrize("n", [256, 8192])
@pytest.mark.parametrize("name", OUTPUTS)
def test_cells_are_intervals_and_hold_their_points(name, n):
    """Sums of the output itself over cells that are found again by brute force."""
    z = np.random.default_rng(7).standard_normal((16, n))
    y = OUTPUTS[name](z)
    features = np.array([np.ones_like(y), z])
    cells = 64
    halves = (features[:, half] for half in (slice(0, 8), slice(8, 16)))
    found = sums_over_cells([y[:8], y[8:]], [features[0, :8], features[0, 8:]], halves, cells)
    assert found[:, 0].sum(axis=1) == pytest.approx(np.ones(16))
    assert found[:, 1].sum(axis=1) == pytest.approx(z.mean(axis=1))
    # Values that are no atoms, in order: cell i holds the next count[i] of them.
    values, counts = np.unique(y[:, : (1 << 15) // 16], return_counts=True)
    atoms = values[counts > 0.002 * counts.sum()]
    assert found.shape[2] == cells + len(atoms)
    for i, atom in enumerate(atoms):
        assert found[:, 0, cells + i] == pytest.approx((y == atom).mean(axis=1))
    rest = ~np.isin(y, atoms)
    order = np.argsort(y[rest], kind="stable")
    size = np.rint(found[:, 0, :cells].sum(axis=0) * n).astype(int)
    bounds = np.cumsum(size)
    expected = np.add.reduceat(
        np.append(z[rest][order], 0.0), np.minimum(np.append(0, bounds[:-1]), rest.sum())
    )
    inside = found[:, 1, :cells].sum(axis=0) * n
    assert inside[size > 0] == pytest.approx(expected[size > 0], abs=1e-6)


def test_cells_are_fine_in_the_tails():
    y = np.random.default_rng(8).standard_normal((16, 8192))
    ones = np.ones((1, 16, 8192))
    shares = sums_over_cells([y], [ones[0]], [ones], 64)[:, 0].mean(axis=0)
    assert shares[0] < 1e-3 < 0.02 < shares[32]
    # Probability s^2 (3 - 2 s) below the share s of the cells.
    s = np.arange(1, 65) / 64
    assert np.cumsum(shares) == pytest.approx(s * s * (3 - 2 * s), abs=0.01)


def test_edges_are_moved_to_the_intended_probabilities():
    """Cells of random sizes: sums below the new edges are those of the integrated density."""
    rng = np.random.default_rng(9)
    edges = np.concatenate([[0.0], np.sort(rng.random(4095)), [1.0]])
    share, square = np.diff(edges), np.diff(edges**2)  # of the density 1, and of 2 x
    found = sums_below(np.array([[share, square], [share, square]]), 3)
    s = np.clip(np.arange(-3, 4100) / 4096, 0, 1)
    intended = s * s * (3 - 2 * s)
    assert found[1, 0] == pytest.approx(intended, abs=1e-12)
    assert found[1, 1] == pytest.approx(intended**2, abs=share.max() ** 2)
