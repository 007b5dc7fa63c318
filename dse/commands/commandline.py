"""The ``dse`` command and what it can do."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

from dse.commands.terminal.door import Door
from dse.commands.terminal.printing import say

# in the order in which a user needs them; a command's module is imported when it is asked for
_HOMES = {
    "solve": "commands.answering",
    "sweep": "commands.sweep_command",
    "evaluate": "commands.sweep_command",
    "verify": "commands.store_commands",
    "front": "commands.answering",
    "compare": "commands.compare_command",
    "uncertainty": "commands.uncertainty_command",
    "report": "commands.report_command",
    "export": "commands.export_command",
    "diff": "commands.diff_command",
    "check": "commands.inspecting",
    "explain": "commands.inspecting",
    "measure": "commands.measure_command",
    "fit": "commands.fit_command",
    "reproduce": "commands.answering",
    "models": "commands.listings",
    "machines": "commands.listings",
    "workloads": "commands.listings",
    "scenarios": "commands.listings",
    "new": "commands.listings",
    "schema": "commands.listings",
}


class _Commands(MutableMapping[str, click.Command]):
    """The commands by name."""

    def __init__(self) -> None:
        self._found: dict[str, click.Command | None] = dict.fromkeys(_HOMES)

    def __getitem__(self, name: str) -> click.Command:
        command = self._found[name]
        if command is None:
            command = getattr(import_module(f"dse.{_HOMES[name]}"), name)
            assert isinstance(command, click.Command), "the functions of these names are commands"
            self._found[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from dse.version import VERSION

        say(f"dse {VERSION}")
        ctx.exit()


@click.group(cls=Door, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print it."
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an unexpected failure."
)
def main() -> None:
    """Answer co-design questions about machines and algorithms, with certificates.

    Start with `dse scenarios`, then `dse solve nbody_deadline`.
    """


main.commands = _Commands()
