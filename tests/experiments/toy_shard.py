"""The share of one job of an array. Run: python toy_shard.py INDEX/SHARDS STORE COUNT SECONDS."""

import sys

from gradone.experiments.coordinator import run_tasks
from gradone.experiments.executors.job_array import shard
from gradone.experiments.store import Store


def main():
    # Found beside this program; collected by pytest, the file must not need it.
    from toy_cells import make_tasks

    share, path, count, seconds = sys.argv[1:]
    index, _, shards = share.partition("/")
    tasks = shard(make_tasks(int(count), seconds=float(seconds)), int(index), int(shards))
    with Store(path) as store:
        run_tasks(tasks, "toy_cells:slow", store=store, sweep="toy", executor="serial")


if __name__ == "__main__":
    main()
