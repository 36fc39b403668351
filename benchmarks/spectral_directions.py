"""How long spectral directions take against the matrix products they are made of (CPU time).

Run: python benchmarks/spectral_directions.py [--json FILE]. The limit is 0.5 s at n = 2000, d = 50,
39 permutations included; the peer gives no rank. The baseline is X'X.
"""

import numpy as np
from _timing import Jobs, interleaved_best, options, report
from statsmodels.regression.dimred import SlicedAverageVarianceEstimation

import gradone as gd
from gradone.learners import SpectralDirections

LIMIT = 0.5


def main() -> None:
    arguments = options(__doc__).parse_args()
    target = gd.Target("sign(z1*z2)")
    linear = gd.Target("z1*z2 + z3").sample(n=2000, d=50)
    single = linear.X.astype(np.float32)
    wide = target.sample(n=4 * 700, d=700)
    jobs: Jobs = {
        "X'X, n = 2000, d = 50": lambda: linear.X.T @ linear.X,
        "z1*z2 + z3, n = 2000, d = 50": lambda: SpectralDirections(random_state=0).fit(
            linear.X, linear.y
        ),
        "the same in float32": lambda: SpectralDirections(random_state=0).fit(single, linear.y),
        "statsmodels SAVE": lambda: SlicedAverageVarianceEstimation(linear.y, linear.X).fit(),
        "sign(z1*z2) known, n = 2800, d = 700": lambda: SpectralDirections(
            target, random_state=0
        ).fit(wide.X, wide.y),
    }
    seconds = interleaved_best(jobs, repeats=3)
    report(seconds, baseline="X'X, n = 2000, d = 50", limit=LIMIT, file=arguments.json)


if __name__ == "__main__":
    main()
