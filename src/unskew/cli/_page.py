"""What commands that serve a page share: where it listens, and how people learn of it."""

import sys
from typing import Annotated, Protocol, TypeAlias

import typer

Host: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Listen on this address, for others too; the page's address then has a token. "
        "Default: only this machine can connect.",
        show_default=False,
    ),
]
Port: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--port",
        "-p",
        help="Listen on this port; 0 for any. Default: 4747, or the next that is free.",
        show_default=False,
    ),
]
NoBrowser: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-browser",
        help="Open no browser. Default: one opens if this is a terminal.",
        show_default=False,
    ),
]


class Page(Protocol):
    """A page that is served."""

    @property
    def url(self) -> str:
        """Its address."""

    @property
    def note(self) -> str | None:
        """What a user should know."""


def announce(page: Page, *, open_browser: bool, aside: bool = False) -> None:
    """Print the address, aside if the output is for other things; open it before a terminal."""
    if page.note:
        typer.echo(f"note: {page.note}", err=True)
    typer.echo(page.url, err=aside)
    sys.stdout.flush()
    if open_browser and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(page.url)
