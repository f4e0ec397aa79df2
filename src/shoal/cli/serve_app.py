"""``shoal app``: the same work in the browser, served by this machine."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from shoal.cli.arguments import in_files
from shoal.cli.screen import say
from shoal.errors import OptionError
from shoal.messages import Message

_beyond = partial(typer.Option, rich_help_panel="Beyond this machine")


def serve_app(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="A table, a folder of tables or a job file to open.",
            show_default=False,
        ),
    ] = None,
    *,
    port: Annotated[
        int, typer.Option("--port", help="The port of the page; 0 takes a free one.", min=0)
    ] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    files: Annotated[
        str | None,
        in_files(
            "--files",
            help="Files are opened by path in this folder and below; the present one unless given.",
            metavar="FOLDER",
        ),
    ] = None,
    folder: Annotated[
        str | None,
        in_files(
            "--folder",
            help="The private folder for the state of work; one of the user unless given.",
            metavar="FOLDER",
        ),
    ] = None,
    keep: Annotated[
        bool,
        in_files("--keep", help="Keep copies of tables and results when the server ends."),
    ] = False,
    host: Annotated[
        str,
        _beyond(
            "--host",
            help="The address to listen on; beyond this machine only with a password and TLS.",
            metavar="ADDRESS",
        ),
    ] = "127.0.0.1",
    password_file: Annotated[
        str | None,
        _beyond(
            "--password-file",
            help="A file whose first line is the password that the page asks for.",
            metavar="FILE",
        ),
    ] = None,
    tls_certificate: Annotated[
        str | None,
        _beyond(
            "--tls-certificate", help="The certificate of the address, as PEM.", metavar="FILE"
        ),
    ] = None,
    tls_key: Annotated[
        str | None,
        _beyond("--tls-key", help="The key of that certificate, as PEM.", metavar="FILE"),
    ] = None,
) -> None:
    """Open the work in a browser: see the table, choose roles, run, and hand over.

    The page is served by this machine and nothing leaves it. The address holds a key that lets one
    browser in, once. Ctrl-C ends the server.
    """
    try:
        from shoal.app.serve import Wishes, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "shoal":
            raise
        raise OptionError(
            "The page needs more packages: pip install 'shoal-anonymity[app]'."
        ) from None
    wishes = Wishes(
        data=data,
        host=host,
        port=port,
        browser=not no_browser,
        files=files,
        folder=folder,
        keep=keep,
        password_file=password_file,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
    )
    from shoal.cli.state import note_kept, soften_next_interrupt

    note_kept(Message("settings are kept, copies of tables are removed."))
    serve(wishes, say=say, on_interrupt=soften_next_interrupt)
