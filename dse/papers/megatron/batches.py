"""Activation memory and batch times of the models of 22 and 175 billion parameters, beside ``transformer_training``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dse import machines
from dse.papers import drawing
from dse.papers.asking import metrics
from dse.papers.drawing import BLUE, GREEN, ORANGE
from dse.papers.report import Picture, Row
from dse.papers.rows import Rows
from dse.papers.sources import table

PAPER = "megatron"
# the machine of the catalogue that ``dse.papers.megatron.fit`` writes, and the one of the data sheet
NAME, SHEET = "dgx-a100-measured", "dgx-a100-bf16"
ROWS = Rows(PAPER)
GIB = 2.0**30
# at most this error of a batch time and of their mean
WITHIN = 0.05
# the paper's vocabulary (Table 3), and the least one: its figure of memory is of layers alone
VOCABULARY, NO_VOCABULARY = 51200.0, 1.0
COLUMNS = {
    "hidden": "hidden",
    "heads": "heads",
    "layers": "layers",
    "sequence": "sequence",
    "tensor_parallel": "tensor_parallel",
    "pipeline_parallel": "pipeline_parallel",
    "pipeline_interleaving": "interleaving",
    "data_parallel": "data_parallel",
    "global_batch": "global_batch",
    "micro_batch": "micro_batch",
}
PARTS = ("compute", "recompute", "tensor", "pipeline", "bubble", "data", "optimiser")
# what is decided elsewhere: whether a plan fits is no question here
WAIVED = ("memory_capacity",)


def plan(line: Mapping[str, str]) -> dict[str, float | str]:
    """Return the inputs of a row of batch times."""
    found: dict[str, float | str] = {ours: float(line[theirs]) for theirs, ours in COLUMNS.items()}
    split = "on" if line["sequence_parallel"] == "yes" else "off"
    return found | {
        "recomputation": line["recompute"],
        "sequence_parallel": split,
        "vocabulary": VOCABULARY,
    }


def told(line: Mapping[str, str], link: float | None = None) -> Mapping[str, float]:
    """Return the metrics of a row of batch times; ``link``: time of a word within the node in place of the measured."""
    machine = NAME if link is None else {"base": NAME, "core_time_per_word": link}
    return metrics("transformer_training", machine, plan(line), *WAIVED)


def memory() -> Sequence[Row]:
    """The first stage's memory, by the closed forms."""
    plans = {line["model"]: plan(line) for line in table("megatron_times")}
    found = []
    for line in table("megatron_memory"):
        split = "on" if line["sequence_parallel"] == "yes" else "off"
        given = plans[line["model"]] | {"recomputation": line["recompute"], "sequence_parallel": split}
        at = metrics("transformer_training", NAME, given | {"vocabulary": NO_VOCABULARY}, *WAIVED)
        item = f"{line['model']}, {line['recompute']}"
        printed = line["activations_GiB_first_stage"]
        found.append(ROWS.printed("m_activations", item, printed, at["memory_activations"] / GIB, "GiB"))
        states = sum(at[f"memory_{part}"] for part in ("parameters", "gradients", "optimiser"))
        # one entry of vocabulary is left, h/t of 2.7e9 parameters
        found.append(
            ROWS.derived("m_states", item, float(line["parameters_GiB"]), states / GIB, "GiB", tolerance=1e-6)
        )
    return found


def times() -> Sequence[Row]:
    """Batch times, their mean error, and what selective recomputation saves."""
    lines = table("megatron_times")
    seconds = [float(line["seconds"]) for line in lines]
    ours = [told(line)["step_time"] for line in lines]
    off = [ours[i] / seconds[i] - 1.0 for i in range(len(lines))]
    found = []
    for line, measured, modelled, wrong in zip(lines, seconds, ours, off, strict=True):
        item = f"{line['model']}, {line['recompute']}"
        remark = f"{100 * wrong:+.1f} %"
        found.append(ROWS.derived("t_row", item, measured, modelled, "s", tolerance=WITHIN, remark=remark))
    mean = float(np.abs(off).mean())
    found.append(ROWS.holds("t_mean", "all rows", ours=mean <= WITHIN, remark=f"{100 * mean:.2f} %"))
    sheet = machines.get(SHEET).parameters["core_time_per_word"]
    other = [told(line, sheet)["step_time"] / s - 1.0 for line, s in zip(lines, seconds, strict=True)]
    mean = float(np.abs(other).mean())
    found.append(ROWS.holds("t_sheet", "all rows", ours=mean <= WITHIN, remark=f"{100 * mean:.2f} %"))
    for name in dict.fromkeys(line["model"] for line in lines):
        full, selective = (i for i, line in enumerate(lines) if line["model"] == name)
        theirs, saved = 1.0 - seconds[selective] / seconds[full], 1.0 - ours[selective] / ours[full]
        remark = f"{100 * theirs:.1f} % measured, {100 * saved:.1f} % modelled"
        found.append(ROWS.holds("t_saved", name, ours=abs(saved - theirs) <= WITHIN, remark=remark))
    return found


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw batch times in parts beside those measured."""
    figure, (axis,) = drawing.canvas(
        "Time of a batch, nothing fitted to it", "", "share of the measured time"
    )
    lines = table("megatron_times")
    place, below = np.arange(len(lines)), np.zeros(len(lines))
    found = [told(line) for line in lines]
    measured = np.array([float(line["seconds"]) for line in lines])
    colours = (BLUE, drawing.SKY, ORANGE, drawing.PURPLE, GREEN, drawing.RED, drawing.BLACK)
    for part, colour in zip(PARTS, colours, strict=True):
        height = np.array([at[f"step_{part}"] for at in found]) / measured
        axis.bar(place, height, 0.6, bottom=below, color=colour, label=part)
        below += height
    axis.axhline(1.0, color=drawing.BLACK, linestyle="--", label="measured")
    axis.set_xticks(place, [f"{line['model']}\n{line['recompute']}" for line in lines])
    axis.legend(fontsize=12, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = drawing.save(figure, folder / "batches.png")
    return (Picture(path, "Modelled times of a batch in parts, over the measured time."),)
