"""The command line: each command parses, calls one public verb, and shows.

A command is one file of this folder that puts its function on :data:`app`; it is found by its
being here. What a command needs beyond the standard library and typer is imported inside its
function, because ``gradone --help`` reads every file of this folder and must stay quick.
"""

import importlib
import pkgutil

from ._app import app as app

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    if not _module.startswith("_"):
        importlib.import_module(f"{__name__}.{_module}")


def main() -> None:
    """Run the command line on the arguments of the process."""
    app(prog_name="gradone")
