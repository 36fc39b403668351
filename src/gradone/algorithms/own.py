"""An algorithm of one's own: any estimator, with a name, a color and a theory to stand beside."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..base.errors import BadData
from ..learners._foreign import find_class, is_foreign, name_of, parameters_of
from ..learners._trained import Trained, named_source, shown_name
from ..targets.sampled import Sampled
from ._card import Algorithm as Card
from ._cards import card_of
from ._run import Run


class Algorithm(Card):
    """Any estimator with ``fit(X, y)`` and ``predict(X)``, wherever an algorithm can be named.

    Parameters
    ----------
    estimator : object, function or str
        The estimator, not fitted, or ``"package.module:Class"``. Every fit is made by a new one
        with the same parameters; ``random_state``, also of its parts, is set for each replicate.
        A function ``train(X, y)`` that gives back a trained network (a function of X, a torch
        module, ...) is an estimator too; if it has an argument ``random_state``, it is told one.
    label : str, optional
        Name for people; the name of the class by default.
    color : str, optional
        Name in the palette, or ``#rrggbb``.
    theory : str, optional
        Name of an algorithm or theory of gradone, whose curve is shown as that of this one.
    directions : callable, optional
        Module-level function of the fitted estimator that gives its directions (k, d). Otherwise
        they are ``directions_``, ``coef_``, ``weights_`` or ``coefs_[0]``, or those in which
        `predict` changes most on average (finite differences); of more than the target has, the
        leading ones are measured.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> mine = Algorithm(Ridge(alpha=0.1), label="ridge on the inputs")
    >>> mine.name, mine.learner, mine.settings["parameters"]["alpha"]
    ('Ridge', 'sklearn.linear_model._ridge:Ridge', 0.1)
    """

    family = "tables"

    def __init__(
        self,
        estimator: Any,
        *,
        label: str = "",
        color: str = "",
        theory: str = "",
        directions: Callable[[Any], Any] | None = None,
    ) -> None:
        if isinstance(estimator, str):
            if not is_foreign(estimator):
                raise BadData(f"'{estimator}' names no class; write \"package.module:Class\"")
            self.learner, given = name_of(find_class(estimator)), {}
        else:
            if isinstance(estimator, type):
                raise BadData(f"give an estimator, {estimator.__name__}(...), not its class")
            if inspect.isfunction(estimator):
                estimator = Trained(*named_source(estimator))
            self.learner, given = name_of(type(estimator)), parameters_of(estimator)
        find_class(self.learner)
        given.pop("random_state", None)
        self.name = shown_name(self.learner, {"parameters": given})
        self.label, self.color = label or self.name, color
        self.settings: dict[str, Any] = {"parameters": given}
        if directions is not None:
            self.settings["directions_from"] = name_of(directions)
        self._like = card_of(theory) if theory else None
        if theory and (self._like is None or not self._like.theory):
            raise BadData(f"there is no theory of the name '{theory}'; gradone list shows them")
        self.theory = self._like.theory if self._like else ""
        # What another process must be able to import.
        self.where = given["train"] if isinstance(estimator, Trained) else self.learner

    @property
    def look(self) -> dict[str, str]:
        """What an entry of a sweep says about its looks, and about the theory beside it."""
        own = {"label": self.label if self.label != self.name else "", "color": self.color}
        own["theory_of"] = self._like.name if self._like else ""
        return {key: value for key, value in own.items() if value}

    def theory_for(self, target: Sampled) -> str:
        """Name of the theory for a target; empty if there is none."""
        return self._like.theory_for(target) if self._like else ""

    def theory_arguments(self, run: Run) -> dict[str, Any]:
        """Arguments of the theory, as those of the algorithm that it belongs to."""
        return self._like.theory_arguments(run) if self._like else {}

    def learner_arguments(self, run: Run) -> dict[str, Any]:
        """Parameters of the estimator, as a simulation takes them."""
        return {**self.settings, **run.settings}


def as_card(given: Any) -> Card:
    """Card of an algorithm that is given by name, by its own card, or as an estimator."""
    from ._card import ALGORITHMS

    if isinstance(given, Card):
        return given
    if isinstance(given, str) and not is_foreign(given):
        found: Card = ALGORITHMS[given]()
        return found
    return Algorithm(given)
