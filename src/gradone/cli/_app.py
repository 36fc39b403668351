"""The application that commands join, and what all of them share: version, errors, exit codes."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..base.errors import GradoneError

_NEGATIVE = re.compile(r"-(?:z\d?\b|\(|[\d.]|[A-Za-z]+\d*\()")
MISTAKE = 2  # exit code of a request that cannot be met as it stands
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def wrapped(text: str, width: int) -> str:
    """Lines of a text, broken between words where they are longer than a terminal.

    Examples
    --------
    >>> print(wrapped("unknown: no_such_name. Known: one, two", 24))
    unknown: no_such_name.
      Known: one, two
    """
    return "\n".join(
        textwrap.fill(
            line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        if len(line) > width
        else line
        for line in text.split("\n")
    )


def say(text: str, *, err: bool = False) -> None:
    """Print whole words for a person at a terminal; a program gets every line as it is."""
    is_read = (sys.stderr if err else sys.stdout).isatty()
    typer.echo(wrapped(text, shutil.get_terminal_size().columns) if is_read else text, err=err)


class Commands(TyperGroup):
    """Group of commands that turns errors made for people into one message and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept ``--debug`` after the name of a command too, and expressions that begin with -."""
        # A space in front keeps "-z1" from being read as an option.
        args = [f" {word}" if _NEGATIVE.match(word) else word for word in args]
        end = args.index("--") if "--" in args else len(args)
        if "--debug" in args[:end]:
            args = ["--debug", *(word for word in args[:end] if word != "--debug"), *args[end:]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except GradoneError as error:
            if ctx.params["debug"]:
                raise
            say(f"{type(error).__name__}: {error}", err=True)
            raise typer.Exit(MISTAKE) from error
        except OSError as error:
            if ctx.params["debug"] or error.filename is None:
                raise
            say(f"{error.filename} cannot be used: {error.strerror}.", err=True)
            raise typer.Exit(MISTAKE) from error
        except KeyboardInterrupt as interrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from interrupt


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"gradone {version('gradone')}")
        raise typer.Exit


@app.callback()
def gradone(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error as well.")
    ] = False,
) -> None:
    """A laboratory for the theory of feature learning."""
