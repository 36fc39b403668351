"""A picture in which each kind of series occurs."""

import math

import numpy as np

from gradone.charts import Axis, Chart, Panels, band, bar, heat, hline, line, points, vline

X = np.linspace(0.5, 3, 6)
GAP = [0.1, math.nan, 0.3]


def every_kind():
    """Panels in which each kind of series occurs, with gaps, indices and logarithms."""
    curves = Chart(
        r"overlap $q_{11}$",
        Axis(r"$\alpha=n/d$", range=(0, None)),
        Axis("overlap"),
        (
            band("bounds", X, X - 0.2, X + 0.2, color="gray"),
            line("theory", X, X, 0.1 * X, color="blue", dash="dash"),
            points("runs", X[:3], GAP, [0.1, 0.1, 0.1], color="blue", hollow=True),
            points("", [1.0], [2.0], text=["here"], marker="none"),
            points("simulation", [], []),
            vline(r"$\alpha_c$", [1.0, 2.0]),
            hline("", 0.5),
        ),
        "What to see.",
        origin={"command": "gradone figure x"},
    )
    laws = Chart("", Axis("$n$", "log"), Axis("error", "log"), (line("", 10**X, 10**-X),))
    cells = Chart("map", Axis("x"), Axis("y"), (heat("$z$", [1, 2], [1, 2, 3], np.eye(3, 2)),))
    named = Axis("degree", ticks=((0, "$0$"), (1, "one")))
    bars = Chart("", named, Axis("energy"), (bar("a", [0, 1], [1, 2], [0.1, 0.2]),))
    return Panels("all kinds", (curves, laws, cells, bars))
