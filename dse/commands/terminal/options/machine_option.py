"""The option --machine: another machine in place of the file's."""

from __future__ import annotations

import click

HELP = (
    "Another machine in place of the file's: a name (`dse machines`), a machine file (./mine.toml), or in a map of "
    "machines ENTRY=NAME. The stored question has that machine."
)


def _single_machine(context: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> str | None:
    """Return the one machine; raises UsageError where several are named."""
    if len(names) > 1:
        asked = " ".join(f"--machine {n}" for n in names)
        raise click.UsageError(
            f"{parameter.opts[0]} is given {len(names)} times, and a question is asked on one machine; "
            f"`dse compare FILE {asked}` sets machines side by side"
        )
    return names[0] if names else None


MACHINE = click.option("--machine", metavar="NAME", multiple=True, callback=_single_machine, help=HELP)
BASELINE_MACHINE = click.option(
    "--baseline-machine",
    metavar="NAME",
    multiple=True,
    callback=_single_machine,
    help="The baseline on another machine, as --machine.",
)


def machine_words(machine: str | None) -> list[str]:
    """Return the words that ask a command for this machine, too; none where the file's is asked."""
    return [] if machine is None else ["--machine", machine]
