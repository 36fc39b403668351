r"""What the matrices T_k say: how strong a query is, and the operator of easy directions.

.. math:: F(M) = \mathbb{E}[G M G], \qquad G = \mathbb{E}[z_\perp z_\perp^\top - I \mid y, z_U]
          \qquad [LE-3]

on symmetric matrices with the Frobenius product. It maps positive matrices to positive ones, so
its largest eigenvalue belongs to a positive matrix, and :math:`\alpha_c = 1/\lambda_{\max}(F)`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...base.estimate import Estimate
from ...calculus.embedding import order_indices
from ...channels.conditional.gram import SMALL, OutputGram
from ...targets.rotations import symmetric_basis

FLOOR = {"quadrature": 1e-12, "monte_carlo": 2e-4}  # below, nothing counts as a signal
# A Monte Carlo error is a 99 % half-width, at least 2.58 standard errors: this makes it 6.
SAFETY = {"quadrature": 10.0, "monte_carlo": 2.4}


def is_nonzero(strength: Estimate, *, is_rough: bool = False) -> bool | None:
    """Whether a query sees anything; None if the margin is too thin to say.

    `is_rough` says that the known subspace was estimated: then what is small may be its error.
    """
    margin = SAFETY[strength.kind] * strength.error
    kind = "monte_carlo" if is_rough else strength.kind
    if strength.value > max(FLOOR[kind], margin):
        return True
    return False if strength.value + margin < SMALL[kind] else None


def full_tensor(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """E[D (x) D] with D the unnormalized tensor of order k: shape (q,) * 2k as (q^k, q^k)."""
    entries, scale = _unfolded(q, k)
    return (gram * np.outer(scale, scale))[np.ix_(entries, entries)]


@lru_cache(maxsize=64)
def _unfolded(q: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of T_k of each entry of a tensor of order k, and the factor that undoes its norm."""
    indices = order_indices(q, k)
    row_of = {tuple(b): i for i, b in enumerate(indices.tolist())}
    entries = [row_of[tuple(e.count(axis) for axis in range(q))] for e in np.ndindex(*(q,) * k)]
    scale = [math.sqrt(math.prod(math.factorial(b) for b in beta)) for beta in indices.tolist()]
    return np.array(entries), np.array(scale)


def unfolding(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """Matrix N_k = E[D_(1) D_(1)^T] / k!, shape (q, q)."""
    tensor = full_tensor(gram, q, k).reshape(q, q ** (k - 1), q, q ** (k - 1))
    return np.einsum("aibi->ab", tensor) / math.factorial(k)


def operator_on_symmetric(pairs: np.ndarray, basis: np.ndarray) -> np.ndarray:
    r"""Matrix of :math:`K \to \mathbb{E}[G K G]` in a basis (k, r, r) of symmetric matrices.

    From the means (r, r, r, r) of products of entries of G.
    """
    return np.einsum("ajk,ijkl,bil->ba", basis, pairs, basis)


def easy_operator(gram: np.ndarray, q: int) -> np.ndarray:
    r"""Matrix of :math:`F(M) = \mathbb{E}[G M G]` in the basis of symmetric matrices."""
    tensor = full_tensor(gram, q, 2).reshape(q, q, q, q)  # E[G_ij G_kl]
    return operator_on_symmetric(tensor, symmetric_basis(np.eye(q)))


def operator(gram: np.ndarray, q: int, k: int) -> np.ndarray:
    """Symmetric matrix whose largest eigenvalue is the strength of order k."""
    return easy_operator(gram, q) if k == 2 else unfolding(gram, q, k)


def query_strength(gram: OutputGram, q: int, k: int) -> Estimate:
    """Largest eigenvalue with its error, degenerate eigenvalues averaged."""
    values = np.linalg.eigvalsh(operator(gram.value, q, k))
    spread = 2 * float(np.abs(operator(gram.entry_error(), q, k)).max())
    size = max(1, int((values > (1 - 1e-9) * values[-1] - spread).sum()))

    def mean_of_top(matrix: np.ndarray) -> float:
        return float(np.linalg.eigvalsh(operator(matrix, q, k))[-size:].mean())

    estimate = gram.functional(mean_of_top, slope=0.0)
    bias = operator(np.broadcast_to(gram.bias, gram.value.shape), q, k)
    # Eigenvalues that are close but different: the largest lies above their mean.
    gap = float(values[-1]) - estimate.value
    error = estimate.error + float(np.abs(bias).max(initial=0.0)) + max(gap, 0.0)
    return Estimate(estimate.value, error, estimate.kind)
