"""A sweep of toy cells as a program of its own, to be killed.

Run: python toy_sweep.py STORE FUNCTION COUNT SECONDS EXECUTOR. Says how many cells are stored each
time that some more are, and in the end how it ended.
"""

import json
import sys
from dataclasses import asdict

from gradone.experiments.coordinator import run_tasks
from gradone.experiments.store import Store


class Announcer:
    def step(self, i, total, **scalars):
        print(i, flush=True)
        return False

    def close(self):
        pass


def main():
    # Found beside this program; collected by pytest, the file must not need it.
    from toy_cells import make_tasks

    path, function, count, seconds, executor = sys.argv[1:]
    tasks = make_tasks(int(count), seconds=float(seconds))
    with Store(path) as store:
        summary = run_tasks(
            tasks,
            f"toy_cells:{function}",
            store=store,
            sweep="toy",
            executor=executor,
            workers=2,
            progress=Announcer(),
        )
    print(json.dumps(asdict(summary)), flush=True)


if __name__ == "__main__":
    main()
