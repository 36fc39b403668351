"""Charts: one description, the same picture everywhere, and its numbers beside it."""

import csv
import json
import math
import subprocess
import sys

import matplotlib as mpl
import pytest

from gradone.base.errors import BadData
from gradone.charts import (
    Axis,
    Chart,
    Panels,
    Series,
    Style,
    bar,
    heat,
    line,
    load,
    ordered_colors,
)

from .pictures import X, every_kind


def test_a_stored_picture_is_the_same_picture(tmp_path):
    picture = every_kind()
    assert load(json.loads(json.dumps(picture.to_dict(), allow_nan=False))) == picture
    picture.save(tmp_path / "a.svg")
    assert load(tmp_path / "a.json") == picture


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_the_same_chart_is_the_same_file_whatever_the_settings_of_the_user(tmp_path, suffix):
    every_kind().save(tmp_path / f"one.{suffix}")
    with mpl.rc_context({"font.size": 20, "lines.linewidth": 7, "axes.grid": True}):
        load(tmp_path / "one.json").save(tmp_path / f"two.{suffix}")
    one, two = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one) > 5000


def test_settings_of_the_user_are_left_alone(tmp_path):
    before = dict(mpl.rcParams)
    every_kind().save(tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


def test_saving_writes_the_numbers(tmp_path):
    files = every_kind().save(tmp_path / "new" / "a.svg")
    assert [path.name for path in files] == ["a.svg", "a.csv", "a.json"]
    with files[1].open(newline="") as file:
        rows = list(csv.DictReader(file))
    runs = [row for row in rows if row["series"] == "runs"]
    assert [row["y"] for row in runs] == ["0.1", "", "0.3"]
    assert [float(row["x"]) for row in runs] == list(X[:3])
    assert {row["z"] for row in rows if row["kind"] == "heat"} == {"0.0", "1.0"}
    assert json.loads(files[2].read_text())["charts"][0]["origin"] == {
        "command": "gradone figure x"
    }


def test_a_picture_of_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(BadData, match=r"ends in \.pdf, \.svg, \.png, \.html, \.tex; got 'a.tiff'"):
        every_kind().save(tmp_path / "a.tiff")
    assert list(tmp_path.iterdir()) == []


def test_plotly_accepts_every_kind():
    """The plotly package refuses names that plotly.js does not know."""
    pytest.importorskip("plotly")
    picture = every_kind()
    figure = picture.plotly()
    assert len(figure.data) == len(picture.plotly_dict()["data"])
    json.dumps(picture.plotly_dict(), allow_nan=False)


def test_both_renderers_draw_the_same_numbers():
    chart = every_kind().charts[0]
    ax = chart.draw()
    traces = {trace["name"]: trace for trace in chart.plotly_dict()["data"]}
    drawn = next(one for one in ax.get_lines() if one.get_label() == "theory")
    assert list(drawn.get_ydata()) == traces["theory"]["y"] == list(X)
    assert drawn.get_color() == traces["theory"]["line"]["color"] == "#0072B2"
    assert traces["runs"]["y"] == [0.1, None, 0.3]
    assert ax.get_xlim()[0] == 0


def test_legends_keep_the_order_of_the_series():
    names = [text.get_text() for text in every_kind().charts[0].draw().get_legend().get_texts()]
    assert names == ["bounds", "theory", "runs", "simulation", r"$\alpha _{c}$"]


def test_bars_at_the_same_places_stand_side_by_side():
    both = (bar("a", [0, 1], [1, 1]), bar("b", [0, 1], [2, 2]))
    chart = Chart("", Axis("x"), Axis("y"), both)
    first, second = chart.plotly_dict()["data"]
    assert first["offset"] + first["width"] == pytest.approx(second["offset"])
    left, right = (patch.get_x() for patch in chart.draw().patches[::2])
    assert right - left == pytest.approx(first["width"])


def test_sizes_are_those_of_a_paper():
    chart = every_kind().charts[0]
    millimeters = {
        width: round(25.4 * Chart(**{**vars(chart), "width": width}).figure().get_figwidth(), 6)
        for width in (None, "one", "two", 120)
    }
    assert millimeters == {None: 85, "one": 85, "two": 175, 120: 120}


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Series("a", [1, 2], [1]), "2 values of x and 1 of y"),
        (lambda: Series("a", [1], [math.inf]), "infinity"),
        (lambda: Series("a", [1], ["b"]), "must be numbers"),
        (lambda: Series("a", [1], [1], [-1]), "negative"),
        (lambda: Series("a", [1], [1], kind="pie"), "Known: line"),
        (lambda: Series("a", [1], [1], kind="band"), "half-width"),
        (lambda: heat("a", [1, 2], [1], [[1]]), "one column for each x"),
        (lambda: heat("a", [1], [1, 2], [[1]]), "one row for each y"),
        (lambda: Style(color="bleu"), "Did you mean 'blue'"),
        (lambda: Style(dash="long"), "Known: solid"),
        (lambda: Style(opacity=2), "opacity"),
        (lambda: Axis("x", "cubic"), "'linear' or 'log'"),
        (lambda: Axis("x", "log", (0, 1)), "positive range"),
        (lambda: Chart("", Axis("x", "log"), Axis("y"), (line("", [0], [1]),)), "logarithmic"),
        (lambda: Chart("", Axis("x"), Axis("y"), (), legend="top"), "Known places"),
        (lambda: Chart("", Axis("x"), Axis("y"), (), width=3), "20 to 2000 mm"),
        (lambda: Chart("", Axis("x"), Axis("y"), (), origin={"a": object()}), "plain values"),
        (lambda: Panels("", ()), "at least one"),
        (lambda: Chart.load(every_kind().to_dict()), r"Panels\.load"),
    ],
)
def test_a_defect_is_named_when_a_chart_is_made(make, problem):
    with pytest.raises(BadData, match=problem):
        make()


def test_ordered_colors_go_from_dark_to_light():
    def lightness(color):
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    shades = [lightness(color) for color in ordered_colors(7)]
    assert shades == sorted(shades)
    assert len(set(ordered_colors(7))) == 7


def test_drawing_never_loads_pyplot_and_describing_never_loads_matplotlib():
    code = (
        "import sys; from gradone.charts import *; "
        "c = Chart('', Axis('x'), Axis('y'), (line('', [0, 1], [0, 1]),)); c.plotly_dict(); "
        "assert 'matplotlib' not in sys.modules; c.to_svg(); "
        "assert 'matplotlib.pyplot' not in sys.modules; assert 'plotly' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_page_holds_its_script_and_its_words_end_nothing():
    evil = Chart("</script><b>", Axis("x"), Axis("y"), (line("", [0, 1], [0, 1]),))
    element = evil.to_html(full=False)
    assert element.count("</script>") == 1
    page = evil.to_html()
    assert page.count("</script>") == 2
    assert 1e6 < len(page) < 2.5e6
