"""Progress of long fits: the callbacks of scikit-learn 1.9, and nothing where they are missing.

scikit-learn marks its callbacks as experimental, so that all of it is used here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """Base of the learners that take callbacks: ``learner.set_callbacks(ProgressBar())``."""

    def with_callbacks(method: Method) -> Method:
        """Decorator of ``fit``: callbacks are told when it ends, also by an error."""
        return method

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn before 1.9

        class CallbackSupportMixin:
            """Base of the learners that would take callbacks."""

        def with_callbacks(method: Method) -> Method:
            """Do nothing: there are no callbacks."""
            return method


@dataclass
class Step:
    """One step of a fit: its number, and what callbacks may read when it ends."""

    index: int
    metadata: dict[str, Any] = field(default_factory=dict)


def fit_steps(
    learner: Any,
    total: int,
    *,
    X: Any = None,
    y: Any = None,
    learned: Callable[[], dict[str, Any]] | None = None,
) -> Generator[Step, None, None]:
    """Steps 0, 1, ... of a fit, announced to the callbacks of the learner.

    The loop ends after `total` steps, when its body breaks out, or when a callback asks for it;
    what was learned until then stays.

    Parameters
    ----------
    learner : estimator
        Derived from ``CallbackSupportMixin``, its ``fit`` decorated by ``with_callbacks``.
    total : int
        Largest number of steps.
    X, y : array, optional
        Training data, for callbacks that want them.
    learned : callable, optional
        Gives the fitted attributes of this moment, for callbacks that want a fitted learner.

    Examples
    --------
    >>> for step in fit_steps(object(), 100):
    ...     if step.index == 2:
    ...         break
    >>> step.index
    2
    """
    if not hasattr(learner, "_init_callback_context"):
        yield from map(Step, range(total))
        return
    data = {"estimator": learner, "X": X, "y": y, "reconstruction_attributes": learned}
    root = learner._init_callback_context(max_subtasks=total)
    root.call_on_fit_task_begin(**data)
    try:
        for index in range(total):
            task = root.subcontext(task_name="step")
            task.call_on_fit_task_begin(**data)
            step, stop = Step(index), False
            try:
                yield step
            finally:  # also when the body breaks out
                stop = task.call_on_fit_task_end(metadata=step.metadata, **data)
            if stop:
                return
    finally:
        root.call_on_fit_task_end(**data)
