"""The staircase picture: which directions are found, in which order, and what opens each step."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..analysis.analyze import Analysis
    from ..analysis.analyze_hierarchical import HierarchicalAnalysis

_STEP, _RISE, _TEXT = 190, 54, 15  # pixels
_RAISED = str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹·")
_OPEN, _SHUT = "#0072B2", "#777777"


class Step(NamedTuple):
    """One step: what is found on it, what opens it, and whether it can be reached."""

    found: str
    opens: str
    is_open: bool = True


def grand_steps(analysis: Analysis) -> list[Step]:
    """Stages of efficient algorithms with n of order d."""
    from ..analysis.show import number_text

    steps = []
    for stage in analysis.grand_staircase:
        bound = " or more" if stage.is_bound else ""
        opens = {
            "trivial": "any n/d > 0",
            "easy": f"n/d > {number_text(stage.threshold)}{bound}",
            "hard": f"n ≫ d (order {stage.order})",
        }[stage.learnability]
        steps.append(Step(str(stage.new), opens, stage.learnability != "hard"))
    if analysis.never.dim and all(step.is_open for step in steps):
        steps.append(Step(str(analysis.never), "n ≫ d", False))
    return steps


def giant_steps(analysis: Analysis) -> list[Step]:
    """Subspaces found by successive giant steps with n of order d."""
    steps = []
    known = 0
    for number, space in enumerate(analysis.staircase, start=1):
        grown = f"{space}" if number == 1 else f"up to {space}"
        steps.append(Step(grown, f"giant step {number}"))
        known = space.dim
    used = analysis.target.r - analysis.unused.dim
    if known < used:
        rest = used - known
        what = f"{rest} direction{'s' * (rest > 1)}" if known == 0 else f"{rest} more"
        steps.append(Step(what, "hidden with n ~ d", False))
    return steps


def level_steps(analysis: HierarchicalAnalysis) -> list[Step]:
    """Stages of a deep network on a hierarchical target, with the samples that each needs."""
    from ..analysis.depth.exponents import learning_stages

    steps = []
    for stage in learning_stages(analysis.target, "deep"):
        is_open = math.isfinite(stage.exponent)
        power = f"n ~ d{f'{stage.exponent:.3g}'.translate(_RAISED)}" if is_open else "never"
        steps.append(Step(stage.learns, power if stage.exponent > 0 else "then at once", is_open))
    return steps


def staircases(analysis: Analysis | HierarchicalAnalysis) -> list[tuple[str, str, str]]:
    """Pictures of the stairs of a target: title, SVG, and a sentence on how to read it."""
    from ..analysis.analyze_hierarchical import HierarchicalAnalysis

    if isinstance(analysis, HierarchicalAnalysis):
        text = "Each level opens when the one below it is known. Dashed steps are out of reach."
        pictures = [("A deep network, level by level", level_steps(analysis), text)]
    else:
        grand, giant = grand_steps(analysis), giant_steps(analysis)
        text = "Message passing and similar algorithms may transform the labels in any way."
        if not all(step.is_open for step in grand):
            text += " Dashed steps are out of reach with n of order d."
        pictures = [
            ("Efficient algorithms with n of order d", grand, text),
            ("Giant gradient steps with n of order d", giant, _giant_text(giant)),
        ]
    return [(title, draw_stairs(steps, title), text) for title, steps, text in pictures]


def _giant_text(steps: list[Step]) -> str:
    text = "A step finds the directions in which the target is linear, given those found before."
    if all(step.is_open for step in steps):
        return text
    if len(steps) == 1:
        return f"{text} This target has no such direction: no number of steps finds any (dashed)."
    return f"{text} The dashed ones stay hidden, however many steps are taken."


def draw_stairs(steps: list[Step], title: str) -> str:
    """Stairs as an SVG element that scales with the page.

    Examples
    --------
    >>> picture = draw_stairs([Step("span(z1)", "n/d > 0.5"), Step("<z2>", "never", False)], "AMP")
    >>> picture.count("<rect"), "<z2>" in picture
    (2, False)
    """
    e = html.escape
    count = max(len(steps), 1)
    step = min(_STEP, max(150, 760 // count))
    width, height = 40 + step * count, 46 + _RISE * count
    parts = [
        f'<svg class="stairs" viewBox="0 0 {width} {height}" role="img" '
        f'style="max-width:{width}px" aria-label="{e(title, quote=True)}">'
    ]
    floor = height - 14
    if not steps:
        parts.append(f'<text x="20" y="{floor - 20}" fill="{_SHUT}">no step can be taken</text>')
    for i, one in enumerate(steps):
        left, top = 20 + i * step, floor - _RISE * (i + 1)
        color = _OPEN if one.is_open else _SHUT
        dash = "" if one.is_open else ' stroke-dasharray="5 4"'
        fill = 0.12 + 0.06 * i if one.is_open else 0.05
        parts += [
            f'<rect x="{left}" y="{top}" width="{step}" height="{floor - top}" fill="{color}" '
            f'fill-opacity="{fill:.2f}"/>',
            f'<path d="M{left} {top + _RISE} V{top} H{left + step}" fill="none" stroke="{color}" '
            f'stroke-width="2.5"{dash}/>',
            _words(left + step / 2, top - 10, one.found, step - 8, color, bold=True),
            _words(left + step / 2, top + 20, one.opens, step - 12, "#333333"),
        ]
    parts.append(f'<path d="M8 {floor} H{width - 8}" stroke="#999999"/></svg>')
    return "".join(parts)


def _words(x: float, y: float, text: str, room: float, color: str, *, bold: bool = False) -> str:
    """Text in the middle of a step, narrowed where it is too long for it."""
    size = max(9.0, min(_TEXT, room / (0.56 * max(len(text), 1))))
    most = int(room / (0.56 * size))
    shown = text if len(text) <= most else text[: most - 1] + "…"
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="{size:.1f}"{weight} '
        f'fill="{color}">{html.escape(shown)}<title>{html.escape(text)}</title></text>'
    )
