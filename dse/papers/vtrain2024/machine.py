"""``python -m dse.papers.vtrain2024.machine`` writes vTrain's machine and the layers measured there."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from dse.machines import writing
from dse.papers.vtrain2024.fit import NAME, START, everything, factors, fit, intervals
from dse.papers.vtrain2024.runs import SETS, measured

DIGITS = 4
MODULE = '''"""Layers that were measured, by how much longer they take than modelled.

Made by ``python -m dse.papers.vtrain2024.machine`` from 900 runs on one node of A100 (vTrain, MIT):
by hidden size, tensor parallelism and micro batch, with 16 heads, a sequence of 1024 tokens, and all activations
computed again, the median of measured over modelled time of a layer. They hold at any depth. They do not carry over to
other sizes, where the factor is 1.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from dse.models.arithmetic import reaches
from dse.models.shared.families import nothing

SEQUENCE = 1024
# (hidden, tensor_parallel, micro_batch): factor
FACTORS = {
%s
}


def factor(g: Any) -> Any:
    """Return the factor of the time of a layer: measured over modelled where it is known, 1 elsewhere."""
    share = g.machine.measured_layers
    if nothing(share):
        return 1.0
    here = {
        place: {size: _is(value, float(size)) for size in sorted({key[place] for key in FACTORS})}
        for place, value in enumerate((g.hidden, g.tensor_parallel, g.micro_batch))
    }
    known = (
        (more - 1.0) * here[0][hidden] * here[1][tensor] * here[2][batch]
        for (hidden, tensor, batch), more in FACTORS.items()
    )
    return 1.0 + share * _is(g.sequence, float(SEQUENCE)) * reduce(add, known)


def _is(value: Any, size: float) -> Any:
    """Return 1 where a whole number is this one, else 0."""
    return reaches(value, size - 0.5) * (1.0 - reaches(value, size + 0.5))
'''


def file() -> str:
    """Return the machine file, TOML."""
    runs = everything()
    found = fit(runs)
    ends = intervals(runs, found)
    named = " and ".join(f"vtrain_{which}.csv" for which in SETS)
    source = f"fitted on {runs.seconds.size} iteration times of {named}; 95 % interval"
    layers = "times of layers of single_node.csv, as factors in dse.models.transformers.transformer_measured"
    lines = [
        'title = "NVIDIA A100 nodes as vTrain\'s authors measured them, training in bfloat16"',
        'source = "VIA-Research/vTrain, measured iteration times (MIT); figures of dgx-a100"',
        "year = 2024",
        'figures_of = "dgx-a100"',
        'rate = "peak_bf16"',
        'notes = "Seven constants of transformer_training, fitted to 900 runs on one node and 73 on 8 and 64 nodes '
        "under Megatron-DeepSpeed, with all activations computed again: what is reached of the peak rate and of the "
        "memory bandwidth, launches of kernels, fixed times, messages within a node, the network. Links within a node "
        'are those of the data sheet. No energies were measured: they follow from the figures."',
    ]
    for name, value in found.items():
        unit = START[name][1]
        low, high = (min(ends[name][0], value), max(ends[name][1], value))
        told = [f'"{f"{v:.{DIGITS}g} {unit}".rstrip()}"' for v in (value, low, high)]
        lines += ["", f"[parameters.{name}]", f"value = {told[0]}", f"interval = [{told[1]}, {told[2]}]"]
        lines += ['evidence = "fitted to measurements"', f'source = "{source}"']
    lines += [
        "",
        "[parameters.measured_layers]",
        'value = "1"',
        'evidence = "measured"',
        f'source = "{layers}"',
    ]
    ends_of = {
        "checked_hidden_least": runs.plans["hidden"].min(),
        "checked_hidden_most": runs.plans["hidden"].max(),
        "checked_devices": runs.devices.max(),
    }
    for name, most in ends_of.items():
        lines += [
            "",
            f"[parameters.{name}]",
            f'value = "{most:g}"',
            'evidence = "measured"',
            f'source = "{named}"',
        ]
    return writing.completed("\n".join([*lines, "", writing.MARK, ""]), NAME)


def module() -> str:
    """Return the module of measured layers."""
    rows = factors(measured("single_node"), fit(everything()))
    return MODULE % "\n".join(f"    {key}: {value}," for key, value in rows.items())


def write(folder: Path) -> None:
    """Write the machine file into ``folder``."""
    (folder / f"{NAME}.toml").write_text(file(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.machines"))))
    (Path(str(files("dse.models"))) / "transformer_measured.py").write_text(module(), encoding="utf-8")
