"""``python -m dse.papers.megatron FILE``: errors of batch times of a file.

Its columns are those of ``data/megatron/times.csv``; nothing is fitted to it.
"""

import csv
import sys
from pathlib import Path

import click

from dse.papers.megatron.batches import told

if len(sys.argv) != 2:
    sys.exit("usage: python -m dse.papers.megatron FILE.csv")
with Path(sys.argv[1]).open(encoding="utf-8", newline="") as stream:
    lines = list(csv.DictReader(stream))
off = [told(line)["step_time"] / float(line["seconds"]) - 1.0 for line in lines]
for line, error in zip(lines, off, strict=True):
    click.echo(f"{line['model']}, {line['recompute']}: {100.0 * error:+.2f} %")
click.echo(f"mean: {100.0 * sum(map(abs, off)) / len(off):.2f} %")
