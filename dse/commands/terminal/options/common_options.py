"""Arguments and options that many commands have."""

import click

SCENARIO = click.argument("scenario", metavar="FILE")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, numbers in SI units.")
