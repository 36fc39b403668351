"""Markdown pages as notebooks: the ``pycon`` blocks become cells of code, the rest is text.

Usage: python tools/page_notebooks.py docs/recipes.md recipes.ipynb

``make docs`` writes one for every page that has such blocks, and links it there. Scripts of the
gallery have theirs from sphinx-gallery.
"""

import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any

SESSION = re.compile(r"^```pycon\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)


def cells_of(session: str) -> list[tuple[str, bool]]:
    r"""Code that is typed in a session, and whether the page shows that it raises.

    Whatever raises ends a cell, for nothing behind it would be run.

    Examples
    --------
    >>> cells_of(">>> x = 2\n>>> x / 0\nTraceback (most recent call last):\nZeroDivisionError\n")
    [('x = 2\nx / 0', True)]
    """
    found, typed = [], ""
    for example in doctest.DocTestParser().get_examples(session):
        typed += example.source
        if raises := example.want.startswith("Traceback"):
            found.append((typed.rstrip("\n"), raises))
            typed = ""
    return found + ([(typed.rstrip("\n"), False)] if typed else [])


def notebook_of(text: str) -> dict[str, Any]:
    """Notebook of a page, in the form of nbformat 4."""
    cells: list[dict[str, Any]] = []
    place = 0
    for block in SESSION.finditer(text):
        _add(cells, "markdown", text[place : block.start()].strip())
        for code, raises in cells_of(block[1]):
            _add(cells, "code", code, ["raises-exception"] if raises else [])
        place = block.end()
    _add(cells, "markdown", text[place:].strip())
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _add(
    cells: list[dict[str, Any]], kind: str, source: str, tags: list[str] | None = None
) -> None:
    if not source:
        return
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{len(cells)}",
        "metadata": {"tags": tags} if tags else {},
        "source": source,
    }
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    cells.append(cell)


if __name__ == "__main__":
    page, notebook = map(Path, sys.argv[1:])
    notebook.write_text(json.dumps(notebook_of(page.read_text(encoding="utf-8")), indent=1))
