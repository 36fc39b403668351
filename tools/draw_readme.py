"""Draw the picture of the README: energies of the example target and the law of its labels.

Usage: python tools/draw_readme.py     (needs matplotlib: `make docs` installs it)
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import gradone as gd

TARGET = "He2(z1) + sign(z1*z2*z3)"
PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "readme.svg"
BLUE, ORANGE, GRAY = "#0072B2", "#E69F00", "#777777"  # Okabe-Ito
DEGREE = 10


def draw() -> Figure:
    """Two panels: energy per degree, density of the label."""
    target = gd.Target(TARGET)
    expansion = target.hermite(DEGREE)
    figure = Figure(figsize=(8.4, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    energies = [energy.value for energy in expansion.energies]
    left.bar(range(DEGREE + 1), energies, color=BLUE, width=0.7)
    left.bar(DEGREE + 1.4, expansion.tail.value, color=GRAY, width=0.7)
    ticks = list(range(0, DEGREE + 1, 2))
    left.set_xticks([*ticks, DEGREE + 1.4], [*map(str, ticks), f"> {DEGREE}"])
    left.set(xlabel="degree", ylabel="Hermite energy")
    left.set_title("what there is to learn", fontsize=10)

    y = target.sample(n=400_000, d=3, seed=0).y
    right.hist(y, bins=np.linspace(-2, 5, 106), density=True, color=ORANGE)
    right.set(xlabel="label $y$", ylabel="density", xlim=(-2.1, 5))
    right.set_title(f"$y = {target.latex.replace('operatorname', 'mathrm')}$", fontsize=10)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    # A fixed salt and no date: the same picture is the same file.
    mpl.rcParams["svg.hashsalt"] = "gradone"
    draw().savefig(PICTURE, metadata={"Date": None}, facecolor="white")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")
