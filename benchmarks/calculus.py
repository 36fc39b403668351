"""How long Hermite energies take, against 10**6 values of the function (CPU time, best of 5).

Run: python benchmarks/calculus.py [--json FILE]. The limit for degree 10 of a target with kinks
and r = 3 is 0.5 s. The baseline is what plain Monte Carlo needs for a relative error of 1e-3 in a
single coefficient: drawing 10**6 points and evaluating the example there.
"""

import numpy as np
from _timing import Jobs, interleaved_best, options, report

from gradone.calculus.expansion import expectation, hermite_expansion
from gradone.targets.language.expression import Expression

LIMIT = 0.5
DEGREE = 10
TEXTS = {
    "parity and square": "He2(z1) + sign(z1*z2*z3)",
    "largest of three": "max(max(z1, z2), z3)",
    "kinks in a smooth function": "tanh(max(z1, z2) + abs(z3))",
    "product of ramps": "relu(z1)*relu(z2)*z3 + abs(z1 - z2)",
    "two oblique kinks": "relu(z1 + z2)*abs(z2 - z3)",
    "curved jump": "sign(z1*z2 + z3)",
}
BASELINE = "10**6 values"


def energies(text: str) -> list[float]:
    """Energies from the text on; the memory of expressions already expanded is not used."""
    function = Expression(text)
    expansion = hermite_expansion(function.form, DEGREE)
    return [energy.value for energy in expansion.energies] + [expectation(function.square).value]


def main() -> None:
    arguments = options(__doc__).parse_args()
    example = Expression(TEXTS["parity and square"])
    jobs: Jobs = {BASELINE: lambda: example(np.random.default_rng(0).standard_normal((10**6, 3)))}
    jobs |= {name: lambda text=text: energies(text) for name, text in TEXTS.items()}
    report(interleaved_best(jobs), baseline=BASELINE, limit=LIMIT, file=arguments.json, texts=TEXTS)


if __name__ == "__main__":
    main()
