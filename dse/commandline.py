"""The ``dse`` command and what it can do."""

from __future__ import annotations

import click

from dse import (
    commands,
    compare_command,
    diff_command,
    export_command,
    fit_command,
    inspecting,
    listings,
    measure_command,
    report_command,
    store_commands,
    sweep_command,
)
from dse.door import Door
from dse.terminal import say


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


for _command in (
    commands.solve,
    sweep_command.sweep,
    sweep_command.evaluate,
    store_commands.verify,
    commands.front,
    compare_command.compare,
    report_command.report,
    export_command.export,
    diff_command.diff,
    inspecting.check,
    inspecting.explain,
    measure_command.measure,
    fit_command.fit,
    commands.reproduce,
    listings.models,
    listings.machines,
    listings.workloads,
    listings.scenarios,
    listings.new,
    listings.schema,
):
    main.add_command(_command)
