"""A notebook of every page with examples, beside the page, and a link to it at its top."""

import importlib.util
import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

_TOOL = Path(__file__).parents[2] / "tools" / "page_notebooks.py"
_SPEC = importlib.util.spec_from_file_location("page_notebooks_tool", _TOOL)
tool = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(tool)


def _text(app: Sphinx, docname: str) -> str:
    path = Path(app.env.doc2path(docname))
    return path.read_text(encoding="utf-8") if path.suffix == ".md" else ""


def _link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html" or not tool.SESSION.search(_text(app, docname)):
        return
    name = f"{docname.rpartition('/')[2]}.ipynb"
    link = f'<p class="notebook"><a href="{name}" download>This page as a notebook</a></p>'
    section = next(iter(doctree.findall(nodes.section)), None)
    if section is not None:
        section.append(nodes.raw("", link, format="html"))


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for docname in app.env.found_docs:
        text = _text(app, docname)
        if tool.SESSION.search(text):
            path = Path(app.outdir) / f"{docname}.ipynb"
            path.write_text(json.dumps(tool.notebook_of(text), indent=1), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("doctree-resolved", _link)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
