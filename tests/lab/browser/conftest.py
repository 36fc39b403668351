"""A real browser on a running lab: pages that may have no error and ask nobody else."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 90_000  # milliseconds: other work may fill the machine
Open = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are slow, and need a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any, lab: str) -> Iterator[Open]:
    """Opens pages; afterwards none may have had an error, or asked anything of another address.

    A refused question is an answer, but the browser writes its status down nevertheless: `refused`
    says which statuses a test provokes. A page that is alone is never sent away, however loaded the
    machine is and however long the processes of the lab take to start.
    """
    problems: list[str] = []
    contexts = []
    playwright.expect.set_options(timeout=PATIENCE)

    def opened(
        query: str = "", *, width: int = 1280, height: int = 900, refused: tuple[int, ...] = (),
        prepare: Callable[[Any], None] | None = None,
    ) -> Any:  # fmt: skip
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)

        def hear(message: Any) -> None:
            known = any(f"status of {status}" in message.text for status in refused)
            if message.type == "error" and not known:
                problems.append(message.text)

        def look(request: Any) -> None:
            if not request.url.startswith((f"{lab}/", f"blob:{lab}/")):
                problems.append(request.url)

        page.on("console", hear)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", look)
        if prepare is not None:
            prepare(page)
        page.goto(f"{lab}/{query}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []
