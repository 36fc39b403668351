"""``gradone doctor``: what this installation and this machine offer."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..base.threads import available_cores
from ._app import app, say

LIBRARIES = ("numpy", "scipy", "numba", "xarray")
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
NETWORK_FILESYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "cifs", "smb", "fuse.sshfs", "ceph")
SMALL_MEMORY = 2 * 10**9


class Finding(NamedTuple):
    """One line of the examination; ``advice`` says what to do when something is wrong."""

    name: str
    value: str
    advice: str = ""


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile now what the first report would compile.")
    ] = False,
) -> None:
    """Check the installation and the machine.

    The line of a problem ends with what to do about it.
    """
    if warm:
        _warm()
    findings = [
        _python(),
        *(_library(name) for name in LIBRARIES),
        _blas(),
        Finding("cores", str(available_cores())),
        _memory(),
        *_cache(),
        _torch(),
        _program("SLURM", "sbatch", use="sweeps on a cluster"),
        _program("Chromium", "chromium", "chromium-browser", "google-chrome", use="browser tests"),
    ]
    problems = sum(bool(finding.advice) for finding in findings)
    if as_json:
        report = {"problems": problems, "findings": [finding._asdict() for finding in findings]}
        typer.echo(json.dumps(report, indent=2))
        return
    width = max(len(finding.name) for finding in findings)
    for name, value, advice in findings:
        mark, end = ("!", f"  ->  {advice}") if advice else (" ", "")
        say(f"{mark} {name:<{width}}  {value}{end}")
    typer.echo(f"\n{problems or 'No'} problem{'' if problems == 1 else 's'} found.")


def _warm() -> None:
    """Compile what all reports need, and what the first example needs."""
    from ..algorithms._warm import compile_ahead
    from ..targets.target import Target

    for text in ("z1", "He2(z1) + sign(z1*z2*z3)"):
        compile_ahead(Target(text), lambda line: typer.echo(line, err=True))


def _python() -> Finding:
    import platform

    return Finding("Python", f"{platform.python_version()} on {platform.platform(terse=True)}")


def _library(name: str) -> Finding:
    import importlib

    # Imported rather than looked up: an installed numba that refuses the installed NumPy is the
    # problem users have, and only the import shows it.
    try:
        return Finding(name, importlib.import_module(name).__version__)
    except ImportError as error:
        return Finding(name, f"cannot be imported ({error})", f"pip install --upgrade {name}")


def _blas() -> Finding:
    try:
        from numpy import show_config

        blas = show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    except (ImportError, KeyError, TypeError):  # numpy itself is reported above
        blas = "unknown library"
    for variable in THREAD_VARIABLES:
        if chosen := os.environ.get(variable):
            threads = "1 thread" if chosen == "1" else f"{chosen} threads"
            return Finding("BLAS", f"{blas}, {threads} ({variable})")
    return Finding("BLAS", f"{blas}, one thread per core")


def _memory() -> Finding:
    from ..base.memory import available_memory, human_bytes

    free = available_memory()
    advice = "close other programs or ask for more memory" if free < SMALL_MEMORY else ""
    return Finding("memory", f"{human_bytes(free)} available", advice)


def _cache() -> list[Finding]:
    from ..base.cache import cache_directory, compilations

    folder = cache_directory().absolute()
    parent = next(path for path in (folder, *folder.parents) if path.exists())
    writable = parent.is_dir() and os.access(parent, os.W_OK)
    kind = filesystem_kind(parent.resolve())
    slow = kind.startswith(NETWORK_FILESYSTEMS)
    targets = len(list((folder / "compiled").glob("*.py")))
    functions = len(list(Path(__file__).parent.parent.rglob("*.nbi")))
    seconds = sum(row[2] for row in compilations())
    return [
        Finding(
            "compiled code",
            f"{targets} targets and {functions} functions of the package, "
            f"compiled in {seconds:.1f} s"
            if targets or functions
            else "none yet: the first report compiles for a few seconds (gradone doctor --warm)",
        ),
        Finding(
            "cache folder",
            str(folder) if writable else f"{folder} cannot be written",
            "" if writable else "set GRADONE_CACHE to a folder of yours",
        ),
        Finding(
            "its filesystem",
            f"{kind} (network, slow)" if slow else kind,
            "set GRADONE_CACHE to a folder on a local disk" if slow else "",
        ),
    ]


def filesystem_kind(path: Path, *, mounts: Path = Path("/proc/mounts")) -> str:
    """Kind of the filesystem that holds an absolute path, such as ``ext4`` or ``nfs4``.

    Where the system has no table of mounts (macOS, Windows) the kind is ``unknown``.
    """
    try:
        table = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return "unknown"
    # Later lines hide earlier ones on the same folder; spaces are written as octal escapes.
    kinds = {Path(row[1].replace("\\040", " ")): row[2] for row in table if len(row) > 2}
    holders = [folder for folder in kinds if path.is_relative_to(folder)]
    return kinds[max(holders, key=lambda folder: len(folder.parts))] if holders else "unknown"


def _torch() -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Finding("torch", version("torch"))
    except PackageNotFoundError:
        return Finding("torch", "not found (optional: arrays of torch are accepted when it is)")


def _program(name: str, *commands: str, use: str) -> Finding:
    found = next(filter(None, map(shutil.which, commands)), None)
    return Finding(name, found or f"not found (optional: {use})")
