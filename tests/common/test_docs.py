"""The pages of the site print what they say they print."""

from __future__ import annotations

import doctest
import math
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if "```pycon" in p.read_text(encoding="utf-8")]
BLOCK = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.])")
NEGLIGIBLE = 1e-9  # errors of quadrature and what is zero but for rounding


class NearlyEqual(doctest.OutputChecker):
    """Texts must agree, numbers to nine digits."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        if not super().check_output(NUMBER.sub("0", want), NUMBER.sub("0", got), optionflags):
            return False
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
        return all(
            math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=NEGLIGIBLE) for a, b in pairs
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_snippets_print_what_the_page_shows(page):
    text = page.read_text(encoding="utf-8")
    # One example after the other, in one namespace, with the line numbers of the page.
    lines = ["\n"] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        start = text.count("\n", 0, block.start(1))
        for i, line in enumerate(block[1].splitlines(keepends=True)):
            lines[start + i] = line
    example = doctest.DocTestParser().get_doctest("".join(lines), {}, page.name, str(page), 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(checker=NearlyEqual(), optionflags=flags, verbose=False)
    report: list[str] = []
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)
