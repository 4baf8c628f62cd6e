"""The command line: what it offers, and how it ends when something goes wrong."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from unskew import __version__
from unskew.cli._errors import exit_code_of, make_output_safe
from unskew.cli._plugins import ExtensibleGroup
from unskew.cli.compare import compare
from unskew.cli.dashboard import dashboard
from unskew.cli.diagnose import diagnose
from unskew.cli.groupings import groupings
from unskew.cli.run import run as run_application
from unskew.cli.simulate import simulate
from unskew.cli.streams import streams

app = typer.Typer(
    name="unskew",
    cls=ExtensibleGroup,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (groupings, streams, simulate, compare, diagnose, dashboard):
    app.command()(command)
app.command("run")(run_application)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unskew {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _unskew(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 (its callback acts)
        bool,
        typer.Option(
            "--version",
            help="Print the version and stop.",
            callback=_print_version,
            is_eager=True,
            show_default=False,
        ),
    ] = False,
) -> None:
    """Take the skew out of Spark jobs: find it, compare what would help, run it and watch.

    [bold]Start with:[/bold]  unskew diagnose data.parquet --by user --workers 64

    [bold]Without data:[/bold]  unskew dashboard --demo
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; whatever is wrong is told in one line."""
    with exit_code_of() as outcome:
        outcome.code = app(
            list(arguments), prog_name="unskew", standalone_mode=False, obj=list(arguments)
        )
    return outcome.code or 0


def run() -> None:
    """Run the command that the user typed."""
    make_output_safe()
    sys.exit(main(sys.argv[1:]))
