"""The search for directions: proposals, refinement and pruning, stage after stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .linear import RidgeFit
from .proposals import Candidate, proposals
from .prune import price, pruned
from .refine import Refined, refined
from .rows import Rows
from .smoother import SmootherFit

_STEPS, _STEPS_ON_ALL = 7, 3
_OTHER_SCALES, _SCALE = (0.4, 2.5), 0.7
_PAIR = 0.99  # a pair of directions must have at most this share of the error of one
_PERFECT = 1e-4
_LEAST_GAIN = 5e-4  # of the variance of the labels
_FINALISTS = 3
_FIRST_STAGES = 3  # until this one a stage of little gain is forgiven once


@dataclass(frozen=True)
class Stage:
    """What one stage of the search has found."""

    fit: SmootherFit
    score: float
    """Corrected leave-one-out error over the variance of the labels."""
    origin: str
    """Which proposal won."""

    @property
    def rank(self) -> int:
        """Number of directions."""
        return int(self.fit.B.shape[1])


@dataclass(frozen=True)
class SearchSettings:
    """How far to search.

    Parameters
    ----------
    max_directions : int
        Most directions.
    min_gain : float
        Share of the error that a stage must take away.
    landmarks : int
        Landmarks of the smoother.
    subsample : int
        Rows that the search is made on; the result is then refined on all.
    most_stages : int
        Most stages after the first proposal.
    probe : bool
        Whether a kernel that nearly interpolates proposes directions too.
    """

    max_directions: int
    min_gain: float
    landmarks: int
    subsample: int
    most_stages: int
    probe: bool = True


def search(
    rows: Rows,
    linear: RidgeFit,
    *,
    settings: SearchSettings,
    extra: Sequence[Candidate],
    sample: np.ndarray,
    proceed: Callable[[int], bool],
) -> Iterator[Stage]:
    """Stages of the search, the first of them not refined.

    Parameters
    ----------
    rows : Rows
        Training rows.
    linear : RidgeFit
        Ridge regression on them, whose residual the first proposals come from.
    settings : SearchSettings
        How far to search.
    extra : sequence of (name, directions)
        Further proposals.
    sample : ndarray of int
        Rows in random order.
    proceed : callable
        Asked with the number of each stage before it; False ends the search.

    Yields
    ------
    Stage
        The best single proposal before it is refined, then the best after each stage that was an
        improvement.
    """
    landmarks = sample[: settings.landmarks]
    B = np.zeros((rows.X.shape[1], 0))
    signals = [linear.residuals, rows.centered(rows.Y)]
    known: SmootherFit | None = None
    score, weak = linear.score, 0
    for number in range(settings.most_stages):
        if not score or not proceed(number + 1):  # nothing is left to be explained
            return
        room = settings.max_directions - B.shape[1]
        candidates = proposals(rows, B, signals, extra)
        won = _best_proposal(rows, known, candidates, landmarks, room=room)
        if won is None:
            return
        origin, fit = won
        if number == 0:
            yield Stage(fit, fit.score(), origin)
        found = refined(fit, _STEPS, hopeless=score if number else np.inf)
        if not number or found.score < score:
            found = pruned(found)
        before, gain = score, 1 - found.score / score
        added = max(found.fit.B.shape[1] - B.shape[1], 0) if number else 0
        if gain > added * price(rows):
            score, known, B = found.score, found.fit, found.fit.B
            yield Stage(found.fit, found.score, origin)
            signals = [found.fit.residuals]
        else:  # the next proposals would be the same
            return
        weak += gain < settings.min_gain or gain * before < _LEAST_GAIN
        if weak == 2 or (weak and number + 1 >= _FIRST_STAGES) or score < _PERFECT:
            return
        if B.shape[1] >= settings.max_directions:
            return


def _best_proposal(
    rows: Rows,
    known: SmootherFit | None,
    candidates: list[Candidate],
    landmarks: np.ndarray,
    *,
    room: int,
) -> tuple[str, SmootherFit] | None:
    """The proposal with the smallest leave-one-out error beside the known directions.

    Those that look best by generalized cross-validation, at the penalty of what is known or else
    of the first of them, are looked at more closely.
    """
    few = [(name, columns) for name, columns in candidates if columns.shape[1] <= room]
    if not few:
        return None
    start = SmootherFit(rows, few[0][1], landmarks) if known is None else known
    beside, unit = (start.B[:, :0], 1.0) if known is None else (known.B, _SCALE)
    trials = [
        (name, start.at(np.hstack([beside, unit * columns]), penalty=start.penalty))
        for name, columns in few
    ]
    trials.sort(key=lambda trial: trial[1].generalized_score())
    fits = [(name, fit.complete()) for name, fit in trials[:_FINALISTS]]
    if known is None:  # nothing says yet how rough the function is
        fits += [(name, fit.at(scale * fit.B)) for name, fit in fits for scale in _OTHER_SCALES]
    rank = min(fit.B.shape[1] for _, fit in fits)

    def score(named: tuple[str, SmootherFit]) -> float:
        return named[1].score() / (_PAIR if named[1].B.shape[1] > rank else 1.0)

    return min(fits, key=score)


def on_all_rows(
    rows: Rows, B: np.ndarray, landmarks: np.ndarray, *, iterations: int = _STEPS_ON_ALL
) -> Refined:
    """Directions found elsewhere, refined on all rows."""
    return refined(SmootherFit(rows, B, landmarks), iterations)
