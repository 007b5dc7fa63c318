"""What can be asked of ``dse measure``: to measure, to use earlier runs, and to write what was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dse.measuring import writing
from dse.measuring.conditions import Conditions
from dse.measuring.costs import left_out
from dse.measuring.energy.meters import Meter, first_of
from dse.measuring.energy.nvml import Nvml
from dse.measuring.energy.perf import Perf
from dse.measuring.energy.power import logged, stated, with_energy
from dse.measuring.energy.rapl import POWERCAP, Rapl
from dse.measuring.errors import MeasuringError
from dse.measuring.hardware import Hardware, look, processors
from dse.measuring.loops import cpu, gpu
from dse.measuring.loops.gpu_libraries import library
from dse.measuring.loops.repetition import FULL, QUICK, Effort
from dse.measuring.runs import read_runs
from dse.measuring.session import Measured, Place, measure
from dse.system import files
from dse.system.progress import Report, announce, reporting
from dse.system.records import dataclass
from dse.system.streams import ended_as_by_ctrl_c
from results.stores.files.storage import write_text

RUNS = "runs.csv"
Ways = list[Callable[[], Meter]]
_DEVICE = re.compile(r"gpu(?::(\d{1,3}))?")
_FEWEST = ("time_per_flop", "time_per_byte")


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure.

    ``threads``: numbers of threads, none for the usual ones; ``device``: "cpu", "gpu" or "gpu:1"; ``power``: a
    power such as "65 W" or a meter's file; ``name``: of the machine; ``powercap``: folder of RAPL's counters;
    ``hardware``, ``effort``: in place of this machine's and the usual.
    """

    quick: bool = False
    threads: tuple[int, ...] = ()
    device: str = "cpu"
    power: str | None = None
    name: str | None = None
    powercap: Path = POWERCAP
    hardware: Hardware | None = None
    effort: Effort | None = None


def numbers(text: str | None) -> tuple[int, ...]:
    """Read numbers of threads such as "1,2,8"; raises MeasuringError."""
    if text is None:
        return ()
    if not re.fullmatch(r"\s*[1-9]\d{0,5}(\s*,\s*[1-9]\d{0,5})*\s*", text):
        raise MeasuringError(f"--threads {text}: numbers of threads are written such as 1,2,8")
    return tuple(sorted({int(n) for n in text.split(",")}))


def take(asked: Asked, progress: bool | Report | None = None) -> Measured:
    """Measure; ``progress`` as of ``dse.system.progress.reporting``.

    Raises MeasuringError for a device, a number of threads or a power that cannot be. Ctrl-C or SIGTERM ends it
    with what there is by then.
    """
    power = None if asked.power is None else stated(asked.power)
    name, facts, places, meters = _on_gpu(asked) if asked.device != "cpu" else _on_cpu(asked)
    meter, unread = (None, ()) if power is not None else first_of(meters)
    effort = asked.effort or (QUICK if asked.quick else FULL)
    announce(progress, f"Measuring {name}: leave the machine alone until this ends")
    try:
        with reporting(progress, "measurement") as report, ended_as_by_ctrl_c():
            found = measure(asked.name or name, facts, places, meter, effort, report)
    finally:
        if meter:
            meter.close()
    return _powered(replace(found, unread=unread), power)


def _on_cpu(asked: Asked) -> tuple[str, dict[str, str], list[Place], Ways]:
    hardware = asked.hardware or look()
    threads = asked.threads or cpu.counts(hardware.processors, quick=asked.quick)
    places = cpu.places(hardware, threads, quick=asked.quick)
    return hardware.name, cpu.facts(hardware), places, [lambda: Rapl(asked.powercap), Perf]


def _on_gpu(asked: Asked) -> tuple[str, dict[str, str], list[Place], Ways]:
    match = _DEVICE.fullmatch(asked.device)
    if match is None:
        raise MeasuringError(f"--device {asked.device}: there are cpu, gpu, and gpu:1 and so on")
    if asked.threads:
        raise MeasuringError("--threads are those of the processors: leave them out for a GPU")
    index = int(match[1] or 0)
    found = library(index)
    facts = {"gpu": found.name, "libraries": found.version, "host processors": str(processors())}
    return found.name, facts, [gpu.place(found, quick=asked.quick)], [lambda: Nvml(index)]


def _powered(found: Measured, power: float | str | None) -> Measured:
    if isinstance(power, str):
        runs = with_energy(found.runs, logged(power), power)
        return replace(found, runs=runs, meter=f"a meter's record, {Path(power).name}")
    if power is None:
        return found
    if found.meter:
        return replace(found, notes=[*found.notes, "the stated power is not used: the runs have energies"])
    return replace(found, stated=power)


def again(path: str, asked: Asked) -> Measured:
    """Return what earlier runs say, with another power or name; raises MeasuringError where they cannot be used."""
    power = None if asked.power is None else stated(asked.power)
    runs = read_runs(path)
    told = writing.header(files.text(path, files.MOST_NUMBERS))
    facts, conditions = (
        {k.removeprefix(f"{what} "): v for k, v in told.items() if k.startswith(f"{what} ")}
        for what in ("fact", "condition")
    )
    neighbours = conditions.pop("neighbours", "")
    others = _busy_share_of_others(conditions.pop("others", ""), [r.others for r in runs])
    metered = all(r.energy is not None for r in runs)
    found = Measured(
        asked.name or told.get("name", Path(path).stem),
        facts,
        runs,
        Conditions(conditions, others, tuple(filter(None, neighbours.split(", ")))),
        told.get("date", "an earlier day"),
        told.get("meter", "a meter not named") if metered else "",
        whole=told.get("whole", "yes") == "yes",
        notes=list(left_out(runs)),
    )
    return _powered(found, power)


def _busy_share_of_others(told: str, of_runs: Sequence[float]) -> float:
    """Return what others took: as the file says, else the greatest of its runs."""
    try:
        return min(1.0, max(0.0, float(told)))
    except ValueError:
        return max(of_runs)


def save(found: Measured, output: str, *, force: bool, earlier: str | None = None) -> list[Path]:
    """Write runs, machine and question beside each other; return what was written.

    Of a machine that was noisy, or interrupted, only the runs, without ``force``. ``earlier``: the file
    of runs where there is one. Raises MeasuringError where the runs are too few for a machine.
    """
    machine = Path(output)
    written: list[Path] = []
    text = files.text(earlier, files.MOST_NUMBERS) if earlier else writing.runs_file(found)
    runs = Path(earlier) if earlier else _free(machine.with_name(RUNS))
    if not earlier and found.runs:
        write_text(runs, text)
        written.append(runs)
    if found.against and not force:
        return written
    if told := no_machine(found):
        raise MeasuringError(f"{runs}: {told}")
    question = machine.with_name(f"{machine.stem}-question.toml")
    write_text(machine, writing.machine_file(found, runs.name, text))
    written.append(machine)
    if not question.exists() or force:
        write_text(question, writing.question(found, f"./{machine.name}"))
        written.append(question)
    return written


def no_machine(found: Measured) -> str:
    """Say why runs make no machine file, noisy or not; "" where they have the times that any needs."""
    absent = [n for n in _FEWEST if n not in {f.name for f in found.times}]
    return f"there is no machine without {' and '.join(absent)}: measure it whole" if absent else ""


def _free(path: Path) -> Path:
    """Return the path, with a number where it is taken: runs are never written over."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found
