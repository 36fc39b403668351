"""Every figure: what it states, what it claims, what it costs."""

import ast
from pathlib import Path

import pytest
from matplotlib.text import Text
from typer.testing import CliRunner

import gradone as gd
from gradone.charts._matplotlib import figure_of
from gradone.cli import app
from gradone.experiments.store import Store
from gradone.gallery import FIGURES, GalleryFigure

from .planted import PLANTED, stretched

NAMES = gd.gallery.names()
ROOM = Path(gd.gallery.__file__).parent
WITHOUT_THEORY = {"digit-filters"}  # measured on images, beside labels in random order


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_states_what_it_must(name):
    figure = FIGURES[name]
    assert issubclass(figure, GalleryFigure)
    assert figure.__doc__
    assert figure.title
    assert figure.sentence.endswith(".")
    assert len(figure.sentence) < 350
    assert gd.cite(figure)
    assert 0 < figure.budget["small"] <= 100
    assert figure.budget["paper"] >= figure.budget["small"]


def test_the_site_has_a_picture_of_every_figure():
    pictures = Path(__file__).parents[2] / "docs" / "_static" / "figures"
    assert {path.stem for path in pictures.glob("*.png")} == set(NAMES)


def test_planted_errors_are_of_figures_that_exist():
    assert set(PLANTED) <= set(NAMES)


@pytest.mark.parametrize("path", sorted(ROOM.glob("*/[a-z]*.py")), ids=lambda path: path.stem)
def test_a_file_of_the_room_is_a_figure(path):
    added = [
        node.args[0].value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "FIGURES.add"
    ]
    assert added == [path.stem.replace("_", "-")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the command keeps its store and its files."""
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def made(folder):
    """Figures of small size, each computed once."""
    found = {}

    def make(name):
        if name not in found:
            with Store(folder / "gallery.db") as store:
                found[name] = gd.gallery.reproduce(name, store=store)
        return found[name]

    return make


@pytest.mark.figure
@pytest.mark.parametrize("name", NAMES)
def test_the_literature_is_right_and_a_planted_error_is_noticed(name, made):
    figure = made(name)
    assert [str(claim) for claim in figure.claims if not claim.holds] == []
    planted = PLANTED.get(name, stretched)(figure.data)
    noticed = [claim for claim in FIGURES[name]().claims(planted) if not claim.holds]
    assert noticed != []


@pytest.mark.figure
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_keeps_its_budget_and_shows_theory_and_simulation(name, made, tmp_path):
    figure = made(name)
    assert figure.seconds <= figure.budget
    kinds = {one.kind for chart in figure.charts for one in chart.series}
    assert kinds & {"line", "heat", "bar", "hline"}
    assert kinds & {"points", "bar", "heat"}
    words = " ".join(one.name for chart in figure.charts for one in chart.series if one.listed)
    assert "theory" in words or name in WITHOUT_THEORY
    assert "simulation" in words or "measured" in words
    for chart in figure.charts:
        assert chart.x.label
        assert chart.y.label
    suffixes = {path.suffix for path in figure.save(tmp_path)}
    assert suffixes == {".pdf", ".png", ".csv", ".json"}
    assert figure.picture.origin["command"] == f"gradone figure {name} --size small"


@pytest.mark.figure
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_fits_a_paper_and_can_be_read(name, made):
    drawn = figure_of(made(name).picture)
    assert drawn.get_figwidth() * 25.4 <= 180
    sizes = [text.get_fontsize() for text in drawn.findobj(Text) if text.get_text()]
    assert min(sizes) >= 7


@pytest.mark.figure
@pytest.mark.parametrize("name", NAMES)
def test_the_command_makes_every_figure_that_it_lists(name, made, folder):
    figure = made(name)
    result = CliRunner().invoke(app, ["figure", name, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    for path in figure.save(folder):
        assert path.stat().st_size > 0
