r"""The spectral method for a known channel, with the optimal function of the label.

With :math:`g(y) = E[z \mid y]` and :math:`G(y) = E[z z^\top - I \mid y]`, directions that the label
sees to first order are in :math:`\sum_i x_i g(y_i)^\top`, and those that it sees to second order in
the leading eigenvectors, of length d r, of

.. math:: \sum_i x_i x_i^\top \otimes T(y_i), \qquad T = G (I + G)^{-1},    [SD-2]

the fixed points of message passing linearised at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...base.errors import BadData, NotConverged, OutOfRegime, number_of
from ...channels.samples.channel import sample_channel
from ...targets.target import Target
from .._found import Found, counted
from ._channel_modes import ChannelModes, channel_modes, label_moments
from ._products import StandardizedProducts

# T tends to -infinity where a label says that z is 0 (the label 0 of z^2). Below -10 the directions
# of z^2 at n/d = 0.6 ... 1 gain less than 0.005 of overlap, while Lanczos slows down in proportion.
_FLOOR = -10.0
_TOLERANCE = 1e-6
_DENSE = 40  # Lanczos needs more dimensions than vectors; so few are done directly


def preprocessing(G: np.ndarray) -> np.ndarray:
    """Optimal function of the label, T = G (I + G)^-1, bounded from below (n, q, q)."""
    values, vectors = np.linalg.eigh(G)
    # I + G is a mean of z z' and has no negative eigenvalue; rounding may give it one.
    above = np.maximum(1 + values, 1 / (1 - _FLOOR))
    return (vectors * (1 - 1 / above)[:, None, :]) @ vectors.transpose(0, 2, 1)


def channel_directions(
    target: Target,
    y: np.ndarray,
    products: StandardizedProducts,
    *,
    n_components: int | None,
    rng: np.random.Generator,
) -> Found:
    """Directions of both orders for a known channel.

    Parameters
    ----------
    target : Target
        The channel.
    y : ndarray (n,)
        Labels.
    products : StandardizedProducts
        Products with the inputs.
    n_components : int, optional
        Number of directions; None takes those that can be found at this n/d.
    rng : Generator
        Start of the Lanczos iteration.
    """
    channel = sample_channel(target)
    channel.check_labels(y)
    modes = channel_modes(channel)
    d = products.d
    alpha = len(y) / d
    linear = modes.linear.shape[1]
    if n_components is None:
        count = sum(alpha * mode.strength > 1 for mode in modes.modes)
        dimension = modes.dimension(count)
    else:
        linear = min(linear, n_components)
        dimension = n_components - linear
        count = _modes_needed(modes, dimension, target)
    if linear + dimension > d:
        raise BadData(
            f"{linear + dimension} directions are sought among d = {d} features that vary. "
            "Give more features, or n_components."
        )
    g, G = label_moments(channel, y)
    found, strengths = first_order(products, g @ modes.linear)
    found, strengths = found[:linear], strengths[:linear]
    if dimension:
        outliers = zip(modes.blocks, modes.outliers(count), strict=True)
        parts = [
            outlying_vectors(products, found, preprocessing(B.T @ G @ B), outliers=k, rng=rng)
            for B, k in outliers
            if k
        ]
        more, values = _common_directions(parts, dimension)
        found, strengths = np.concatenate([found, more]), np.concatenate([strengths, values])
    diagnosis = _diagnosis(modes, linear, dimension, alpha)
    return Found(found, strengths, linear, dimension, None, diagnosis)


def _modes_needed(modes: ChannelModes, dimension: int, target: Target) -> int:
    """Number of modes that hold that many directions."""
    for count in range(len(modes.modes) + 1):
        if modes.dimension(count) >= dimension:
            return count
    most = modes.linear.shape[1] + modes.dimension(len(modes.modes))
    raise OutOfRegime(
        f"moments of order 1 and 2 given the label show {number_of(most, 'direction')} of "
        f"{target!r}, and n_components = {modes.linear.shape[1] + dimension} asks for more. "
        f"Ask for at most {most}, or use BayesAMP, which finds others once these are known."
    )


def _diagnosis(modes: ChannelModes, linear: int, dimension: int, alpha: float) -> str:
    text = counted(linear, dimension) if linear + dimension else "no direction was found."
    closed = [1 / mode.strength for mode in modes.modes if alpha * mode.strength <= 1]
    if closed:
        text += (
            f" Modes of second order that open at n/d = {closed[0]:.4g} are below the threshold "
            f"here (n/d = {alpha:.4g})."
        )
    if not modes.modes and not modes.linear.size:
        text += " The generative exponent of this channel is 3 or more: its directions cannot be "
        text += "found with n = O(d)."
    return text


def first_order(products: StandardizedProducts, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions (k, d) of the mean of x g', and their singular values (k,)."""
    total = products.backward(g) * math.sqrt(products.d)  # inputs of variance 1
    left, singular, _ = np.linalg.svd(total / len(g), full_matrices=False)
    return left.T, singular


def outlying_vectors(
    products: StandardizedProducts,
    known: np.ndarray,
    T: np.ndarray,
    *,
    outliers: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues (outliers,) of [SD-2] and their eigenvectors (d, q, outliers).

    Parameters
    ----------
    products : StandardizedProducts
        Products with the inputs.
    known : ndarray (k, d)
        Directions already found, orthonormal rows; the search is among those orthogonal to them.
    T : ndarray (n, q, q)
        Function of the label at every sample.
    outliers : int
        Number of eigenvectors.
    rng : Generator
        Start of the Lanczos iteration.
    """
    d, q = known.shape[1], T.shape[1]

    def apply(vector: np.ndarray) -> np.ndarray:
        V = vector.reshape(d, q)
        V = V - known.T @ (known @ V)
        weighted = np.einsum("nij,nj->ni", T, products.forward(V))
        V = products.backward(weighted)
        return (V - known.T @ (known @ V)).reshape(-1)

    values, vectors = _leading(apply, d * q, outliers, rng)
    return values, vectors.reshape(d, q, outliers)


def _common_directions(
    parts: list[tuple[np.ndarray, np.ndarray]], dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Directions (dimension, d) that eigenvectors share, and their mean eigenvalues.

    Every eigenvector is a d x q matrix whose columns are mixtures of the same directions.
    """
    columns = np.concatenate([vectors.reshape(len(vectors), -1) for _, vectors in parts], axis=1)
    weights = np.concatenate([np.tile(values, vectors.shape[1]) for values, vectors in parts])
    directions = np.linalg.svd(columns, full_matrices=False)[0].T[:dimension]
    share = (directions @ columns) ** 2
    return directions, share @ weights / share.sum(axis=1)


def _leading(
    apply: Callable[[np.ndarray], np.ndarray], size: int, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of a symmetric operator and their eigenvectors (size, count)."""
    if size <= max(_DENSE, 4 * count):
        matrix = np.stack([apply(e) for e in np.eye(size)])
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return values[-count:], vectors[:, -count:]
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    basis = min(size - 1, max(20, 4 * count))
    try:
        values, vectors = eigsh(
            operator,
            k=count,
            which="LA",
            tol=_TOLERANCE,
            ncv=basis,
            v0=rng.standard_normal(size),
            maxiter=10 * math.isqrt(size) + 100,
        )
    except ArpackNoConvergence as error:
        raise NotConverged(
            f"Lanczos found {len(error.eigenvalues)} of {count} leading eigenvectors of a matrix "
            f"of size {size}. The outliers are close to the bulk: n/d is close to a threshold; "
            "use more samples, or ask for fewer n_components. What was found is in error.last.",
            last=error.eigenvectors,
        ) from None
    return values, vectors
