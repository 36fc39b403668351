"""How commands draw in a terminal: formulas, numbers with errors, bars and histograms."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleRenderable

    from ..base.estimate import Estimate

_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_EIGHTHS_RIGHT = " ▏▎▍▌▋▊▉"
_EIGHTHS_UP = " ▁▂▃▄▅▆▇█"
_MOST_DIGITS = 10


def console() -> Console:
    """Console on the standard output: 80 columns and no colors where it is not a terminal."""
    from rich.console import Console

    # A terminal that cannot show a block shows "?" instead of stopping the command.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def show(screen: Console, thing: ConsoleRenderable | str, style: str = "") -> None:
    """Print without spaces at the ends of lines, unless the terminal needs them."""
    from rich.text import Text

    thing = Text(thing, style=style) if isinstance(thing, str) else thing
    if screen.is_terminal:
        screen.print(thing)
        return
    with screen.capture() as capture:
        screen.print(thing)
    screen.out("\n".join(line.rstrip() for line in capture.get().split("\n")), end="")


def pretty(text: str) -> str:
    """Formula with indices and powers as Unicode characters.

    Examples
    --------
    >>> pretty("He2(z1) + 3*z1*z2**12")
    'He₂(z₁) + 3 z₁ z₂¹²'
    >>> pretty("sign(z1 + xi2/2)")
    'sign(z₁ + ξ₂/2)'
    """
    text = re.sub(r"\b(He|z|xi|h)(\d+)\b", lambda m: m[1] + m[2].translate(_SUBSCRIPT), text)
    text = re.sub(r"\bxi", "ξ", text)
    text = re.sub(r"(?:\*\*|\^)\s*(\d+)", lambda m: m[1].translate(_SUPERSCRIPT), text)
    text = re.sub(r"\bsqrt\(", "√(", text).replace("*", " ")
    return re.sub(r"\bpi\b", "π", re.sub(r"  +", " ", text))


def number(estimate: Estimate) -> str:
    """Value with the digits that its error leaves.

    Examples
    --------
    >>> from gradone.base.estimate import Estimate
    >>> number(Estimate(0.3989422804, 2e-5, "quadrature")), number(Estimate(2.5))
    ('0.39894', '2.5')
    """
    value, error = estimate.value, estimate.error
    if error == 0 or not math.isfinite(value):
        return f"{value:.{_MOST_DIGITS}g}"
    if abs(value) <= min(error, 1e-9) or abs(value) < 1e-30:
        return "0"
    digits = min(_MOST_DIGITS, max(0, -math.floor(math.log10(error)) - (error >= 1)))
    if abs(value) >= 1e7 or abs(value) < 10.0**-digits:
        return f"{value:.2e}"
    return f"{value:.{digits}f}"


def with_error(estimate: Estimate) -> str:
    """Value and error as ``0.39894 ± 2e-05``, or as an exact number.

    Examples
    --------
    >>> from gradone.base.estimate import Estimate
    >>> with_error(Estimate(0.3989422804, 2e-5, "quadrature")), with_error(Estimate(2.5))
    ('0.39894 ± 2e-05', '2.5 (exact)')
    """
    return f"{number(estimate)} {error_of(estimate)}"


def error_of(estimate: Estimate) -> str:
    """Error of a number, in a word or as ``± 2e-05``."""
    return "(exact)" if estimate.error == 0 else f"± {estimate.error:.0e}"


def bar(share: float, width: int) -> str:
    """Horizontal bar of a share between 0 and 1, in eighths of a character.

    Examples
    --------
    >>> bar(0.55, 10)
    '█████▌'
    """
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    if share > 0 and eighths == 0:
        return ""
    return ("█" * (eighths // 8) + _EIGHTHS_RIGHT[eighths % 8]).rstrip()


def columns(shares: Sequence[float], height: int) -> list[str]:
    """Vertical bars as lines of text, the highest bar of full height.

    Examples
    --------
    >>> columns([0.0, 0.5, 1.0], 2)
    ['  █', ' ██']
    """
    top = max(shares) or 1.0
    eighths = [round(8 * height * share / top) for share in shares]
    # What is there but too small to draw is shown as the smallest block.
    eighths = [max(e, 1) if share > 0 else 0 for e, share in zip(eighths, shares, strict=True)]
    lines = []
    for row in range(height - 1, -1, -1):
        lines.append("".join(_EIGHTHS_UP[min(8, max(0, e - 8 * row))] for e in eighths).rstrip())
    return lines
