"""Toy sweeps in processes of their own, and all processes that belong to them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

HERE = Path(__file__).parent
PATH = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
"""Where programs of the tests find the toys."""


class Marked:
    """A running program; everything that it starts carries its mark."""

    def __init__(self, *words, **more):
        self._mark = f"TOY_MARK={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        self.process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            env=os.environ | {"PYTHONPATH": PATH, name: value} | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self):
        """What a program says that nobody kills."""
        out, errors = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, errors
        return out

    def kill(self, *, all_at_once):
        """Kill the coordinator alone, or everything at the same time; what it has said before."""
        with contextlib.suppress(ProcessLookupError):
            if all_at_once:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        return self.process.communicate()[0]

    def members(self):
        """Process ids of all that carry the mark and are alive, with those of their parents."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self._mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if fields[0] != "Z":
                        found[int(folder.name)] = int(fields[1])
        return found

    def workers(self):
        """Process ids of the workers: the grandchildren of the coordinator."""
        members = self.members()
        return [one for one, parent in members.items() if members.get(parent) == self.process.pid]

    def left_behind(self, patience=2.0):
        """Processes that outlive the coordinator for longer than they may."""
        deadline = time.monotonic() + patience
        while (members := self.members()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return members


class ToySweep(Marked):
    """A sweep of toy cells."""

    def __init__(
        self, path, *, count=1, seconds=0.0, function="slow", executor="processes", **more
    ):
        super().__init__(HERE / "toy_sweep.py", path, function, count, seconds, executor, **more)
        self.stored = 0

    def wait_for(self, cells):
        """Wait until so many cells are stored, or the end."""
        while self.stored < cells and (line := self.process.stdout.readline()).strip().isdecimal():
            self.stored = int(line)

    def finish(self):
        """Summary of a run that nobody kills."""
        return json.loads(super().finish().splitlines()[-1])

    def kill(self, *, all_at_once):
        """Kill it; what it said before it died was said after it was stored."""
        for line in super().kill(all_at_once=all_at_once).splitlines():
            if line.isdecimal():
                self.stored = int(line)


class ToyCluster:
    """A Dask scheduler and two workers, each a process of its own."""

    def __init__(self, folder):
        folder.mkdir()
        card = folder / "scheduler.json"
        port = ["--port", "0", "--host", "127.0.0.1"]
        quiet = ["--no-dashboard", "--scheduler-file", str(card)]
        self.scheduler = self._start("scheduler", *port, *quiet)
        options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *quiet]
        while not card.exists():
            time.sleep(0.02)
        self.workers = [self._start("worker", *options) for _ in range(2)]
        while True:
            with contextlib.suppress(ValueError):  # the file may be half written
                self.address = json.loads(card.read_text())["address"]
                return

    def _start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            env=os.environ | {"PYTHONPATH": PATH},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
