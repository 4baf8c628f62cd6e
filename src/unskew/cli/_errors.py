"""How a command ends: exit codes, and errors in one line instead of a traceback."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from unskew.errors import UnskewError

FAILED = 1
BAD_INPUT = 2
STOPPED = 130
CLOSED_PIPE = 141

# Typer has click within it or beside it, by version: this base of a public class is the same.
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]


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
        outcome.code = _say(f"{_message_of(error).rstrip('.')}. Hint: unskew --help", BAD_INPUT)
    except UnskewError as error:
        outcome.code = _say(str(error), BAD_INPUT)
    except MemoryError as error:
        outcome.code = _say(f"not enough memory: {error}", FAILED)
    except OSError as error:
        outcome.code = _end_of_output(error)
    if outcome.code == STOPPED:
        _say("stopped", STOPPED)


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


def _say(message: str, code: int) -> int:
    line = " ".join(message.split()).removeprefix("unskew: ")
    print(f"unskew: {line}", file=sys.stderr)
    return code


def _end_of_output(error: OSError) -> int:
    if error.errno != errno.EPIPE:
        return _say(f"{error.strerror or error}", FAILED)
    # Python flushes once more on its way out; that must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE
