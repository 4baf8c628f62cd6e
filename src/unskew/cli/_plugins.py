"""Commands that other packages add to ``unskew`` by an entry point.

A package declares them in the group ``unskew.commands``: the name of the command, and the function
that `typer` makes it of. They are looked for only when the help lists all commands, or when a
command is asked for that is not one of our own; so no other command takes longer for them.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from unskew.errors import UnskewError

GROUP = "unskew.commands"
_PACKAGES = {"reproduce": "unskew-papers"}
"""Commands that are known to come with a package of their own, for those who lack it."""


class PlainCommand(TyperCommand):
    """A command whose help shows flags as flags, not as ``<bool>``."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags take no value, so none is shown."""
        return _flags_without_value(super().get_params(ctx))


class ExtensibleGroup(TyperGroup):
    """The commands of ``unskew``, and those of plug-ins behind them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options before any command, flags as in `PlainCommand`."""
        return _flags_without_value(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return our own commands, then those of plug-ins."""
        own = super().list_commands(ctx)
        return [*own, *sorted(name for name in _found() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one of a plug-in that cannot be loaded says so when it is run."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        plugin = _found().get(cmd_name)
        if plugin is not None:
            return _command_of(plugin)
        if cmd_name in _PACKAGES:
            package = _PACKAGES[cmd_name]
            return _failing(cmd_name, f"needs {package}. Hint: pip install {package}")
        return None


def _flags_without_value(options: list[Any]) -> list[Any]:
    for option in options:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
    return options


def _found() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=GROUP)}


def _command_of(plugin: EntryPoint) -> Any:
    try:
        function = plugin.load()
    except Exception as error:  # whatever somebody else's module does while it is imported
        reason = f"{type(error).__name__}: {error}"
        hint = f"reinstall or remove {plugin.dist.name if plugin.dist else 'its package'}"
        message = f"the plug-in {plugin.value} cannot be loaded: {reason}. Hint: {hint}"
        return _failing(plugin.name, message)
    return _made(plugin.name, function)


def _failing(name: str, message: str) -> Any:
    """Return a command that takes whatever it is given, and says why it cannot run."""

    def fail(_context: typer.Context) -> None:
        raise UnskewError(f"{name}: {message}")

    fail.__doc__ = f"Cannot run: {message}"
    takes_all = {"ignore_unknown_options": True, "allow_extra_args": True}
    return _made(name, fail, context_settings=takes_all, add_help_option=False)


def _made(name: str, function: Callable[..., Any], **options: Any) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=PlainCommand, **options)(function)
    return typer.main.get_command(app)
