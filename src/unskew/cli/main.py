"""The command line: what it offers, exit codes, and errors in one line instead of a traceback."""

import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from unskew import __version__
from unskew.cli._plugins import ExtensibleGroup, PlainCommand
from unskew.cli.compare import compare
from unskew.cli.dashboard import dashboard
from unskew.cli.diagnose import diagnose
from unskew.cli.doctor import doctor
from unskew.cli.listings import groupings, streams
from unskew.cli.run import run as run_application
from unskew.cli.simulate import simulate
from unskew.errors import UnskewError

FAILED = 1
BAD_INPUT = 2
STOPPED = 130
CLOSED_PIPE = 141

# Typer has click within it or beside it, by version: this base of a public class is the same.
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]
app = typer.Typer(
    name="unskew",
    cls=ExtensibleGroup,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (groupings, streams, simulate, compare, diagnose, dashboard, doctor):
    app.command(cls=PlainCommand)(command)
app.command("run", cls=PlainCommand)(run_application)


@dataclass
class Outcome:
    """The exit code of a command; None as long as all is well."""

    code: int | None = None


@contextmanager
def exit_code_of() -> Iterator[Outcome]:
    """Turn what a command raises into an exit code and one line on stderr."""
    outcome = Outcome()
    try:
        yield outcome
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        outcome.code = STOPPED
    except _UsageError as error:
        outcome.code = _print_error(
            f"{_message_of(error).rstrip('.')}. Hint: unskew --help", BAD_INPUT
        )
    except UnskewError as error:
        outcome.code = _print_error(str(error), BAD_INPUT)
    except MemoryError as error:
        outcome.code = _print_error(f"not enough memory: {error}", FAILED)
    except OSError as error:
        outcome.code = _end_of_output(error)
    if outcome.code == STOPPED:
        _print_error("stopped", STOPPED)


def make_output_safe() -> None:
    """Let output that was closed go nowhere, and letters that a terminal lacks be spelled out."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (for good)
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _message_of(error: BaseException) -> str:
    text = getattr(error, "format_message", None)
    return str(text() if text else error)


def _print_error(message: str, code: int) -> int:
    line = " ".join(message.split()).removeprefix("unskew: ")
    print(f"unskew: {line}", file=sys.stderr)
    return code


def _end_of_output(error: OSError) -> int:
    if error.errno != errno.EPIPE:
        return _print_error(f"{error.strerror or error}", FAILED)
    # Python flushes once more on its way out; that must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE


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
    """Run one command and return its exit code; whatever is wrong is said in one line."""
    with exit_code_of() as outcome:
        outcome.code = app(
            list(arguments), prog_name="unskew", standalone_mode=False, obj=list(arguments)
        )
    return outcome.code or 0


def run() -> None:
    """Run the command that the user typed."""
    make_output_safe()
    sys.exit(main(sys.argv[1:]))
