"""What each exact rule for the law of z given the label is worth, against what would do instead.

Run: python benchmarks/channel_rules.py [--json FILE]. CPU times, best of 3, BLAS on one thread. One
row for a rule and a target that a person would type: time and stated error with the rule, and with
the rules that are left without it. A rule stays if it is 5 times faster on one of its targets, or
needed there for an error below 1e-3. Three questions: averages over labels (J, relative);
posteriors of single samples (root mean square over samples, in units of the prior) with steps that
are fine enough for 1e-3; conditional moments (T_1 to T_4, among which exponents choose).
"""

import json
import math
import os
from unittest import mock

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _timing import interleaved_best, options

import gradone as gd
from gradone.channels.averages.boxes import BoxAverages
from gradone.channels.averages.embedded import JointAverages
from gradone.channels.averages.general import ChannelAverages
from gradone.channels.averages.known import KnownAverages
from gradone.channels.averages.moments import PERFECT, Averages, total
from gradone.channels.conditional.atoms import BetweenPlanes, Indicators
from gradone.channels.conditional.branches import Branches
from gradone.channels.conditional.label import Label
from gradone.channels.conditional.noisy_line import NoisyLine
from gradone.channels.conditional.slicing import Slices
from gradone.channels.memory import MEMORY
from gradone.channels.samples.channel import SampleChannel
from gradone.channels.samples.crossings import Crossings
from gradone.channels.samples.nodes import Smooth
from gradone.targets.frame import typed_frame
from gradone.targets.language.expression import Expression


class SampledAverages(KnownAverages):
    """Averages over a sample of values of known directions, also where they do not matter."""

    def estimate(self, M: np.ndarray) -> tuple[Averages, list[Averages]]:
        """Averages at `M` and the sources of their error."""
        with mock.patch("gradone.channels.averages.known.rest_given", return_value=None):
            return super().estimate(M)


AVERAGES = [  # rule, what would do instead, target, noise, overlaps
    (BoxAverages, ChannelAverages, "sign(z)", 0.0, [0.7]),
    (BoxAverages, ChannelAverages, "sign(z1*z2)", 0.0, [0.64, 0.64]),
    (BoxAverages, ChannelAverages, "sign(z1*z2)", 0.1, [0.64, 0.64]),
    (BoxAverages, ChannelAverages, "sign(z1) + sign(z2)", 0.0, [0.64, 0.64]),
    (BoxAverages, ChannelAverages, "sign(z1*z2*z3)", 0.0, [0.93, 0.93, 0.93]),
    (JointAverages, ChannelAverages, "sign(z + 0.5*xi)", 0.0, [0.6]),
    (KnownAverages, SampledAverages, "z1 + z1*sign(z2*z3)", 0.0, [1 - 1e-6, 0.24, 0.24]),
    (KnownAverages, SampledAverages, "z1**2 + sign(z1*z2*z3)", 0.0, [1 - 1e-6, 0.24, 0.24]),
]
SAMPLES = [  # rule, target, noise
    ("planes", "sign(z1*z2)", 0.0),
    ("planes", "sign(z1*z2*z3)", 0.0),
    ("Affine", "max(z1, z2)", 0.1),
    ("Affine", "relu(z1) + relu(z2)", 0.01),
    ("Roots", "z**2", 0.0),
    ("Roots", "He2(z1) + sign(z1*z2*z3)", 0.0),
    ("QuadraticRule", "z1**2 + z2**2", 0.1),
    ("QuadraticRule", "z1*z2 + z3**2", 0.0),
    ("MonomialRule", "z1*z2*z3", 0.0),
    ("NoisyProfile", "He2(z1) + sign(z1*z2*z3)", 0.1),
    ("Smooth", "tanh(z1*z2) + 0.5*z3", 0.05),
    ("Smooth", "tanh(z1)*tanh(z2)", 0.1),
]
CONDITIONAL = [  # rule, target, noise
    (BetweenPlanes, "sign(z1*z2)", 0.0),
    (BetweenPlanes, "sign(z1 + z2)*sign(z2 + z3)", 0.0),
    (Indicators, "sign(sin(3*z1))*sign(z2)", 0.0),
    (Indicators, "sign(z1*z2 + 0.3*xi)", 0.0),
    (Branches, "z**2", 0.0),
    (Branches, "He4(z)", 0.0),
    (NoisyLine, "z**2", 0.1),
    (NoisyLine, "He4(z)", 1.0),
]


def averages() -> list[dict[str, object]]:
    """Averages at an overlap matrix: stated relative error of J where it is not known perfectly."""
    rows = []
    for exact, general, text, noise, overlaps in AVERAGES:
        target = gd.Target(text, noise=noise)
        M, free = np.diag(overlaps), np.flatnonzero(np.array(overlaps) < PERFECT)

        def run(rule, t=target, M=M):
            MEMORY.forget()
            return rule(t).estimate(M)

        def error(rule, run=run, free=free):
            best, sources = run(rule)
            J, spread = (a.information[free][:, free] for a in (best, total(sources)))
            return float(spread.max() / J.max())

        jobs = {"exact": lambda r=run, x=exact: r(x), "without": lambda r=run, x=general: r(x)}
        errors = {"exact": error(exact), "without": error(general)}
        rows.append(row("averages", exact.__name__, text, noise, jobs, errors))
    return rows


def samples(n: int = 100) -> list[dict[str, object]]:
    """Posteriors of n samples: root mean square of the stated errors, at most 1 each."""
    rows = []
    for name, text, noise in SAMPLES:
        target, rng = gd.Target(text, noise=noise), np.random.default_rng(0)
        r = target.r
        V = 0.5 * np.eye(r) + 0.02
        omega = math.sqrt(0.5) * rng.standard_normal((n, r))
        y = target.draw(omega + rng.standard_normal((n, r)) @ np.linalg.cholesky(V).T, rng)
        channels = {
            key: SampleChannel(target, resolution=1, exact=key == "exact" or name != "planes")
            for key in ("exact", "without")
        }
        inner = channels["without"]._rule
        chosen = [type(rule).__name__ for rule in inner._rules]
        assert name == "planes" or name in chosen, (name, chosen)
        if name != "planes":
            others = [rule for rule in (Smooth, Crossings) if rule.__name__ != name]
            inner._rules = [rule(inner._label) for rule in others if rule.covers(inner._label)]
        found = {key: channel.posterior(y, omega, V).error for key, channel in channels.items()}
        errors = {k: float(np.sqrt(np.mean(np.minimum(e, 1.0) ** 2))) for k, e in found.items()}
        jobs = {k: lambda c=c, a=(y, omega, V): c.posterior(*a) for k, c in channels.items()}
        rows.append(row("samples", name, text, noise, jobs, errors))
    return rows


def conditional() -> list[dict[str, object]]:
    """Conditional moments of up to four orders: largest error of an entry of T_1 to T_4."""
    orders = [1, 2, 3, 4]
    rows = []
    for rule, text, noise in CONDITIONAL:
        target = gd.Target(text, noise=noise)
        framed = target.joint if target.q else typed_frame(Expression(text)).expression
        label = Label(framed, noise, target.q)
        assert rule.covers(label)
        whole = label._replace(latent=0)  # slices know no latent variables
        jobs = {
            "exact": lambda rule=rule, label=label: rule.grams(label, orders),
            "without": lambda label=whole: Slices.grams(label, orders),
        }
        errors = {
            key: max(float(gram.entry_error().max()) for gram in job().values())
            for key, job in jobs.items()
        }
        rows.append(row("conditional", rule.__name__, text, noise, jobs, errors))
    return rows


def row(question, rule, text, noise, jobs, errors) -> dict[str, object]:
    """Measure and print one row."""
    seconds = interleaved_best(jobs, repeats=3)
    ratio = seconds["without"] / seconds["exact"]
    worth = ratio >= 5 or errors["without"] > 1e-3 > errors["exact"]
    print(
        f"{question:12} {rule:20} {text:28} {noise:5g} {1e3 * seconds['exact']:9.2f} ms "
        f"{errors['exact']:8.1e} {1e3 * seconds['without']:9.2f} ms {errors['without']:8.1e} "
        f"{ratio:7.1f}  {'worth it' if worth else ''}",
        flush=True,
    )
    return {
        "question": question,
        "rule": rule,
        "target": text,
        "noise": noise,
        "seconds": seconds,
        "errors": errors,
        "worth": bool(worth),
    }


def main() -> None:
    """Print the table."""
    chosen = options(__doc__).parse_args()
    titles = f"{'exact':>12} {'error':>8} {'without':>12} {'error':>8} {'ratio':>7}"
    print(f"{'question':12} {'rule':20} {'target':28} {'noise':>5} {titles}")
    rows = averages() + samples() + conditional()
    worth = {row["rule"] for row in rows if row["worth"]}
    print("rules not worth it:", sorted({str(row["rule"]) for row in rows} - worth) or "none")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
