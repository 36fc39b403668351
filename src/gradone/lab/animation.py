"""Training as a moving picture: neurons on their way through the plane of the target."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import BadData
from .contestants import source_color
from .pictures import Events

_FRAMES, _SECONDS, _REST = 60, 6.0, 1.5  # the last frame stays for a while
_INCHES, _DPI = 4.0, 110


def plane_animation(parameters: Mapping[str, Any], events: Events) -> bytes:
    """Animated GIF of the neurons; time is logarithmic, as on the page.

    Discs are simulations and dotted lines are theories. With one direction, the other axis is the
    length of the part outside the target.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    paths = [path for event in events for path in _paths(event)]
    if not paths:
        raise BadData("this run has no neurons to show: choose time as the horizontal axis")
    times = np.concatenate([path["time"] for path in paths])
    reach = 1.08 * max(1.0, *(float(np.abs(path["points"]).max()) for path in paths))
    clock = np.geomspace(times.min(), times.max(), _FRAMES)

    figure = Figure(figsize=(_INCHES, _INCHES), dpi=_DPI, layout="constrained")
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set(xlabel="overlap with $z_1$", ylabel=f"{paths[0]['other']}")
    circle = np.linspace(0, 2 * np.pi, 181)
    axes.plot(np.cos(circle), np.sin(circle), color="#9aa2aa", lw=0.8, ls="--")
    moving = []
    for path in paths:
        style = ":" if path["is_theory"] else "-"
        (trail,) = axes.plot([], [], color=path["color"], lw=1.4, ls=style)
        (disc,) = axes.plot([], [], "o", color=path["color"], ms=0 if path["is_theory"] else 7)
        moving.append((path, trail, disc))

    frames = []
    for moment in clock:
        for path, trail, disc in moving:
            way = path["points"][path["time"] <= moment * (1 + 1e-9)]
            trail.set_data(way[:, 0], way[:, 1])
            disc.set_data(way[-1:, 0], way[-1:, 1])
        axes.set_title(f"time = {moment:.2g}", fontsize=10)
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
        frames.append(picture.quantize(64))
    durations = [round(1000 * _SECONDS / _FRAMES)] * _FRAMES
    durations[-1] += round(1000 * _REST)
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


def _paths(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Way of each neuron of a curve: times (m,) and points (m, 2)."""
    if event["kind"] != "curve" or "neurons" not in event:
        return []
    neurons = event["neurons"]
    found = []
    for number, path in enumerate(neurons["overlap"]):
        rows = np.array(path, dtype=np.float64)
        is_plane = rows.shape[1] > 1
        up = rows[:, 1] if is_plane else np.array(neurons["outside"][number], dtype=np.float64)
        found.append(
            {
                "time": np.array(neurons["time"], dtype=np.float64),
                "points": np.nan_to_num(np.stack([rows[:, 0], up], axis=1)),
                "color": source_color(event["source"]),
                "is_theory": event["source"].startswith("theory:"),
                "other": "overlap with $z_2$" if is_plane else "length outside the target",
            }
        )
    return found
