"""The findings of a probe as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .probe import Probe


def verdict(found: Probe) -> str:
    """What was learned, in two or three sentences."""
    where = "first layer" if found.weights is not None else "gradients of the predictions"
    standing = found.weights or found.gradients
    assert standing is not None
    largest = f"largest value {standing.values[0]:.3g}, chance {standing.edge:.3g}"
    if found.kind == "lazy":
        return (
            f"Lazy: no direction stands out in the {where} ({largest}). What the network predicts "
            "it does with the features of its start."
        )
    if found.kind == "unconfirmed":
        return (
            f"Unconfirmed: {_count(standing.count)} out in the {where} ({largest}), but the labels "
            f"of these rows confirm none (p = {found.p_values[0]:.2g} to first order, "
            f"{found.p_values[1]:.2g} to second). Either they are noise, or the labels depend on "
            "them to third order only, or there are too few rows; give fresh rows with fresh=True."
        )
    k = len(found.directions)
    name = "One spike" if k == 1 else f"{k} directions"
    text = (
        f"{name}: {_count(standing.count)} out in the {where} ({largest}), and the labels confirm "
        f"{found.confirmed} (p = {found.p_values[0]:.2g} to first order, {found.p_values[1]:.2g} "
        "to second)."
    )
    if math.isfinite(found.share):
        text += (
            f" {100 * found.share:.0f} ± {100 * found.share_err:.1g} % of the mean squared "
            f"gradient lies in {'it' if k == 1 else 'them'}; two halves of the rows agree to a "
            f"squared cosine of {found.stability:.2f}."
        )
    return text


def _count(k: int) -> str:
    return "one direction stands" if k == 1 else f"{k} directions stand"


def rows_of(found: Probe) -> list[tuple[str, ...]]:
    """Table of the layers."""
    table: list[tuple[str, ...]] = []
    for one in found.layers:
        before = "" if math.isnan(one.alignment_before) else f"{one.alignment_before:.3f} → "
        table.append(
            (
                one.name,
                str(one.width),
                f"{one.linear_r2:.3f} ± {one.linear_r2_err:.3f}",
                f"{one.effective_dimension:.1f}",
                f"{before}{one.alignment:.3f}",
                f"{one.extremes[0]:.2f} … {one.extremes[1]:.2f}",
                f"{one.edges[0]:.2f} … {one.edges[1]:.2f}",
                str(one.outside),
            )
        )
    return table


HEADS = (
    "layer", "width", "linear R²", "effective dimension", "kernel alignment",
    "label-weighted spectrum", "edges", "outside",
)  # fmt: skip


def summary(found: Probe) -> str:
    """The answer as text for a terminal."""
    lines = [f"{found.n} rows, {found.d} inputs", found.verdict]
    if math.isfinite(found.ansatz):
        lines.append(f"Gradients and weights are aligned to {found.ansatz:.2f} (1 is the most).")
    table = [HEADS, *rows_of(found)]
    sizes = [max(len(row[i]) for row in table) for i in range(len(HEADS))]
    lines += [
        "  ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)).rstrip() for row in table
    ]
    return "\n".join(lines)
