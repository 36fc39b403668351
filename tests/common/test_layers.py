"""Imports go downwards only, and the contract that says so does bite."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder, source):
    """Run import-linter in a folder; the package is read from `source`, never imported."""
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    arguments = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_are_kept():
    run = lint_imports(ROOT, ROOT / "src")
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("room", "imported", "contract"),
    [
        ("base", "gradone.targets", "data flows one way"),
        ("calculus", "gradone.cli", "data flows one way"),
        ("theory", "gradone.learners", "data flows one way"),
        ("dynamics", "gradone.theory", "data flows one way"),
        ("charts", "gradone.analysis", "charts draw datasets and nothing else"),
        ("charts", "gradone.targets", "charts draw datasets and nothing else"),
        ("learners", "gradone.analysis", "learners do not know the analysis"),
    ],
)
def test_wrong_direction_is_caught(tmp_path, room, imported, contract):
    """Also for rooms that do not exist yet: they are added to a copy of the package."""
    package = tmp_path / "gradone"
    shutil.copytree(ROOT / "src" / "gradone", package, ignore=shutil.ignore_patterns("assets"))
    for name in (room, imported.partition(".")[2]):
        (package / name).mkdir(exist_ok=True)
        (package / name / "__init__.py").touch()
    (package / room / "trespasser.py").write_text(f"import {imported}\n")
    run = lint_imports(tmp_path, tmp_path)
    assert run.returncode == 1
    assert f"{contract} BROKEN" in run.stdout
    assert f"gradone.{room}.trespasser -> {imported}" in run.stdout
