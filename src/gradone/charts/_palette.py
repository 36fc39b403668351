"""Colors: the palette of Okabe and Ito, and colors for what has none of its own."""

from __future__ import annotations

import re
import zlib

from ..base.errors import BadData, did_you_mean

PALETTE = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "black": "#000000",
    "gray": "#777777",
    "yellow": "#F0E442",
}
"""Okabe and Ito's colors for the color-blind; gray is for marks that are no data."""

CYCLE = tuple(PALETTE[name] for name in "blue vermillion green orange purple sky black".split())
"""Order in which series without a color of their own take theirs; yellow is too pale for lines."""

# Viridis from dark to light without its pale end, for families ordered by a parameter.
_ORDERED = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (190, 220, 40))


def color_of(name: str) -> str:
    """Color of a series that has none of its own: always the same for the same name.

    Examples
    --------
    >>> color_of("theory:mine") == color_of("simulation:mine")
    True
    """
    return CYCLE[zlib.crc32(name.rpartition(":")[2].encode()) % len(CYCLE)]


def ordered_colors(count: int) -> tuple[str, ...]:
    """Colors from dark to light for a family ordered by a parameter.

    Examples
    --------
    >>> ordered_colors(2)
    ('#440154', '#bedc28')
    """
    colors = []
    for i in range(count):
        place = i * (len(_ORDERED) - 1) / max(count - 1, 1)
        left = min(int(place), len(_ORDERED) - 2)
        share = place - left
        pairs = zip(_ORDERED[left], _ORDERED[left + 1], strict=True)
        red, green, blue = (round(a + share * (b - a)) for a, b in pairs)
        colors.append(f"#{red:02x}{green:02x}{blue:02x}")
    return tuple(colors)


def check_color(color: str) -> str:
    """Hexadecimal form of a color given by its name in the palette or as ``#rrggbb``.

    Examples
    --------
    >>> check_color("blue")
    '#0072B2'
    """
    if color in PALETTE:
        return PALETTE[color]
    if isinstance(color, str) and re.fullmatch(r"#[0-9A-Fa-f]{6}", color):
        return color
    raise BadData(
        f"unknown color {color!r}.{did_you_mean(str(color), PALETTE)} "
        f"Known: {', '.join(PALETTE)}, or '#rrggbb'."
    )
