"""Scripts, styles and fonts of a page, as text that stands in the page itself."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from importlib.resources import files

_FONT = re.compile(r"src:url\(fonts/([\w-]+\.woff2)\)[^;}]*")


@lru_cache(maxsize=1)
def formula_style() -> str:
    """Style sheet of KaTeX with its fonts inside.

    Examples
    --------
    >>> "url(fonts" in formula_style(), "data:font/woff2" in formula_style()
    (False, True)
    """
    folder = files("gradone.charts").joinpath("assets", "katex")

    def inline(found: re.Match[str]) -> str:
        data = base64.b64encode(folder.joinpath("fonts", found[1]).read_bytes()).decode()
        return f'src:url(data:font/woff2;base64,{data}) format("woff2")'

    return _FONT.sub(inline, folder.joinpath("katex.min.css").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def formula_script() -> str:
    """Script of KaTeX."""
    path = files("gradone.charts").joinpath("assets", "katex", "katex.min.js")
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=2)
def own(name: str) -> str:
    """File of this room: ``page.css`` or ``page.js``."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
