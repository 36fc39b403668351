"""SGD by the signs of the gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..targets.sampled import Sampled
from ..targets.target import Target
from ..targets.training import read_training
from ._card import ALGORITHMS
from ._neurons import OnePassCard
from ._run import Run


@ALGORITHMS.add("sign_sgd")
class SignSGDCard(OnePassCard):
    """One pass of SGD in which every coordinate of a gradient is replaced by its sign."""

    label, color = "sign-SGD", "#546E7A"
    rule = "plain"
    update = {"optimizer": "sign"}
    how = (
        "Each coordinate moves by the sign of its gradient; the simulation without coordinates is "
        "that of directions that are spread over them."
    )

    def compiled(self, target: Sampled) -> Iterable[Callable[[], object]]:
        """The chain of its order parameters."""
        if not isinstance(target, Target):
            return []
        from ..dynamics._compile import compiled_chain

        student = read_training(optimizers=True, **self.student(Run(target)))
        return [lambda: compiled_chain(student, target, "effective")]

    def engine_arguments(self, run: Run) -> dict[str, Any]:
        """As for the others, in the limit of directions that are spread over the coordinates."""
        return {**super().engine_arguments(run), "method": "effective"}
