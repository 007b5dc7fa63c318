"""Our side: the partition model on the catalogue's machines, for the partitions of the case studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dse import machines, models
from dse.models.model import Model
from dse.models.shared.structure import Parts, Row
from dse.papers.comparer import Answers
from dse.papers.sources import table
from dse.papers.tang2017.formulas import PLATFORMS

PAPER = "tang2017"
answers = Answers(PAPER)
CASES = ("SA", "LA", "DA")
PARTITIONS = ("CO", "GO", "DP", "CP")
PAIR = ("cpu", "gpu")
# which numbers: A, Table IV and printed intensities; B, Table IV and counts; C, (6) and printed intensities
SETS = ("A", "B", "C")
# issue widths with which (6) gives Table IV
WIDTHS = {"CPU": 8.0, "GPU": 1.0}


@cache
def processors() -> dict[str, dict[str, str]]:
    """Return the rows of Tables III and IV by processor."""
    return {row["processor_id"]: row for row in table("tang2017/processors")}


@cache
def cases() -> dict[tuple[str, str], dict[str, str]]:
    """Return the case studies' partitions, by case and partition."""
    return {(row["case"], row["wp"]): row for row in table("tang2017/cases")}


def catalogue(processor: str) -> dict[str, float]:
    """Return the machine of the catalogue that is one of the paper's processors."""
    return dict(machines.get(f"{processor.replace('_', '-')}-tang2017").parameters)


def by_equation_6(processor: str, width: float | None = None) -> float:
    """Return the time per flop by (6), with the width that gives Table IV unless another is asked for."""
    row = processors()[processor]
    width = WIDTHS[row["type"]] if width is None else width
    return 1.0 / (float(row["n_cores"]) * float(row["base_clock_MHz"]) * 1e6 * width)


@cache
def model(count: int, names: tuple[str, ...] = PAIR, *, independent: bool = False) -> Model:
    """Return the plain model of that many regions ("r0", ...) on these processors."""
    expand = models.get("partition").expand
    if expand is None:
        raise TypeError("the partition model takes lists")
    rows = tuple(Row(f"r{k}", {"independent": independent}) for k in range(count))
    return expand(Parts({"regions": rows}, names))


def metrics(
    machine: Mapping[str, Mapping[str, float]],
    regions: Sequence[tuple[Any, Any]],
    execution: str = "CP",
    **shares: Any,
) -> Mapping[str, Any]:
    """Every metric of regions (flops, bytes) on processors by name.

    ``shares``: "r0" is the first region's share of both on the CPU; "flops", "bytes" those of one region whose
    flops and bytes are placed apart. Shares, flops and bytes may be arrays.
    """
    values: dict[str, Any] = {"execution": execution, "link_overlap": "overlapped"}
    values |= {"link_latency": 0.0, "link_energy_per_byte": 0.0}
    for p, parameters in machine.items():
        values |= {f"machine.{p}.{k}": v for k, v in parameters.items()}
    for k, (flops, data) in enumerate(regions):
        values |= {f"regions.r{k}.flops": flops, f"regions.r{k}.bytes": data}
    for name, share in shares.items():
        values[f"share.{name}.cpu" if name.startswith("r") else f"{name}_share.r0.cpu"] = share
    return models.evaluate(model(len(regions), tuple(machine), independent="flops" in shares), values)


def pair(platform: str, *, computed: bool = False) -> dict[str, dict[str, float]]:
    """Return the two machines of a platform; ``computed``: with the time per flop of (6)."""
    found = {entry: catalogue(p) for entry, p in zip(PAIR, PLATFORMS[platform], strict=True)}
    if computed:
        for entry, p in zip(PAIR, PLATFORMS[platform], strict=True):
            found[entry]["time_per_flop"] = by_equation_6(p)
    return found


def intensities(case: str, partition: str = "CP") -> tuple[float, float, float]:
    """Return {I, I_C, I_G} as printed."""
    row = cases()[case, partition]
    I, I_C, I_G = (float(row[f"{name}_flop_per_B"]) for name in ("I", "I_C", "I_G"))
    return I, I_C, I_G


def counted(case: str) -> bool:
    """Whether the text tells flops and bytes of a case study from which its intensities follow."""
    return bool(cases()[case, "CP"]["NfC_flop_exact"])


def counts(case: str) -> list[tuple[float, float]]:
    """Return exact flops and bytes of CP's two sides; ValueError where the text has none."""
    row = cases()[case, "CP"]
    if not counted(case):
        msg = f"{case} has no counts"
        raise ValueError(msg)
    numbers = [float(row[n]) for n in ("NfC_flop_exact", "NbC_B_exact", "NfG_flop_exact", "NbG_B_exact")]
    return [(numbers[0], numbers[1]), (numbers[2], numbers[3])]


def parted(I: Any, I_C: Any, I_G: Any) -> list[tuple[Any, Any]]:
    """Return (flops, bytes) of the CPU's and the GPU's side for one byte in all: (7) and (1) solved."""
    on_cpu = (I - I_G) / (I_C - I_G)
    return [(I_C * on_cpu, on_cpu), (I - I_C * on_cpu, 1.0 - on_cpu)]


@cache
def estimate(case: str, platform: str, partition: str, numbers: str = "A") -> Mapping[str, Any]:
    """Return every metric of one of the four partitions of a case study on a platform."""
    two = counts(case) if numbers == "B" else parted(*intensities(case))
    machine = pair(platform, computed=numbers == "C")
    if partition == "CP":
        return metrics(machine, two, "CP", r0=1.0, r1=0.0)
    total = (two[0][0] + two[1][0], two[0][1] + two[1][1])
    return metrics(machine, [total], "p-DP" if partition == "DP" else partition)


def flag(platform: str, name: str) -> str:
    """Return which case one of the categories or guidelines is, in words."""
    number = int(estimate("SA", platform, "CO")[name])
    return model(1).metric(name).flags[number]
