"""The pages of the project print what they say they print."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import click
import pytest
import typer

from gradone.cli import app

ROOT = Path(__file__).parents[2]


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # so that dataclasses and pickles would find it
    spec.loader.exec_module(module)
    return module


run_pages = load(ROOT / "tools" / "run_pages.py")
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "_build" not in page.parts and "generated" not in page.parts
]
SESSIONS = [
    pytest.param(page, marks=pytest.mark.slow if "<!-- slow -->" in text else ())
    for page in PAGES
    if run_pages.SESSION.search(text := page.read_text(encoding="utf-8"))
]
CONSOLES = [p for p in PAGES if run_pages.CONSOLE.search(p.read_text(encoding="utf-8"))]
SHELLS = [(p, words) for p in PAGES for words in run_pages.shell_commands(p)]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_snippets_print_what_the_page_shows(page):
    report = run_pages.run_sessions(page)
    assert not report, report


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLES, ids=name)
def test_commands_print_what_the_page_shows(page):
    report = run_pages.run_consoles(page)
    assert not report, report


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_python_stands_on_a_page_without_being_run(page):
    assert "```python" not in page.read_text(encoding="utf-8")


def test_a_tag_names_one_formula():
    """Would catch: [FL-1] on the page of flows and on that of tables."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    tags = Counter(tag for text in texts for tag in re.findall(r"\\tag\*\{\[(.+?)\]", text))
    assert [tag for tag, count in tags.items() if count > 1] == []
    assert len(tags) > 100


@pytest.mark.parametrize(
    ("page", "words"), SHELLS, ids=[f"{name(p)}-{' '.join(w)}" for p, w in SHELLS]
)
def test_commands_of_a_page_are_understood(page, words):
    """The parser of the command line takes every call of gradone that a page shows."""
    command = typer.main.get_command(app)
    context = click.Context(command)
    name, subcommand, rest = command.resolve_command(context, list(words))
    subcommand.make_context(name, rest)


def test_a_page_that_prints_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    assert "Expected" in run_pages.run_sessions(page)
    page.write_text("```console\n$ gradone --version\ngradone 0.0.0\n```\n")
    assert "Expected" in run_pages.run_consoles(page)
    page.write_text("```pycon\n>>> 0.1 + 0.2\n0.3\n```\n")
    assert not run_pages.run_sessions(page)
