"""The registry of learners."""

from __future__ import annotations

from ..base.registry import Registry

LEARNERS = Registry("learner", "gradone.learners")
"""Estimators of scikit-learn's kind by name. A learner is a class in a module of its own under
``@LEARNERS.add("its_name")``; it states its ``cites`` and its ``cost``."""
