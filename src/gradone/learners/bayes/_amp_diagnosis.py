"""What a run of Bayes-AMP has learned, judged without knowing the truth."""

from __future__ import annotations

import math

import numpy as np

from ...base.estimate import Estimate
from ...channels.samples.channel import SampleChannel
from ._amp_iteration import NEGLIGIBLE, AmpRun

_MISMATCH = 0.15  # self-overlap against I - V: equal in theory
_NORMAL_99 = 2.5758293035489  # half-width of a 99 % interval in standard errors


def evidence_gain(run: AmpRun, y: np.ndarray, channel: SampleChannel) -> Estimate:
    """Mean gain in log evidence per label over knowing nothing, at means that leave the label out.

    Parameters
    ----------
    run : AmpRun
        The run. Its cavity means do not depend on their own label to leading order, so that the
        gain is one of prediction, not of fit.
    y : ndarray (n,)
        Labels.
    channel : SampleChannel
        Law of the labels.
    """
    before = channel.posterior(y, np.zeros((len(y), channel.r)), np.eye(channel.r)).log_z
    possible = np.isfinite(run.posterior.log_z) & np.isfinite(before)
    gains = (run.posterior.log_z - np.where(possible, before, 0.0))[possible]
    if len(gains) < 2:
        return Estimate(0.0, math.inf, "monte_carlo", note="no label was possible")
    error = _NORMAL_99 * float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return Estimate(float(gains.mean()), error, "monte_carlo")


def diagnosis(run: AmpRun, gain: Estimate, d: int) -> str:
    """Sentences about the end of the run, the directions, and the evidence.

    Parameters
    ----------
    run : AmpRun
        The run.
    gain : Estimate
        Its gain in log evidence.
    d : int
        Number of features.
    """
    overlap, axes = np.linalg.eigh(run.W.T @ run.W / d)
    learned = overlap >= NEGLIGIBLE / d
    sentences = [_end(run), _directions(overlap, axes, learned)]
    mismatch = float(np.abs(overlap - np.sort(1 - np.linalg.eigvalsh(run.V))).max())
    if mismatch > _MISMATCH:
        sentences.append(
            f"The self-overlap and the posterior covariance disagree by {mismatch:.2f}: the "
            "channel or the independence of the features may be wrong."
        )
    if run.status == "converged":
        shown = f"{gain.value:.4f} ± {gain.error:.4f}"
        if gain.value > gain.error:
            sentences.append(f"The gain in log evidence per label is {shown}.")
        else:
            sentences.append(
                f"The gain in log evidence per label is {shown}, which is no sign of learning."
            )
    return " ".join(sentences)


def _end(run: AmpRun) -> str:
    if run.status == "converged":
        return f"The iteration converged after {run.n_iter} steps."
    if run.status == "diverged":
        return (
            f"The iteration diverged after {run.n_iter} steps: the features may be far from "
            "independent. Raise damping."
        )
    change = f" with relative change {run.trace.change[-1]:.1e}" if run.trace.change else ""
    return (
        f"The iteration did not converge: it stopped after {run.n_iter} steps{change}. More "
        "samples help close to a threshold; otherwise raise max_iter or damping."
    )


def _directions(overlap: np.ndarray, axes: np.ndarray, learned: np.ndarray) -> str:
    r = len(overlap)
    sizes = ", ".join(f"{q:.3f}" for q in overlap[learned][::-1])
    if not learned.any():
        return f"None of the {r} directions was learned." if r > 1 else "No direction was learned."
    if learned.all():
        what = "The direction was" if r == 1 else f"All {r} directions were"
        return f"{what} learned, with self-overlap {sizes}."
    lost = " and ".join(_combination(axes[:, i]) for i in np.flatnonzero(~learned))
    verb = "was" if r - learned.sum() == 1 else "were"
    return (
        f"{learned.sum()} of {r} directions were learned, with self-overlap {sizes}; "
        f"{lost} {verb} not learned."
    )


def _combination(axis: np.ndarray) -> str:
    """Unit vector as a linear form in z1, z2, ..., its first coefficient positive."""
    shown = np.flatnonzero(np.abs(axis) >= 0.005)
    axis = axis * np.sign(axis[shown[0]])
    return " ".join(f"{axis[i]:+.2f} z{i + 1}" for i in shown).lstrip("+")
