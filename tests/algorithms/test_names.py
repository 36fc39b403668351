"""Nothing above the cards knows an algorithm by name."""

import ast
import re
from pathlib import Path

import pytest

import gradone
from gradone import Sight, Target
from gradone.algorithms import ALGORITHMS, all_cards
from gradone.analysis.depth.exponents import LEARNERS as NETWORKS
from gradone.dynamics import ENGINES
from gradone.lab.contestants import racing
from gradone.learners import LEARNERS
from gradone.theory import THEORIES

ROOT = Path(gradone.__file__).parent
ROOMS = ("experiments", "charts", "report", "lab", "cli")
# Kinds of networks of the analysis of depth are no algorithms, though one has the name of a theory.
NAMES = {*ALGORITHMS, *THEORIES, *LEARNERS, *ENGINES} - {*NETWORKS}
TOUR = "tour_pages.js"  # a page of the tour names what it tells about, as a figure does


def texts_of(file):
    """Texts of a file of Python that are neither docstrings nor examples of a schema."""
    tree = ast.parse(file.read_text())
    examples = [
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "examples"
        for inner in ast.walk(node)
    ]
    spoken = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    } | {*examples}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in spoken:
            yield node.lineno, node.value


def names_in(text):
    """Names of algorithms in a text that is one, a source, or a list of them; not in sentences."""
    words = set(re.split(r"[\s,:]+", text))
    return words & NAMES if words <= NAMES | {"theory", "simulation", ""} else set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_above_the_cards_names_an_algorithm(room):
    found = []
    for file in sorted(ROOT.joinpath(room).rglob("*.py")):
        for line, text in texts_of(file):
            found += [f"{file.name}:{line}: {name}" for name in names_in(text)]
    assert found == []


def test_no_script_of_the_lab_names_an_algorithm():
    found = []
    for file in sorted(ROOT.joinpath("lab/static").glob("*.js")):
        if file.name == TOUR:
            continue
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
        texts = re.findall(r"[\"'`]([\w,.]+)[\"'`]", code)
        found += [f"{file.name}: {t}" for t in texts if set(re.split("[,.]", t)) & NAMES]
    assert found == []


def test_every_learner_and_engine_is_the_face_of_an_algorithm():
    """So that whatever can run appears on every surface."""
    assert {card.learner for card in all_cards() if card.learner} == set(LEARNERS)
    assert {card.engine for card in all_cards() if card.engine} == set(ENGINES)


def test_layers_of_filters_are_offered_in_a_race_where_there_are_levels():
    for target, offered in ((Sight("tanh(h)", "He2(z)"), True), (Target("z1*z2"), False)):
        assert ("neural_lofi" in {card.name for card in racing(target)}) is offered
