"""Compiled output functions of margin losses."""

from __future__ import annotations

import numpy as np

from ...base.machine_code import njit
from ...calculus.proximal import margin_loss, margin_output, margin_proximal


@njit(cache=True, nogil=True, error_model="numpy")
def margin_outputs(kind: int, t: np.ndarray, V: float) -> tuple[np.ndarray, np.ndarray]:
    """Output function and loss of the proximal point at margins t (n,)."""
    gamma, loss = np.empty_like(t), np.empty_like(t)
    for i in range(len(t)):
        x = margin_proximal(kind, t[i], V)
        gamma[i] = margin_output(kind, t[i], V, x)
        loss[i] = margin_loss(kind, x)
    return gamma, loss
