"""Run the examples of Markdown pages and compare what they print with what the page shows.

Usage: python tools/run_pages.py README.md docs/tour.md

The ``pycon`` blocks of a page are one session, run in an empty folder. Commands of gradone in its
``console`` blocks stand after a ``$`` and run in a folder with the examples of the project. A page
that needs a server names it in a comment, ``<!-- beside: gradone lab --port 8642 -->``. The
interpreter is the one that runs this script, so the environment under test decides what
``import gradone`` finds.
"""

import contextlib
import doctest
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SESSION = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ gradone (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
TIMES = re.compile(r"(?<=^CPU time: ).*", re.MULTILINE)
BESIDE = re.compile(r"^<!-- beside: gradone (.*) -->$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.])")
NEGLIGIBLE = 1e-9  # errors of quadrature and what is zero but for rounding
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class NearlyEqual(doctest.OutputChecker):
    """Texts must agree, numbers to nine digits."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether the printed lines are those of the page."""
        if super().check_output(want, got, optionflags):
            return True
        if not super().check_output(NUMBER.sub("0", want), NUMBER.sub("0", got), optionflags):
            return False
        wanted, found = NUMBER.findall(want), NUMBER.findall(got)
        return len(wanted) == len(found) and all(
            math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=NEGLIGIBLE)
            for a, b in zip(wanted, found, strict=True)
        )


def run_sessions(page: Path) -> str:
    """Run the ``pycon`` blocks of a page in one namespace; return a report of what differs."""
    text = page.read_text(encoding="utf-8")
    # Blocks keep the line numbers that they have on the page.
    lines = ["\n"] * (text.count("\n") + 1)
    for block in SESSION.finditer(text):
        start = text.count("\n", 0, block.start(1))
        for i, line in enumerate(block[1].splitlines(keepends=True)):
            lines[start + i] = line
    example = doctest.DocTestParser().get_doctest("".join(lines), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(checker=NearlyEqual(), optionflags=FLAGS, verbose=False)
    report: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), beside(text):
        runner.run(example, out=report.append)
    return "".join(report) if runner.failures else ""


def run_consoles(page: Path) -> str:
    """Run the commands of the ``console`` blocks of a page; return a report of what differs."""
    gradone = Path(sys.executable).with_name("gradone")
    examples = Path(__file__).parents[1] / "examples"
    report = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(examples)
        for block in CONSOLE.finditer(page.read_text(encoding="utf-8")):
            for words, want in COMMAND.findall(block[1]):
                got = subprocess.run(
                    [gradone, *shlex.split(words)],
                    cwd=folder, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True,
                    check=False,
                ).stdout  # fmt: skip
                if not NearlyEqual().check_output(TIMES.sub("", want), TIMES.sub("", got), FLAGS):
                    report.append(f"{page.name}: gradone {words}\nExpected:\n{want}Got:\n{got}")
    return "".join(report)


@contextlib.contextmanager
def beside(text: str) -> Iterator[None]:
    """Run the commands that a page needs, from their first printed line to the end of the page."""
    gradone = Path(sys.executable).with_name("gradone")
    servers = [
        subprocess.Popen([gradone, *shlex.split(words)], stdout=subprocess.PIPE, text=True)
        for words in BESIDE.findall(text)
    ]
    try:
        for server in servers:
            assert server.stdout is not None
            server.stdout.readline()
        yield
    finally:
        for server in servers:
            server.terminate()
            server.communicate()


def shell_commands(page: Path) -> Iterator[list[str]]:
    """Arguments of every call of gradone in the ``sh`` blocks of a page."""
    for block in SHELL.finditer(page.read_text(encoding="utf-8")):
        for line in block[1].replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["gradone"]:
                yield words[1:]


def main(pages: list[Path]) -> int:
    """Run the pages; return how many of them failed, and count a page without examples as one."""
    failures = 0
    for page in pages:
        has_examples = SESSION.search(page.read_text(encoding="utf-8"))
        report = run_sessions(page) if has_examples else f"{page.name} has no example\n"
        failures += bool(report)
        print(f"{report}{page.name}: {'failed' if report else 'ok'}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
