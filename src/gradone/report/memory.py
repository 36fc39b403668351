"""The curves of a report in a file beside it, so that a later study makes them finer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData
from ..base.pool import Call

if TYPE_CHECKING:
    from .study import Study


def remember(study: Study, file: Path) -> None:
    """Write every curve of a study with the question that it answers."""
    answers = {
        _question(name, call): outcome.answers[place].to_dict()
        for name, outcome in study.outcomes.items()
        for place, call in outcome.calls.items()
        if place in outcome.answers
    }
    file.write_text(json.dumps({"study": _identity(study), "answers": answers}), encoding="utf-8")


def recollection(study: Study, report: Path) -> Callable[[str, Call], Any]:
    """Function that knows the answers of an earlier report; refuses one of another study."""
    import xarray as xr

    file = report.with_suffix(".json")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        answers, identity = found["answers"], found["study"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadData(
            f"there is nothing to resume: {file} has no curves of a study "
            f"({type(error).__name__}). Run the study without --resume first"
        ) from None
    if identity != _identity(study):
        raise BadData(
            f"{file} is of another study, {identity}: resume with the same target, d and seed, "
            "or run the study without --resume"
        )

    def recall(name: str, call: Call) -> Any:
        known = answers.get(_question(name, call))
        return None if known is None else xr.Dataset.from_dict(known)

    return recall


def _identity(study: Study) -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "gradone": version("gradone"),
        "target": study.target.text,
        "noise": study.target.noise,
        "d": study.d,
        "seed": study.seed,
    }


def _question(name: str, call: Call) -> str:
    """A call as text; the target is that of the study, and a run that is followed is its own."""
    given = {key: value for key, value in call[1].items() if key not in ("target", "run")}
    return f"{name} {json.dumps(given, sort_keys=True)}"
