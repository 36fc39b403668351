"""A file of measurements: what is in it is not measured again, so that a cut run goes on."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Record:
    """Measurements by name, one line of JSON each.

    Parameters
    ----------
    file : Path or None
        Where they are kept; None: nowhere.
    total : int
        How many there will be, for the progress that is printed.
    """

    def __init__(self, file: Path | None, total: int) -> None:
        self.file, self.total = file, total
        self.known: dict[str, Any] = {}
        if file and file.exists():
            lines = map(json.loads, file.read_text().splitlines())
            self.known = {line["name"]: line["found"] for line in lines}
        self.done, self.measured, self.start = 0, 0, time.monotonic()

    def __call__(self, name: str, measure: Callable[[], Any]) -> Any:
        """What was found under a name before, or is found now."""
        self.done += 1
        if name not in self.known:
            self.known[name] = measure()
            self.measured += 1
            if self.file:
                with self.file.open("a") as out:
                    out.write(json.dumps({"name": name, "found": self.known[name]}) + "\n")
            left = (time.monotonic() - self.start) / self.measured * (self.total - self.done)
            print(
                f"{self.done} of {self.total}, at most {left / 60:.0f} min left: "
                f"{name}: {self.known[name]}",
                flush=True,
            )
        return self.known[name]
