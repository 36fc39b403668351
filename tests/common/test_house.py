"""Rules of the house that a linter does not know."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gradone.charts import CHARTS
from gradone.gallery import FIGURES
from gradone.learners import LEARNERS
from gradone.theory import THEORIES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gradone"
MODULES = sorted(SOURCE.rglob("*.py"))
IDS = [str(path.relative_to(SOURCE)) for path in MODULES]

SCRIPTS = sorted((SOURCE / "lab" / "static").glob("*.js"))

MOST_LINES = 500
LONGEST_LINE_OF_A_SCRIPT = 120
BANNED_CALLS = {"eval", "exec"}
BANNED_MODULES = {"cPickle", "cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
# Folders that exist on one machine only, not at the end of a web address.
MACHINE_PATH = re.compile(rb"(?<![\w.}])/(work|root|home|Users)/\w")


@pytest.fixture(params=MODULES, ids=IDS)
def module(request):
    return request.param


@pytest.fixture
def tree(module):
    return ast.parse(module.read_text(encoding="utf-8"))


def test_module_is_short(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_lines_of_a_script_of_the_lab_are_short(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE_OF_A_SCRIPT] == []


def test_module_says_what_it_is(tree):
    assert ast.get_docstring(tree)


def test_module_name_has_a_meaning(module):
    assert module.stem not in {"utils", "misc", "helpers", "common"}


@pytest.mark.parametrize("registry", [CHARTS, FIGURES, LEARNERS, THEORIES], ids=lambda r: r.kind)
def test_a_registered_thing_stands_in_the_file_of_its_name(registry):
    places = {name: registry[name].__module__.rpartition(".")[2] for name in registry}
    own = {name: place for name, place in places.items() if place != "presets"}  # a table
    assert own == {name: name.replace("-", "_") for name in own}


@pytest.mark.parametrize("room", ["gallery", "learners", "theory"])
def test_rooms_have_the_families_of_the_field(room):
    found = {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")}
    assert found - {"tables"} == {"bayes", "lazy", "sgd", "giant", "depth"}


def test_module_runs_no_text_and_reads_no_pickle(tree):
    """Would catch: ``eval(...)``, ``builtins.exec``, ``import pickle``, ``allow_pickle=True``."""
    assert not list(dangers(tree))


def dangers(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in BANNED_CALLS:
                yield name
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in BANNED_CALLS:
                yield name
            case ast.Import(names=names):
                yield from (alias.name for alias in names if root(alias.name) in BANNED_MODULES)
            case ast.ImportFrom(module=str(name), level=0) if root(name) in BANNED_MODULES:
                yield name
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allow_pickle"


def root(name):
    return name.partition(".")[0]


@pytest.mark.parametrize(
    "code",
    [
        "eval('1')",
        "run = exec",
        "import builtins; builtins.exec('1')",
        "import pickle",
        "from pickle import loads",
        "np.load('x', allow_pickle=True)",
    ],
)
def test_dangers_are_recognized(code):
    assert list(dangers(ast.parse(code)))


def test_names_are_ascii(tree):
    names = {
        name
        for node in ast.walk(tree)
        for name in (getattr(node, field, None) for field in ("id", "attr", "name", "arg"))
        if isinstance(name, str)
    }
    assert [name for name in names if not name.isascii()] == []


def files_of_the_project():
    """Files that git tracks or would track; outside a clone, the source alone."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return MODULES
    command = [git, "ls-files", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [path for path in (ROOT / line for line in run.stdout.splitlines()) if path.is_file()]


def test_no_file_names_a_folder_of_one_machine():
    found = {
        str(path.relative_to(ROOT)): match[0].decode()
        for path in files_of_the_project()
        if (match := MACHINE_PATH.search(path.read_bytes()))
    }
    assert found == {}


def test_file_names_are_printable_ascii():
    names = [str(path.relative_to(ROOT)) for path in files_of_the_project()]
    assert [name for name in names if not re.fullmatch(r"[\w./-]+", name, re.ASCII)] == []
