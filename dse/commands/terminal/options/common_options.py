"""Arguments and options that many commands have."""

from collections.abc import Callable

import click

SCENARIO = click.argument("scenario", metavar="FILE")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")


def depth(default: str, told: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that says how much is told of an answer; ``told``: what the depth means here."""
    return click.option(
        "--depth", type=click.Choice(["limits", "full"]), default=default, show_default=True, help=told
    )
