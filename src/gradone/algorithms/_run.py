"""What a person chose, in the terms that all algorithms share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base.errors import BadData
from ..targets.sampled import Sampled


@dataclass(frozen=True)
class Run:
    r"""One run, in common terms: n is the number of all samples that an algorithm sees.

    Parameters
    ----------
    target : Target or hierarchical target
        What is learned.
    axis : {"alpha", "kappa", "time", "batch_ratio"}
        What the places are: :math:`\alpha = n/d`, :math:`\kappa = \log n/\log d`, steps divided by
        d, or the samples of each of several steps divided by d.
    places : sequence of float
        Values of the axis; none means as long as it takes, for those who can tell.
    d : int, optional
        Dimension; None is the limit of many dimensions.
    seed : int
        Of everything random.
    settings : mapping
        Whatever else was chosen: ``width_ratio``, ``ridge``, ``step_size``, ...

    Examples
    --------
    >>> from gradone import Target
    >>> run = Run(Target("z"), "alpha", [0.5, 2.0], d=100)
    >>> run.n, run.kappa.round(2)
    (array([ 50, 200]), array([0.85, 1.15]))
    """

    target: Sampled
    axis: str = "alpha"
    places: Any = ()
    d: int | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", np.atleast_1d(np.asarray(self.places, dtype=float)))

    @property
    def dimension(self) -> int:
        """The dimension, for whoever cannot do without."""
        if self.d is None:
            raise BadData("a run of samples needs the dimension d")
        return self.d

    @property
    def alpha(self) -> np.ndarray:
        """Samples per dimension at each place; with one pass, that is the time."""
        if self.axis == "kappa":
            return self.dimension ** (self.places - 1.0)
        return self.places

    @property
    def kappa(self) -> np.ndarray:
        """Log n / log d at each place."""
        if self.axis == "kappa":
            return self.places
        return 1.0 + np.log(self.places) / np.log(self.dimension)

    @property
    def n(self) -> np.ndarray:
        """Whole numbers of samples at each place, at least two."""
        d = self.dimension
        n = d**self.places if self.axis == "kappa" else self.places * d
        return np.maximum(2, np.round(n)).astype(int)

    def at(self, place: float) -> Run:
        """The run at one of its places."""
        return replace(self, places=[place])
