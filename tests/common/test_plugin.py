"""The template of a package of one's own: installed, it is on every surface."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"
SCRIPT = """
import gradone as gd
from typer.testing import CliRunner
from gradone.cli import app
found = gd.predict("z", "first_gradient", alpha=[1.0, 3.0])
print(found.cosine2.values.ravel().tolist())
runs = gd.simulate("z", "first_gradient", d=50, alpha=[3.0], replicates=2, progress=False)
print(runs.attrs["label"], bool((runs.cosine2 > 0.5).all()))
sweep = gd.Experiment(name="e", targets=["z"], algorithms=[{"algorithm": "first_gradient"}],
                      grid={"d": 50, "alpha": [3.0]})
print(gd.run(sweep, executor="serial", progress=False).source.values.tolist())
print("first_gradient" in CliRunner().invoke(app, ["list", "algorithms"]).output)
try:
    gd.predict("z1*z2", "first_gradient", alpha=1.0)
except gd.OutOfRegime as error:
    print("the target has 2 directions" in str(error))
"""


def used(folder: Path, work: Path, *words: str) -> str:
    environment = os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    }
    run = subprocess.run(
        [sys.executable, *words], cwd=work, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def check(folder: Path, work: Path) -> None:
    lines = used(folder, work, "-c", SCRIPT).splitlines()
    assert lines == [
        "[0.5, 0.75]",
        "first gradient True",
        "['theory:first_gradient', 'simulation:first_gradient']",
        "True",
        "True",
    ]


@pytest.mark.slow
def test_the_entry_points_of_the_template_reach_every_surface(tmp_path):
    """As an installer would lay it out, without building."""
    settings = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "site"
    facts = folder / f"{settings['name'].replace('-', '_')}-{settings['version']}.dist-info"
    facts.mkdir(parents=True)
    (folder / "first_gradient").symlink_to(PLUGIN / "src" / "first_gradient")
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {settings['name']}\nVersion: {settings['version']}\n"
    )
    groups = settings["entry-points"]
    text = [f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in groups[g].items()) for g in groups]
    (facts / "entry_points.txt").write_text("\n".join(text))
    check(folder, tmp_path)


@pytest.mark.slow
def test_the_template_is_built_and_installed(tmp_path):
    """With pip, which fetches the build system."""
    folder = tmp_path / "site"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(PLUGIN)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    check(folder, tmp_path)
    used(folder, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN / "tests"))
