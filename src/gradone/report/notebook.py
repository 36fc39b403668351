"""A study in a notebook: a page that fills while curves are computed; in a terminal, a bar."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.progress import TerminalBar
from .words import curve_rows, verdict

if TYPE_CHECKING:
    from .study import Study

Tell = Callable[["Study", int, Any], object]
_PAUSE = 4.0  # seconds between two pictures of what is there


def watcher() -> tuple[Tell, Callable[[], object]]:
    """Who is told how a study goes on, and what to call at its end."""
    if _is_notebook():
        page = _LivePage()
        return page.tell, page.close
    bar = TerminalBar("study")
    return lambda _, done, known: done and bar.step(done, known), bar.close


def _is_notebook() -> bool:
    """Whether a kernel of Jupyter shows what we display."""
    shell = sys.modules.get("IPython")
    running = shell and shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


class _LivePage:
    """Verdict at once, then pictures that fill."""

    def __init__(self) -> None:
        from importlib import import_module

        # Not a requirement: who has no notebook does not come here.
        display = import_module("IPython.display").display
        self._handle: Any = display({"text/html": ""}, raw=True, display_id=True)
        self._last = -_PAUSE

    def tell(self, study: Study, done: int, known: int | str) -> None:
        """Show what is there, now and then; the words come before the first picture."""
        now = time.monotonic()
        if done and now - self._last < _PAUSE:
            return
        state = f"{done} of {known} pieces so far" if done else str(known or "computing …")
        text = in_notebook(study, state)
        self._handle.update({"text/html": text, "text/plain": ""}, raw=True)
        self._last = now if done else -_PAUSE

    def close(self) -> None:
        """The study shows itself, as the value of its cell: the page that filled makes room."""
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)


def in_notebook(study: Study, state: str = "") -> str:
    """Verdict, pictures and the last points of the curves, as a piece of HTML.

    Examples
    --------
    >>> from gradone import Target, analyze
    >>> from gradone.report import Study
    >>> target = Target("z1")
    >>> "Trivial" in in_notebook(Study(target, 50, verdicts={"analysis": analyze(target)}))
    True
    """
    e = html.escape
    headline, sentences = verdict(study.analysis or study.why_not("analysis"))
    pictures = "".join(
        f'<figure style="margin:0;width:min(30em,100%)"><figcaption><b>{e(title)}</b></figcaption>'
        f"{chart.to_svg()}</figure>"
        for title, chart in study.charts.items()
    )
    rows = "".join(
        f"<tr><td>{e(name)}</td><td>{e(text)}</td></tr>" for name, text in curve_rows(study)
    )
    return (
        f"<div><p><code>{e(study.target.text)}</code></p><h3>{e(headline)}</h3>"
        f"<p>{e(' '.join(sentences))}</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:1em">{pictures}</div>'
        f"<table>{rows}</table><p><i>{e(state)}</i></p></div>"
    )
