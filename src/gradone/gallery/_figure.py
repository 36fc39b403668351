"""Figures: what each one states about itself, and the table in which it is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from ..base.registry import Registry
from ..charts import Chart, Panels

if TYPE_CHECKING:
    import xarray as xr

    from ._memo import Memo

FIGURES = Registry("figure", "gradone.gallery")

Size = Literal["small", "paper"]
Data = Mapping[str, "xr.Dataset"]


@dataclass(frozen=True)
class Claim:
    """A statement of the literature, checked on the numbers of a figure.

    Parameters
    ----------
    text : str
        What is claimed, in one sentence.
    holds : bool
        Whether the numbers say so.
    found : str
        The numbers.

    Examples
    --------
    >>> print(Claim("the overlap vanishes below the threshold", True, "largest 0.03"))
    the overlap vanishes below the threshold: yes (largest 0.03)
    """

    text: str
    holds: bool
    found: str

    def __str__(self) -> str:
        return f"{self.text}: {'yes' if self.holds else 'NO'} ({self.found})"


class GalleryFigure(ABC):
    """One figure. A file of this room with a class under ``@FIGURES.add("name")``.

    Its first docstring line says what it shows. It computes data, draws them, and claims: three
    functions that share the data alone, so claims can be tried on data with a planted error.
    """

    name: ClassVar[str]
    """Name in the table; set by ``FIGURES.add``."""
    title: ClassVar[str]
    """Title of the picture."""
    sentence: ClassVar[str]
    """What to see, in one sentence; it becomes the caption."""
    cites: ClassVar[tuple[str, ...]]
    """Keys of the references."""
    budget: ClassVar[Mapping[Size, float]]
    """CPU seconds that it may take at each size."""

    @abstractmethod
    def compute(self, size: Size, memo: Memo) -> dict[str, xr.Dataset]:
        """Curves by name. What is dear goes through `memo`, which remembers it."""

    @abstractmethod
    def draw(self, data: Data) -> Chart | Panels:
        """Picture of the curves."""

    @abstractmethod
    def claims(self, data: Data) -> list[Claim]:
        """What the literature says about the figure, checked on the curves."""
