"""The table of charts that have a name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ..base.registry import Registry
from ._chart import Chart
from ._curves import Part

CHARTS = Registry("chart", "gradone.charts")


class Preset:
    """Choices of :func:`draw` under a name: a class under ``@CHARTS.add("name")``."""

    name: ClassVar[str]
    """Name in the table; set by ``CHARTS.add``."""
    y: ClassVar[tuple[str, ...]]
    """Quantities to choose from: the first that all curves have."""
    x: ClassVar[tuple[str, ...]]
    """Horizontal axes to choose from: the first that varies."""
    log: ClassVar[str] = ""
    """Logarithmic axes: ``""``, ``"x"``, ``"y"`` or ``"xy"``."""
    caption: ClassVar[str]
    """What to see."""


class NamedChart(Preset, ABC):
    """A chart of a form of its own."""

    @abstractmethod
    def chart(self, parts: Sequence[Part], *, title: str) -> Chart:
        """Chart of one or several sources."""
