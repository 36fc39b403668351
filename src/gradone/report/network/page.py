"""The findings of a probe as charts and as a page."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from ...charts import Axis, Chart, Panels, hline, points
from .words import HEADS, rows_of

if TYPE_CHECKING:
    from .measures import Standing
    from .probe import Probe

_SHOWN = 40  # values of a spectrum
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def chart(found: Probe) -> Panels:
    """Spectra of gradients and weights, and what a linear readout of each layer explains."""
    charts = []
    for title, standing in (("first layer", found.weights), ("gradients", found.gradients)):
        if standing is not None:
            charts.append(_spectrum(title, standing))
    places = np.arange(1.0, len(found.layers) + 1)
    values = [one.linear_r2 for one in found.layers]
    errors = [one.linear_r2_err for one in found.layers]
    charts.append(
        Chart(
            "layers",
            Axis(
                "",
                ticks=tuple((p, str(i)) for i, p in enumerate(places)),
                range=(0.5, len(places) + 0.5),
            ),
            Axis("$R^2$ of a linear readout"),
            (points("", places, values, errors, color="blue"),),
            caption="0 are the inputs, then the layers in their order.",
            legend="none",
        )  # fmt: skip
    )
    return Panels("", tuple(charts), caption="Values above the dotted line stand out.")


def _spectrum(title: str, standing: Standing) -> Chart:
    values = np.maximum(standing.values[:_SHOWN], 1e-12 * standing.values[0])
    x = np.arange(1, len(values) + 1)
    series = (
        points("values", x, values, color="blue"),
        hline("edge of chance", standing.edge),
    )
    return Chart(title, Axis("rank"), Axis("eigenvalue", scale="log"), series, legend="upper right")


def body(found: Probe) -> str:
    """The answer as HTML without a head."""
    head = "".join(f"<th>{escape(word)}</th>" for word in HEADS)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows_of(found)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<section class='verdict'><h2>{escape(found.kind)}</h2><p>{escape(found.verdict)}</p>"
        f"</section><figure>{found.chart().to_svg()}</figure>"
        f'<section><h2>Layers</h2><div class="scroll">{table}</div></section>'
    )


def page(found: Probe) -> str:
    """The page."""
    style = files("gradone.report.table").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>What the network has learned</title><style>{style}</style></head>\n"
        f"<body><main><header><h1>What the network has learned</h1><p>{found.n} rows, {found.d} "
        f"inputs</p></header>{body(found)}</main></body></html>\n"
    )
