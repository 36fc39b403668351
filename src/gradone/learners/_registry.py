"""The registry of learners."""

from __future__ import annotations

from typing import Any

from ..base.registry import Registry
from ._foreign import find_class, is_foreign


class _Learners(Registry):
    """Learners by name, and those of others as ``"package.module:Class"``."""

    def __getitem__(self, name: str) -> Any:
        return find_class(name) if is_foreign(name) else super().__getitem__(name)


LEARNERS = _Learners("learner", "gradone.learners")
"""Estimators of scikit-learn's kind by name. A learner is a class in a module of its own under
``@LEARNERS.add("its_name")``; it states its ``cites`` and its ``cost``. The name
``"package.module:Class"`` stands for any class with ``fit(X, y)`` and ``predict(X)``."""
