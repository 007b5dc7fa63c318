"""The option --machine: another machine in place of the file's."""

from __future__ import annotations

import click

HELP = (
    "Another machine in place of the file's: a name (`dse machines`), a machine file (./mine.toml), or of a map of "
    "machines ENTRY=NAME. The stored question says so."
)

MACHINE = click.option("--machine", metavar="NAME", help=HELP)
