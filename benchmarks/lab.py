"""What somebody waits for in the lab: its start, its page, verdicts (wall time, best of 5).

Run: python benchmarks/lab.py [--json FILE] on a machine that does nothing else. A class of sixty is
`make test-load`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from _timing import options

LIMITS = {
    "start": 3.0,
    "page": 0.3,
    "mistake": 0.02,
    "remembered verdict": 0.02,
    "verdict, r = 1": 0.3,
    "verdict, r = 2": 0.3,
    "verdict, r = 3": 3.0,
}
TEXTS = {1: "tanh({c}*z)", 2: "z1*z2 + {c}*z1", 3: "He2(z1) + {c}*sign(z1*z2*z3)"}
REPEATS = 5


def best(job: Callable[[int], object]) -> float:
    """Shortest wall time of a job that is told how often it has been done."""
    seconds = []
    for i in range(REPEATS):
        began = time.perf_counter()
        job(i)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def started() -> tuple[subprocess.Popen[str], str, float]:
    """A lab, its address, and the seconds until it says so."""
    began = time.perf_counter()
    command = [str(Path(sys.executable).with_name("gradone")), "lab", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    found = re.search(r"http://\S+/", process.stdout.readline())
    assert found is not None
    return process, found[0], time.perf_counter() - began


def stop(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGINT)
    process.communicate()


def main() -> None:
    arguments = options(__doc__).parse_args()
    starts = []
    for _ in range(REPEATS):
        process, address, seconds = started()
        starts.append(seconds)
        if len(starts) < REPEATS:
            stop(process)
    found = {"start": min(starts)}
    with httpx.Client(base_url=address, timeout=60.0) as web:

        def verdict(text: str) -> int:
            return web.get("/api/analyze", params={"target": text}).status_code

        for r in TEXTS:
            verdict(TEXTS[r].format(c=0.9))  # what is done once in a process is not counted
        found["page"] = best(lambda _: web.get("/"))
        found["mistake"] = best(lambda _: verdict("z1*"))
        found["remembered verdict"] = best(lambda _: verdict(TEXTS[2].format(c=0.9)))
        for r, text in TEXTS.items():
            found[f"verdict, r = {r}"] = best(
                lambda i, text=text: verdict(text.format(c=0.5 + i / 100))
            )
    stop(process)
    width = max(map(len, found))
    for name, seconds in found.items():
        judged = "ok" if seconds < LIMITS[name] else "TOO SLOW"
        print(
            f"{name:{width}}  {1e3 * seconds:8.1f} ms   limit {1e3 * LIMITS[name]:g} ms  {judged}"
        )
    result = {"seconds": found, "limits": LIMITS}
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
