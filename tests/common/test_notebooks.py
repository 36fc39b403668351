"""Notebooks of the pages and of the gallery: they are whole, and they run."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from .test_docs import PAGES, load, name, run_pages

ROOT = Path(__file__).parents[2]
tool = load(ROOT / "tools" / "page_notebooks.py")
WITH_CODE = [page for page in PAGES if run_pages.SESSION.search(page.read_text(encoding="utf-8"))]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def cells_of(page):
    return tool.notebook_of(page.read_text(encoding="utf-8"))["cells"]


def run(cells, folder):
    """Run the cells of code one after the other; those with a tag must raise."""
    space: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for one in cells:
            if one["cell_type"] != "code":
                continue
            code = compile("".join(one["source"]), "notebook", "exec")
            raises = "raises-exception" in one["metadata"].get("tags", ())
            with pytest.raises(Exception) if raises else contextlib.nullcontext():  # noqa: PT011
                exec(code, space)  # noqa: S102


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_a_notebook_holds_all_of_its_page(page):
    text, cells = page.read_text(encoding="utf-8"), cells_of(page)
    typed = [line[4:] for line in text.splitlines() if line.startswith((">>> ", "... "))]
    code = [
        line for one in cells if one["cell_type"] == "code" for line in one["source"].split("\n")
    ]
    assert [line for line in code if line.strip()] == [line for line in typed if line.strip()]
    for one in cells:
        if one["cell_type"] == "code":
            compile(one["source"], "notebook", "exec")
    assert json.loads(json.dumps(cells)) == cells
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    prose = "\n".join(one["source"] for one in cells if one["cell_type"] == "markdown")
    assert all(heading in prose for heading in headings)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_notebook_of_a_page_runs(page, tmp_path):
    with run_pages.beside(page.read_text(encoding="utf-8")):
        run(cells_of(page), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_notebook_of_an_example_runs(script, tmp_path):
    """As sphinx-gallery makes it for the site; it is part of the environment of the docs."""
    blocks = pytest.importorskip("sphinx_gallery.py_source_parser", reason="make docs installs it")
    notebook = pytest.importorskip("sphinx_gallery.notebook")
    settings = pytest.importorskip("sphinx_gallery.gen_gallery").DEFAULT_GALLERY_CONF
    _, found = blocks.split_code_and_text_blocks(str(script))
    made = notebook.jupyter_notebook(found, settings, "")
    run(made["cells"], tmp_path)
