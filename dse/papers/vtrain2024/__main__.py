"""``python -m dse.papers.vtrain2024 FILE...``: errors and chosen plans of runs in files with vTrain's columns.

The machine is ``dgx-a100-vtrain2024`` as it ships; nothing is fitted to the files.
"""

import csv
import sys
from pathlib import Path

import click

from dse.papers.vtrain2024.comparison import ALONE, LEAST, NEAR_BEST
from dse.papers.vtrain2024.fit import NAME
from dse.papers.vtrain2024.runs import chosen, missed, modelled, runs_of

if len(sys.argv) < 2:
    sys.exit("usage: python -m dse.papers.vtrain2024 FILE.csv ...")
for name in sys.argv[1:]:
    try:
        with Path(name).open(encoding="utf-8", newline="") as stream:
            runs = runs_of(list(csv.DictReader(stream)))
    except (OSError, ValueError, KeyError) as problem:
        sys.exit(
            f"{name}: {type(problem).__name__}: {problem}; wanted is a CSV file with the columns of vTrain's"
        )
    least = LEAST["multi_node" if runs.devices.max() > 8.0 else "single_node"]
    for how, constants in (("as it ships", None), ("by constants alone", ALONE)):
        ours = modelled(runs, NAME, constants)
        lost = chosen(runs, ours, least)
        near = f"{100.0 * (lost <= NEAR_BEST).mean():.1f} % within 3 %" if lost.size else "none"
        mean = f", mean loss {100.0 * lost.mean():.2f} %" if lost.size else ""
        click.echo(f"{name}, {how}: {runs.seconds.size} runs, {missed(ours, runs.seconds):.2f} % off; "
              f"plans of {lost.size} groups of at least {least}: {near}{mean}")  # fmt: skip
