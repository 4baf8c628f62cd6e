"""``unskew dashboard``: look at a run, or at a simulated stream."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

import typer

from unskew.errors import InvalidParameterError

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
RunDirectory: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        help="The run directory of 'unskew run' or us.watch, finished or still growing.",
        metavar="RUN_DIR",
        show_default=False,
    ),
]
Simulated: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Show a simulated drifting stream under four groupings; needs no Spark.",
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


def dashboard(
    run_dir: RunDirectory = None,
    demo: Simulated = False,
    host: Host = None,
    port: Port = None,
    no_browser: NoBrowser = False,
) -> None:
    """Watch loads, imbalance, throughput, hot keys and plans on a page in the browser.

    [bold]Examples[/bold]

    unskew dashboard --demo

    unskew dashboard runs/orders

    unskew dashboard runs/orders --host 0.0.0.0 --port 8080 --no-browser
    """
    if demo == (run_dir is not None):
        got = "both" if demo else "neither"
        raise InvalidParameterError("dashboard", "RUN_DIR", "given, or --demo instead", got)
    from unskew.dashboard.following import serve_folder

    opened: AbstractContextManager[Page] = (
        _demo_page(host, port)
        if run_dir is None
        else serve_folder(run_dir, mode="replay", host=host, port=port)
    )
    from unskew.cli._interrupts import noting_interrupts

    with opened as page, noting_interrupts() as interrupt:
        announce(page, open_browser=not no_browser)
        typer.echo("Ctrl-C closes it.", err=True)
        interrupt.wait()  # to close the page is the usual end of this command, not a failure
        typer.echo("closed", err=True)


@contextmanager
def _demo_page(host: str | None, port: int | None) -> Iterator[Page]:
    from unskew.dashboard.feed import Feed
    from unskew.dashboard.model import RunModel
    from unskew.dashboard.serving import DashboardServer

    feed = Feed(RunModel("a drifting stream, simulated", "demo"))
    with DashboardServer(feed, host=host, port=port) as server:
        from unskew.dashboard.demo import Demo  # compiled loops: the page need not wait for them

        with Demo(feed):
            yield server
