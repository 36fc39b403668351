"""Charts as LaTeX: pgfplots draws what both renderers draw."""

import re
import shutil
import subprocess

import pytest

from gradone.charts import Axis, Chart, heat, hline, line, points, vline

from .pictures import every_kind

_PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath,amssymb,pgfplots}\pgfplotsset{compat=1.16}\usepgfplotslibrary{groupplots}
\usepackage[paperwidth=210mm,paperheight=260mm,margin=5mm]{geometry}
\begin{document}\noindent\input{picture}\end{document}
"""


def compiled(picture, folder):
    """Log of LaTeX on a picture; skipped where pgfplots is not installed."""
    latex, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    if not latex or not finder or subprocess.run([finder, "pgfplots.sty"]).returncode:
        pytest.skip("pdflatex and pgfplots are not installed")
    picture.save(folder / "picture.tex")
    (folder / "paper.tex").write_text(_PREAMBLE)
    command = [latex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 5000
    return done.stdout


@pytest.mark.stat
def test_latex_draws_every_kind_of_series(tmp_path):
    classes = heat("", [1, 2], [1, 2], [[0, 1], [1, 0]], colors=("#ffffff", "#0072B2"))
    chart = Chart("50 % & more_or_less", Axis("x"), Axis("y"), (classes,))
    log = compiled(every_kind(), tmp_path)
    assert "Undefined" not in log
    compiled(chart, tmp_path)


def test_numbers_errors_and_names_are_in_the_file(tmp_path):
    runs = points("simulation $d=50$", [1, 2, 3], [0.1, float("nan"), 0.3], [0.01, 0, 0.03])
    theory = line("theory", [1, 3], [0.125, 0.25], color="blue", dash="dash")
    chart = Chart("", Axis(r"$\alpha$", "log"), Axis("overlap", range=(0, 1)), (theory, runs))
    files = chart.save(tmp_path / "a.tex")
    text = files[0].read_text()
    assert [file.suffix for file in files] == [".tex", ".csv", ".json"]
    assert re.search(r"xlabel=\{\$\\alpha\$\}", text)
    assert all(words in text for words in ("xmode=log", "ymin=0", "ymax=1", "y explicit"))
    assert "1 0.125\n3 0.25" in text
    assert "1 0.1 0.01\n2 nan 0\n3 0.3 0.03" in text
    entries = re.findall(r"\\addlegendentry\{(.*)\}", text)
    assert entries == ["theory", "simulation $d=50$"]


def test_levels_go_from_end_to_end_of_logarithmic_axes(tmp_path):
    """The ends of a logarithmic axis are logarithms in pgfplots, which no coordinate may be."""
    runs = points("simulation", [1, 10, 200], [0.1, 0.2, 0.3])
    chart = Chart("", Axis("rank", "log"), Axis("y"), (runs, hline("a", 0.2), vline("b", 10.0)))
    text = chart.save(tmp_path / "a.tex")[0].read_text()
    assert (
        "({axis cs:1,0.2} -| {rel axis cs:0,0}) -- ({axis cs:1,0.2} -| {rel axis cs:1,0})" in text
    )
    assert (
        "({axis cs:10,0.1} |- {rel axis cs:0,0}) -- ({axis cs:10,0.1} |- {rel axis cs:0,1})" in text
    )
    assert "pgfkeysvalueof" not in text


def test_words_have_their_color_and_no_mark(tmp_path):
    words = points("", [1], [2], text=["here"], marker="none", color="#FFFFFF")
    text = Chart("", Axis("x"), Axis("y"), (words,)).save(tmp_path / "a.tex")[0].read_text()
    assert "only marks" not in text
    assert r"\definecolor{gd0}{HTML}{FFFFFF}" in text
    assert (
        r"\node[gd0, opacity=1, font=\scriptsize, anchor=center] at (axis cs:1,2) {here};" in text
    )
