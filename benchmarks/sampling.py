"""How much longer a sample takes than the normal numbers it is made of (CPU time, best of 5).

Run: python benchmarks/sampling.py [--json FILE]. The limit at n = 20000, d = 500 is 1.3.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _timing import Jobs, interleaved_best

import gradone as gd

LIMIT = 1.3
TARGETS = {
    "one direction": gd.Target("He3(z)"),
    "three directions": gd.Target("He2(z1) + sign(z1*z2*z3)"),
    "three directions, noise": gd.Target("He2(z1) + sign(z1*z2*z3)", noise=0.1),
    "committee of nine": gd.Committee(r=9),
    "SIGHT": gd.Sight(outer="tanh(3*h)", inner="He2(z)/2 + He3(z)/6", exponent=0.5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--d", type=int, default=500)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args()
    n, d = options.n, options.d
    jobs: Jobs = {"normals": lambda: np.random.default_rng(0).standard_normal((n, d))}
    jobs |= {name: lambda target=t: target.sample(n=n, d=d) for name, t in TARGETS.items()}
    seconds = interleaved_best(jobs)
    ratios = {name: seconds[name] / seconds["normals"] for name in TARGETS}
    print(f"n = {n}, d = {d}, normals alone: {seconds['normals']:.3f} s")
    for name, ratio in ratios.items():
        print(f"{name:26} {seconds[name]:.3f} s   {ratio:.2f} x")
    result = {"n": n, "d": d, "limit": LIMIT, "seconds": seconds, "ratios": ratios}
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
