"""What a sweep costs besides its cells: overhead, efficiency on two workers, status of a store.

Run: python benchmarks/sweep.py [--json FILE]. Limits: 5 ms per cell for 10,000 tiny cells, at
least 90 % efficiency for cells of 0.5 s, 1 s for the status of 100,000 cells.

Overhead and efficiency are wall times, the start of the workers included; the cells sleep or do
nothing, so they measure the machinery on a busy machine too.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gradone.base.seeds import fingerprint
from gradone.experiments.coordinator import run_tasks
from gradone.experiments.executors.processes import Processes
from gradone.experiments.store import Store
from gradone.experiments.task import Result, Task

WORKERS = 2
MODULE = Path(__file__).stem


def tiny(parameters: str) -> dict[str, np.ndarray]:
    """A cell that is over at once, with the results of a real one."""
    return {"test_mse": np.asarray(0.5), "overlap": np.zeros((3, 3))}


def half_second(parameters: str) -> dict[str, np.ndarray]:
    time.sleep(0.5)
    return tiny(parameters)


def tasks(count: int) -> list[Task]:
    return [Task(fingerprint("bench", i).hex(), f'{{"i":{i}}}') for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            **overhead(Path(folder, "tiny.db"), 10_000),
            **efficiency(Path(folder, "half.db"), 40),
            **status(Path(folder, "many.db"), 100_000),
        }
    limits = {"overhead_ms": 5.0, "coordinator_cpu_ms": 5.0, "inefficiency": 0.1, "status_s": 1.0}
    for name, limit in limits.items():
        verdict = "ok" if found[name] < limit else "TOO LARGE"
        print(f"{name:18} {found[name]:8.4f}   limit {limit:g}   {verdict}")
    print(json.dumps(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def overhead(path: Path, count: int) -> dict[str, float]:
    """Milliseconds per tiny cell in excess of the cell itself, which takes microseconds."""
    start, cpu = time.perf_counter(), time.process_time()
    with Store(path) as store:
        run_tasks(tasks(count), f"{MODULE}:tiny", store=store, sweep="bench", workers=WORKERS)
    wall = time.perf_counter() - start
    return {
        "overhead_ms": 1e3 * wall / count,
        "coordinator_cpu_ms": 1e3 * (time.process_time() - cpu) / count,
    }


def efficiency(path: Path, count: int) -> dict[str, float]:
    """Share of the workers' time in which they compute nothing."""
    with Store(path) as store:
        clock = Clock()
        run_tasks(
            tasks(count),
            f"{MODULE}:half_second",
            store=store,
            sweep="bench",
            executor=Processes(WORKERS),
            progress=clock,
        )
        busy = sum(stored.result.seconds for stored in store.results())
    total = clock.last - clock.start
    return {"inefficiency": 1 - busy / (WORKERS * total), "efficiency_wall_s": total}


class Clock:
    """When a run began and when its last result was stored."""

    def __init__(self) -> None:
        self.start = self.last = time.perf_counter()

    def step(self, i: int, total: int, **scalars: float) -> bool:
        self.last = time.perf_counter()
        return False

    def close(self) -> None:
        pass


def status(path: Path, count: int) -> dict[str, float]:
    """Seconds to open a store with many cells and to count them."""
    with Store(path) as store:
        for first in range(0, count, 1000):
            some = [
                Result(f"{i:032x}", "done", tiny(""), seconds=0.1)
                for i in range(first, first + 1000)
            ]
            store.put(some, sweep="bench", parameters={result.key: "{}" for result in some})
    start = time.perf_counter()
    with Store(path, "ro") as store:
        counts = store.status()
    assert counts["bench"].done == count
    return {"status_s": time.perf_counter() - start}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))  # workers import this file by its name
    main()
