"""Speed of the mean-field limit: two particles, and the 256 of a finite dimension.

Run: python benchmarks/mean_field.py [--json FILE]. CPU times after the first call, which compiles;
best of several, one thread. Limits: 10 ms for two particles until time 10, 0.1 s for 256 until time
5. The baseline is the same flow of two particles in NumPy, of an activation without compiled form.
"""

import os

# One thread, set before NumPy is loaded: CPU time counts those of all threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from _timing import interleaved_best, options, report

import gradone as gd

TARGET = "z1 + z1*z2"


def particles(count: int) -> None:
    """The flow of all particles, from a start in d = 400 dimensions if there are more than two."""
    if count == 2:
        gd.predict(TARGET, "mean_field", time=10.0)
    else:
        gd.predict(TARGET, "mean_field", time=5.0, d=400, particles=count)


if __name__ == "__main__":
    arguments = options(__doc__).parse_args()
    seconds = interleaved_best({
        "in NumPy": lambda: gd.predict(TARGET, "mean_field", time=10.0, activation="gelu(z)"),
        "two particles": lambda: particles(2),
        "256 particles": lambda: particles(256),
    })  # fmt: skip
    many = seconds.pop("256 particles")
    verdict = "ok" if many < 0.1 else "TOO SLOW"
    print(f"256 particles: {1e3 * many:.1f} ms   {verdict} (limit 100 ms)")
    report(seconds, baseline="in NumPy", limit=0.01, file=arguments.json, many=many)
