"""``python -m dse.papers.vtrain2024.machine`` writes vTrain's machine and the layers measured there."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from dse.machines import writing
from dse.models.transformers import transformer_measured
from dse.papers.vtrain2024.fit import NAME, START, everything, factors, fit, intervals
from dse.papers.vtrain2024.runs import SETS, measured

WRITTEN_DIGITS = 4


def file() -> str:
    """Return the machine file, TOML."""
    runs = everything()
    found = fit(runs)
    ends = intervals(runs, found)
    named = " and ".join(f"vtrain_{which}.csv" for which in SETS)
    source = f"fitted on {runs.seconds.size} iteration times of {named}; 95 % interval"
    layers = f"times of layers of {SETS[0]}.csv, as factors on the page of transformer_training"
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
        told = [f'"{f"{v:.{WRITTEN_DIGITS}g} {unit}".rstrip()}"' for v in (value, low, high)]
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


def module(text: str) -> str:
    """Return the text of the module of measured layers with the factors of today's fit."""
    rows = factors(measured("single_node"), fit(everything()))
    listed = "\n".join(f"    {key}: {value}," for key, value in rows.items())
    before, begins, rest = text.partition("FACTORS = {\n")
    _, ends, after = rest.partition("\n}\n")
    return before + begins + listed + ends + after


def write(folder: Path) -> None:
    """Write the machine file into ``folder``, and the factors into their module."""
    (folder / f"{NAME}.toml").write_text(file(), encoding="utf-8")
    layers = Path(str(transformer_measured.__file__))
    layers.write_text(module(layers.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write(Path(str(files("dse.machines"))))
