"""How long a target takes to read and check, against Python's own parser (CPU time, best of 5).

Run: python benchmarks/language.py [--json FILE]. The limit for a typical target is 5 ms.
"""

import ast

from _timing import Jobs, interleaved_best, options, report

import gradone as gd

LIMIT = 5e-3
TEXTS = {
    "example": "He2(z1) + sign(z1*z2*z3)",
    "single index": "z**2*exp(-z**2)",
    "kinks": "relu(z1 + z2)*abs(z2 - z3)",
    "normalized": "(z1*z2 + He3(z1)/sqrt(6) + He4(z2)/sqrt(24))/sqrt(3)",
    "long": "z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3 + He2(z2)*He2(z3)",
    "nine directions": " + ".join(f"tanh(z{i})*z{i % 9 + 1}" for i in range(1, 10)),
}
BASELINE = "ast.parse of the example"


def main() -> None:
    arguments = options(__doc__).parse_args()
    jobs: Jobs = {BASELINE: lambda: ast.parse(TEXTS["example"], mode="eval")}
    jobs |= {name: lambda text=text: gd.Target(text) for name, text in TEXTS.items()}
    for job in jobs.values():  # what is done once in a process is not the cost of a target
        job()
    seconds = interleaved_best(jobs, calls=20)
    report(seconds, baseline=BASELINE, limit=LIMIT, file=arguments.json, texts=TEXTS)


if __name__ == "__main__":
    main()
