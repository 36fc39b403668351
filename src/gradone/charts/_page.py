"""Interactive pictures as HTML that needs no network: the script stands in the page."""

from __future__ import annotations

import hashlib
import html
import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ._labels import to_html as label_html

if TYPE_CHECKING:
    from ._chart import Picture

_CONFIG = {"displaylogo": False, "responsive": True}


@lru_cache(maxsize=1)
def script() -> str:
    """Script element that draws charts; a page needs it once, before the first of them."""
    path = files(__package__).joinpath("assets", "plotly", "plotly-cartesian.min.js")
    return f"<script>{path.read_text(encoding='utf-8')}</script>"


def element(picture: Picture) -> str:
    """A picture as an element of a page that has :func:`script`."""
    description = json.dumps(picture.plotly_dict(), allow_nan=False)
    name = f"chart-{hashlib.blake2b(description.encode(), digest_size=6).hexdigest()}"
    # In a script element only "</" could end it.
    safe = description.replace("</", "<\\/")
    return (
        f'<div id="{name}" class="gradone-chart"></div>'
        f"<script>{{const picture = {safe}; Plotly.newPlot("
        f'"{name}", picture.data, picture.layout, {json.dumps(_CONFIG)});}}</script>'
    )


def page(picture: Picture) -> str:
    """A picture as a complete page."""
    title = html.escape(picture.title.replace("$", ""), quote=False) or "chart"
    caption = f"<p>{label_html(picture.caption)}</p>" if picture.caption else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title>{script()}"
        "<style>body{font-family:serif;max-width:70rem;margin:1rem auto;padding:0 1rem}</style>"
        f"</head><body>{element(picture)}{caption}</body></html>\n"
    )
