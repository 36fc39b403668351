"""gradone: how neural networks learn high-dimensional functions with gradient descent.

>>> import gradone as gd
>>> gd.Target("He2(z1) + sign(z1*z2*z3)").r
3
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algorithms.own import Algorithm as Algorithm
    from .algorithms.plan import plan as plan
    from .algorithms.predict import predict as predict
    from .analysis.analyze import Analysis as Analysis
    from .analysis.analyze import analyze as analyze
    from .analysis.plan import Plan as Plan
    from .base.errors import BadData as BadData
    from .base.errors import GradoneError as GradoneError
    from .base.errors import NotConverged as NotConverged
    from .base.errors import OutOfRegime as OutOfRegime
    from .base.errors import TargetError as TargetError
    from .base.errors import TargetSyntaxError as TargetSyntaxError
    from .base.errors import TooLarge as TooLarge
    from .base.estimate import Estimate as Estimate
    from .base.references import cite as cite
    from .charts import Chart as Chart
    from .charts import Panels as Panels
    from .charts import draw as draw
    from .experiments.compare import compare as compare
    from .experiments.run import run as run
    from .experiments.simulate import simulate as simulate
    from .experiments.spec import Experiment as Experiment
    from .experiments.watch import Monitor as Monitor
    from .experiments.watch import watch as watch
    from .gallery import atlas as atlas
    from .report.network.probe import probe as probe
    from .report.study import study as study
    from .targets.activation import Activation as Activation
    from .targets.hierarchical import Might as Might
    from .targets.hierarchical import QuadraticForms as QuadraticForms
    from .targets.hierarchical import Sight as Sight
    from .targets.hierarchical import Tree as Tree
    from .targets.inputs import inputs as inputs
    from .targets.sampling import Sample as Sample
    from .targets.student import Student as Student
    from .targets.target import Committee as Committee
    from .targets.target import Target as Target
    from .targets.zoo import zoo as zoo

# Public name -> module that defines it. Loaded on first use, so that `import gradone` stays fast.
_PUBLIC = {
    "Activation": "targets.activation",
    "Algorithm": "algorithms.own",
    "Analysis": "analysis.analyze",
    "BadData": "base.errors",
    "Chart": "charts",
    "Committee": "targets.target",
    "Estimate": "base.estimate",
    "Experiment": "experiments.spec",
    "GradoneError": "base.errors",
    "Might": "targets.hierarchical",
    "Monitor": "experiments.watch",
    "NotConverged": "base.errors",
    "OutOfRegime": "base.errors",
    "Panels": "charts",
    "Plan": "analysis.plan",
    "QuadraticForms": "targets.hierarchical",
    "Sample": "targets.sampling",
    "Sight": "targets.hierarchical",
    "Student": "targets.student",
    "Target": "targets.target",
    "TargetError": "base.errors",
    "TargetSyntaxError": "base.errors",
    "TooLarge": "base.errors",
    "Tree": "targets.hierarchical",
    "analyze": "analysis.analyze",
    "atlas": "gallery",
    "cite": "base.references",
    "compare": "experiments.compare",
    "draw": "charts",
    "inputs": "targets.inputs",
    "plan": "algorithms.plan",
    "predict": "algorithms.predict",
    "probe": "report.network.probe",
    "run": "experiments.run",
    "simulate": "experiments.simulate",
    "study": "report.study",
    "watch": "experiments.watch",
    "zoo": "targets.zoo",
}
_ROOMS = (
    "algorithms",
    "analysis",
    "base",
    "calculus",
    "channels",
    "charts",
    "dynamics",
    "experiments",
    "gallery",
    "learners",
    "report",
    "targets",
    "theory",
)

__all__ = [*sorted(_PUBLIC), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
    elif name in _ROOMS:
        value = importlib.import_module(f".{name}", __name__)
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("gradone")
    else:
        raise AttributeError(f"module 'gradone' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_PUBLIC, *_ROOMS, "__version__"})
