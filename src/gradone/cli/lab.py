"""``gradone lab``: the theory in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ._app import app


@app.command()
def lab(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port number; 0 takes a free port.")
    ] = 8642,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; by default this machine only.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Name or address under which others reach this machine; may be given again.",
        ),
    ] = None,
) -> None:
    """Serve the lab, a page for the browser.

    To serve other machines (--host 0.0.0.0), name this one by --allow-host. The address that is
    printed then holds a token, and nobody without it gets an answer.
    """
    from importlib import import_module

    from ..base.errors import BadData

    try:
        # By name: the command line and the lab stand side by side and do not know each other.
        server = import_module("gradone.lab.server")
    except ImportError as error:
        raise BadData(
            f"the lab needs {error.name}. Install it with: pip install 'gradone[lab]'"
        ) from None
    if not server.is_loopback(host):
        typer.echo(
            f"Warning: {host} can be reached from other machines. Whoever has the address below, "
            "with its token, can use this machine's processors.",
            err=True,
        )
    server.serve(
        host,
        port,
        lambda address: typer.echo(f"The lab is at {address}  (Ctrl-C stops it)"),
        allowed=allow_host or (),
    )
