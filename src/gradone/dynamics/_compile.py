"""The chain of order parameters as machine code, for one student and target."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ..targets.language.compiled import load_module, module_source, pattern
from ..targets.language.expression import Expression
from ..targets.losses import SCALED, Residual
from ..targets.optimizers import COORDINATEWISE, EPSILON
from ..targets.target import Target
from ..targets.training import PLAIN_LOSSES, TrainedStudent

Kind = Literal[
    "single", "batch", "repeated", "stacked_single", "stacked_batch", "direct", "effective"
]

_PATTERNS = Path(__file__).parent / "_patterns"
_DISPLACED = ("extragradient", "sam", "sam_normalized")
_REPEATED = ("k_steps", "look_ahead")
_STACKED = ("stacked_single", "stacked_batch")


def kind_of_chain(student: TrainedStudent, *, blocks: bool = False) -> Kind:
    """Which of the patterns simulates a student; inputs with `blocks` need a stack."""
    if student.optimizer in COORDINATEWISE:
        return "direct"
    if blocks or not student.is_plain_sgd:
        alone = student.batch_size == 1 and student.optimizer != "muon"
        return "stacked_single" if alone else "stacked_batch"
    if student.batch_size == 1:
        return "single"
    return "batch" if student.rule == "plain" else "repeated"


def is_separate(student: TrainedStudent) -> bool:
    """Whether a stack must know what is outside its frame of every sample of a batch."""
    return student.clip == "sample" or student.batch_size == 1


def compiled_chain(
    student: TrainedStudent, target: Target, kind: Kind | None = None
) -> Callable[..., int]:
    """Function ``advance`` of the chain; compiled once for each student and target, kept on disk.

    Latent noise of a sample stands at the end of its coordinates.

    Examples
    --------
    >>> from gradone.targets.training import read_training
    >>> chain = compiled_chain(read_training(), Target("z1"))
    >>> chain is compiled_chain(read_training(width=3, step_size=0.1), Target("z1"))
    True
    """
    kind = kind or kind_of_chain(student)
    chain: Any = load_module(
        _source(
            kind,
            student.sigma.expression,
            target.joint,
            target.q,
            student.loss,
            student.loss_scale if student.loss in SCALED else 1.0,
            _choices(student, kind),
        )
    ).advance
    return chain


def _choices(student: TrainedStudent, kind: Kind) -> tuple[tuple[str, bool], ...]:
    """Constants of a generated module: what a student does."""
    rule, loss, geometry = student.rule, student.loss, student.geometry
    choices = {
        "SQUARE_LOSS": loss == "square",
        "OTHER_LOSS": loss not in PLAIN_LOSSES,
        "DISPLACED": rule in _DISPLACED,
        "NORMALIZED": rule == "sam_normalized",
        "REPEATED": rule in _REPEATED,
        "UNIT_NORM": geometry != "euclidean",
        "TANGENT": geometry == "spherical",
    }
    if kind in _STACKED:
        choices |= {
            "MOMENTUM": student.momentum > 0,
            "LOOK_AHEAD": student.nesterov == "look_ahead",
            "UNIT_STEP": student.optimizer == "normalized",
        }
    if kind == "stacked_batch":
        choices |= {"MUON": student.optimizer == "muon", "SEPARATE": is_separate(student)}
    if kind == "direct":
        choices |= {name.upper(): student.optimizer == name for name in COORDINATEWISE}
    return tuple(choices.items())


@lru_cache(maxsize=64)
def _source(
    kind: Kind,
    activation: Expression,
    target: Expression,
    latent: int,
    loss: str,
    scale: float,
    choices: tuple[tuple[str, bool], ...],
) -> str:
    """Text of the generated module."""
    functions = {
        "sigma": (activation.tree, 1),
        "slope": (activation.derivative().tree, 1),
        "target": (target.tree, target.r),
    }
    if loss not in PLAIN_LOSSES:
        functions["residual"] = (Residual(loss, scale).tree, 2)
    constants = "".join(f"{name} = {value}\n" for name, value in choices)
    seen = [f"x[{k}]" for k in range(target.r - latent)]
    coordinates = ", ".join(seen + [f"x[x.size - {latent - i}]" for i in range(latent)])
    label = (
        '\n\n@njit(nogil=True, error_model="numpy")\n'
        f"def label(x):\n    return target({coordinates})\n"
    )
    head = module_source(functions) + "\nimport numpy as np\n\n" + constants + label
    head += f"\nEPSILON = {EPSILON!r}\n" if kind == "direct" else ""
    parts = ("frame", "stack", kind) if kind in _STACKED else ("frame", kind)
    return head + "".join(pattern(_PATTERNS / f"{part}.py") for part in parts)
