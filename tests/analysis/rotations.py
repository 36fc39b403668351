"""Texts of targets in other coordinates."""

from __future__ import annotations

import re

import numpy as np


def rotation(r: int, seed: int) -> np.ndarray:
    """Random orthogonal matrix."""
    q, triangular = np.linalg.qr(np.random.default_rng(seed).standard_normal((r, r)))
    return q * np.sign(np.diag(triangular))


def small_rotation(r: int, angle: float) -> np.ndarray:
    """Rotation by an angle in the plane of the first two variables."""
    matrix = np.eye(r)
    if r > 1:
        c, s = np.cos(angle), np.sin(angle)
        matrix[:2, :2] = [[c, -s], [s, c]]
    return matrix


def in_other_coordinates(text: str, matrix: np.ndarray) -> str:
    """Text with z_i replaced by sum_j Q_ij z_j."""

    def form(match: re.Match[str]) -> str:
        row = matrix[int(match[1]) - 1]
        terms = [f"{w:.15f}*z{j + 1}" for j, w in enumerate(row) if abs(w) > 1e-14]
        return "(" + " + ".join(terms).replace("+ -", "- ") + ")"

    return re.sub(r"\bz([1-9])\b", form, text)
