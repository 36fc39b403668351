"""What the benchmarks share: CPU times of jobs that take turns, a table, and JSON."""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Jobs = dict[str, Callable[[], object]]


def interleaved_best(jobs: Jobs, *, repeats: int = 5, calls: int = 1) -> dict[str, float]:
    """Shortest CPU seconds of one call of each job; a slow spell of the machine hits all jobs."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.process_time()
            for _ in range(calls):
                job()
            best[name] = min(best[name], (time.process_time() - start) / calls)
    return best


def options(about: str | None) -> argparse.ArgumentParser:
    """Arguments of every benchmark."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser


def report(
    seconds: dict[str, float], *, baseline: str, limit: float, file: Path | None, **more: Any
) -> None:
    """Print times, and ratios to the baseline; `limit` is the longest time allowed, in seconds."""
    width = max(map(len, seconds))
    print(f"{'':{width}}  {'CPU time':>10}  {'ratio':>9}   limit {1e3 * limit:g} ms")
    for name, value in seconds.items():
        verdict = "baseline" if name == baseline else "ok" if value < limit else "TOO SLOW"
        ratio = value / seconds[baseline]
        print(f"{name:{width}}  {1e3 * value:7.3f} ms  {ratio:7.2f} x   {verdict}")
    ratios = {name: value / seconds[baseline] for name, value in seconds.items()}
    result = {"baseline": baseline, "limit": limit, "seconds": seconds, "ratios": ratios} | more
    print(json.dumps(result))
    if file:
        file.write_text(json.dumps(result, indent=2) + "\n")
