"""Activation memory and batch times of the models of 22 and 175 billion parameters, beside ``transformer_training``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from dse import machines
from dse.papers import drawing
from dse.papers.asking import metrics
from dse.papers.comparer import Answers, Found
from dse.papers.report import Picture
from dse.papers.sources import premises, table
from dse.system.pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

PAPER = "megatron"
# the machine of the catalogue that ``dse.papers.megatron.fit`` writes, and the one of the data sheet
NAME, SHEET = "dgx-a100-measured", "dgx-a100-bf16"
# ``line``: a whole row of batch times
answers = Answers(PAPER, line=dict)
GIB = 2.0**30
VOCABULARY = premises(PAPER)["vocabulary"]
# the least one: the paper's figure of memory is of layers alone
NO_VOCABULARY = 1.0
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
# what is decided elsewhere: whether a plan fits is not a question here
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


@cache
def _stage(model: str, recompute: str, sequence_parallel: str) -> Mapping[str, float]:
    """Metrics of the first stage's memory, by the closed forms, with one entry of vocabulary left."""
    given = next(plan(line) for line in table("megatron/times") if line["model"] == model)
    split = "on" if sequence_parallel == "yes" else "off"
    given |= {"recomputation": recompute, "sequence_parallel": split, "vocabulary": NO_VOCABULARY}
    return metrics("transformer_training", NAME, given, *WAIVED)


@answers("m_activations")
def _activations(model: str, recompute: str, sequence_parallel: str) -> float:
    return _stage(model, recompute, sequence_parallel)["memory_activations"] / GIB


@answers("m_states")
def _states(model: str, recompute: str, sequence_parallel: str) -> float:
    # the entry of vocabulary is h/t of 2.7e9 parameters
    at = _stage(model, recompute, sequence_parallel)
    return sum(at[f"memory_{part}"] for part in ("parameters", "gradients", "optimiser")) / GIB


def _off(line: Mapping[str, str], link: float | None = None) -> float:
    return told(line, link)["step_time"] / float(line["seconds"]) - 1.0


@answers("t_row")
def _step_time_found(line: Mapping[str, str]) -> Found:
    return Found(told(line)["step_time"], told={"off": 100 * _off(line)})


def _mean_error_found(most: str, link: float | None = None) -> Found:
    mean = float(np.abs([_off(line, link) for line in table("megatron/times")]).mean())
    return Found(mean <= float(most), told={"off": 100 * mean})


answers("t_mean")(_mean_error_found)
answers("t_sheet")(lambda most: _mean_error_found(most, machines.get(SHEET).parameters["core_time_per_word"]))


@answers("t_saved")
def _saved(model: str, most: str) -> Found:
    """What selective recomputation saves."""
    full, selective = (line for line in table("megatron/times") if line["model"] == model)
    theirs = 1.0 - float(selective["seconds"]) / float(full["seconds"])
    saved = 1.0 - told(selective)["step_time"] / told(full)["step_time"]
    shown = {"measured": 100 * theirs, "modelled": 100 * saved}
    return Found(abs(saved - theirs) <= float(most), told=shown)


def draw(folder: Path) -> tuple[Picture, ...]:
    """Draw batch times in parts beside those measured."""
    figure, (axis,) = drawing.canvas(
        "Time of a batch, nothing fitted to it", "", "share of the measured time"
    )
    lines = table("megatron/times")
    place, below = np.arange(len(lines)), np.zeros(len(lines))
    found = [told(line) for line in lines]
    measured = np.array([float(line["seconds"]) for line in lines])
    colours = (BLUE, SKY, ORANGE, PURPLE, GREEN, VERMILLION, BLACK)
    for part, colour in zip(PARTS, colours, strict=True):
        height = np.array([at[f"step_{part}"] for at in found]) / measured
        axis.bar(place, height, 0.6, bottom=below, color=colour, label=part)
        below += height
    axis.axhline(1.0, color=BLACK, linestyle="--", label="measured")
    axis.set_xticks(place, [f"{line['model']}\n{line['recompute']}" for line in lines])
    axis.legend(fontsize=12, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = drawing.save(figure, folder / "batches.png")
    return (Picture(path, "Modelled times of a batch in parts, over the measured time."),)
