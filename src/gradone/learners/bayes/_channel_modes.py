r"""What a channel shows of its directions at the two lowest orders.

With :math:`g(y) = E[z \mid y]` and :math:`G(y) = E[z z^\top - I \mid y]`: the range of
:math:`E[g g^\top]` is seen to first order. On the rest the matrices G(y) of all labels are brought
to a common block form; block B makes its own spectral method, and a mode m of
:math:`m \mapsto E[G\, m\, G_B]` with eigenvalue :math:`\mu` rises above its noise when
:math:`(n/d) \mu > 1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...channels.samples.channel import SampleChannel

# Smaller moments are errors of the rules behind the channel, and give cosines below
# 0.03 sqrt(n/d).
_NEGLIGIBLE = 1e-3
_FEW, _FINER = 16, 2
_UNCOUPLED = 1e-2  # relative to the size of G; what is dropped enters squared


class Mode(NamedTuple):
    """An eigenmatrix of one block."""

    block: int
    """Index of the block."""
    strength: float
    """Its eigenvalue; 1 / strength is the threshold in n/d."""
    matrix: np.ndarray
    """(q, size of the block)."""


@dataclass(frozen=True)
class ChannelModes:
    """Directions of z that moments of first and second order show.

    Parameters
    ----------
    linear : ndarray (r, r1)
        Orthonormal basis of those seen to first order.
    blocks : tuple of ndarray (r, size)
        Orthonormal bases of the blocks of the rest.
    modes : tuple of Mode
        Modes of second order, strongest first.
    """

    linear: np.ndarray
    blocks: tuple[np.ndarray, ...]
    modes: tuple[Mode, ...]

    def dimension(self, count: int) -> int:
        """Number of directions that the strongest `count` modes reach."""
        if not count:
            return 0
        reached = np.concatenate([mode.matrix for mode in self.modes[:count]], axis=1)
        return int(np.linalg.matrix_rank(reached, tol=1e-6))

    def outliers(self, count: int) -> list[int]:
        """Number of eigenvectors of each block that hold the strongest `count` modes."""
        owners = [mode.block for mode in self.modes[:count]]
        return [owners.count(block) for block in range(len(self.blocks))]


def label_moments(channel: SampleChannel, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of z (n, r) and of z z' - I (n, r, r) given each label."""
    values, which = np.unique(y, return_inverse=True)
    if len(values) <= _FEW:  # then it costs nothing to be exact
        channel = channel.finer(_FINER)
    _, g, dg, _ = channel.posterior(values, np.zeros((len(values), channel.r)), np.eye(channel.r))
    return g[which], (dg + g[:, :, None] * g[:, None, :])[which]


def channel_modes(channel: SampleChannel) -> ChannelModes:
    """Modes of a channel, from all labels that may come out.

    Examples
    --------
    >>> from gradone import Target
    >>> from gradone.channels.samples.channel import sample_channel
    >>> found = channel_modes(sample_channel(Target("sign(z1*z2)")))
    >>> [round(1 / mode.strength, 2) for mode in found.modes]  # pi^2 / 4
    [2.47, 2.47]
    """
    labels, probability = channel.labels()
    g, G = label_moments(channel, labels)
    sizes, basis = np.linalg.eigh(np.einsum("k,ki,kj->ij", probability, g, g))
    linear, rest = basis[:, sizes > _NEGLIGIBLE], basis[:, sizes <= _NEGLIGIBLE]
    axes, members = _common_blocks(probability, rest.T @ G @ rest)
    rest = rest @ axes
    G = rest.T @ G @ rest
    modes = []
    for index, block in enumerate(members):
        q, size = len(G[0]), len(block)
        own = G[:, block[:, None], block]
        operator = np.einsum("k,kab,kcd->acbd", probability, G, own).reshape(q * size, q * size)
        strengths, vectors = np.linalg.eigh(operator)
        for strength, vector in zip(strengths, vectors.T, strict=True):
            if strength > _NEGLIGIBLE:
                modes.append(Mode(index, float(strength), vector.reshape(q, size)))
    modes.sort(key=lambda mode: -mode.strength)
    return ChannelModes(linear, tuple(rest[:, block] for block in members), tuple(modes))


def _common_blocks(probability: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Basis in which the matrices G (labels, q, q) share their blocks, and the blocks."""
    from scipy.sparse.csgraph import connected_components

    q = G.shape[1]
    if not q:
        return np.eye(0), []
    # The eigenvectors of one combination with general coefficients split what can be split.
    coefficients = np.random.default_rng(0).standard_normal(len(G)) * np.sqrt(probability)
    _, basis = np.linalg.eigh(np.tensordot(coefficients, G, axes=1))
    coupling = np.sqrt(np.einsum("k,kij->ij", probability, (basis.T @ G @ basis) ** 2))
    count, owner = connected_components(coupling > _UNCOUPLED * coupling.max(), directed=False)
    return basis, [np.flatnonzero(owner == block) for block in range(count)]
