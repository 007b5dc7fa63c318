"""Meters against counters that behave like real ones: they wrap, stand still, are forbidden, or stop."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.measuring.energy import meters
from dse.measuring.energy.meters import Log, Unavailable, first_of
from dse.measuring.energy.nvml import Nvml
from dse.measuring.energy.perf import Perf
from dse.measuring.energy.power import logged, stated, with_energy
from dse.measuring.energy.rapl import Rapl, Zone
from dse.measuring.errors import MeasuringError
from dse.measuring.runs import Run

SPAN = 2_000_001


def test_rapl_adds_packages_and_memory_and_nothing_twice(
    tmp_path: Path, zone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    # watts of two packages and a memory, and of zones that are parts or repetitions of them
    watts = {
        zone(tmp_path / "intel-rapl:0", "package-0", SPAN - 1): 30,
        zone(tmp_path / "intel-rapl:0:1", "dram", SPAN - 1): 5,
        zone(tmp_path / "intel-rapl:1", "package-1", SPAN - 1): 30,
        zone(tmp_path / "intel-rapl:0:0", "core", SPAN - 1): 20,
        zone(tmp_path / "intel-rapl:2", "psys", SPAN - 1): 100,
        zone(tmp_path / "intel-rapl-mmio:0", "package-0", SPAN - 1): 30,
    }
    (tmp_path / "intel-rapl").mkdir()
    passed = 0.0

    def sleep(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        for file, power in watts.items():
            file.write_text(f"{int(power * passed * 1e6) % SPAN}\n")

    monkeypatch.setattr(meters.time, "sleep", sleep)
    meter = Rapl(tmp_path)
    assert meter.name == "RAPL (package-0, memory of package-0, package-1)"
    used = 0.0
    for _ in range(20):
        # 30 W use up the span of 2 J in 67 ms: every counter of a package starts again ten times
        first = meter.mark()
        sleep(0.035)
        used += meter.between(first, meter.mark())
    assert used == pytest.approx(65 * 0.7, rel=1e-5)


@given(st.integers(0, SPAN - 1), st.integers(0, SPAN - 1))
def test_a_counter_that_has_started_again_is_unwound(before: int, used: int):
    meter = object.__new__(Rapl)
    meter.zones = [Zone(Path("energy_uj"), "package-0", SPAN)]
    assert meter.between((before,), ((before + used) % SPAN,)) == pytest.approx(used * 1e-6)


def test_where_there_is_no_rapl_the_user_is_told_what_to_do(
    tmp_path: Path, zone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(meters.time, "sleep", lambda seconds: None)
    with pytest.raises(Unavailable, match="no powercap, as usual in virtual machines"):
        Rapl(tmp_path / "nowhere")
    with pytest.raises(Unavailable, match="modprobe intel_rapl_msr"):
        Rapl(tmp_path)
    counter = zone(tmp_path / "intel-rapl:0", "package-0", value=7)
    with pytest.raises(Unavailable, match="stands still"):
        Rapl(tmp_path)
    counter.write_text("many")
    with pytest.raises(Unavailable, match="cannot be read"):
        Rapl(tmp_path)


def test_a_forbidden_counter_is_named_with_the_way_to_read_it(
    tmp_path: Path, zone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    zone(tmp_path / "intel-rapl:0", "package-0")
    read = Path.read_text

    def forbidden(path: Path, *arguments: Any, **options: Any) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", forbidden)
    with pytest.raises(Unavailable, match=r"root only .*sudo chgrp .* && sudo chmod g\+r"):
        Rapl(tmp_path)


class FakeNvml(ModuleType):
    """A GPU of 200 W; ``counts``: whether it has a counter of energy."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, counts: bool, gpus: int = 1) -> None:
        super().__init__("pynvml")
        self.counts, self.gpus, self.begun, self.ended = counts, gpus, time.monotonic(), False

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        self.ended = True

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index >= self.gpus:
            raise self.NVMLError("Invalid Argument")
        return index

    def nvmlDeviceGetName(self, gpu: int) -> bytes:
        return b"Fake GPU"

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: int) -> int:
        if not self.counts:
            raise self.NVMLError("Not Supported")
        return int(200e3 * (time.monotonic() - self.begun))

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> int:
        return 200_000


@pytest.mark.parametrize("counts", [True, False])
def test_nvml_reads_energy_or_adds_up_power(counts: bool, monkeypatch: pytest.MonkeyPatch):
    fake = FakeNvml(counts=counts)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    meter = Nvml()
    assert ("energy counter of Fake GPU" if counts else "power of Fake GPU") in meter.name
    first, begun = meter.mark(), time.monotonic()
    # long enough that what a busy machine adds is a small part
    time.sleep(0.4)
    last, spent = meter.mark(), time.monotonic() - begun
    # the power is constant: what differs is the time between two clocks, which a busy machine draws out
    assert meter.between(first, last) == pytest.approx(200 * spent, rel=0.5)
    meter.close()
    assert fake.ended


def test_nvml_says_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(Unavailable, match="pip install nvidia-ml-py"):
        Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(counts=True))
    with pytest.raises(Unavailable, match="NVML shows no GPU 3: Invalid Argument"):
        Nvml(3)


@pytest.fixture
def perf(tmp_path: Path) -> Callable[[str], tuple[str, Path]]:
    """A program that stands in for perf, and the folder in which the kernel lists its events."""

    def make(body: str) -> tuple[str, Path]:
        program, device = tmp_path / "perf", tmp_path / "power"
        program.write_text(f"#!{sys.executable}\nimport sys, time\n{body}")
        program.chmod(0o755)
        (device / "events").mkdir(parents=True)
        for event in ("energy-pkg", "energy-ram"):
            (device / "events" / event).write_text("event=0x02\n")
        return str(program), device

    return make


TOLD = """
assert sys.argv[1:] == "stat -a -x ; -I 20 -e power/energy-pkg/ -e power/energy-ram/".split()
begun, before = time.monotonic(), 0.0
while True:
    time.sleep(0.02)
    now = time.monotonic() - begun
    for name, watts in (("pkg", 40), ("ram", 10)):
        print(f"     {now:.9f};{watts * (now - before):.4f};Joules;power/energy-{name}/;1;100.00;;",
              file=sys.stderr, flush=True)
    before = now
"""


def test_perf_tells_joules_between_two_moments(perf: Callable[[str], tuple[str, Path]]):
    meter = Perf(*perf(TOLD))
    first = meter.mark()
    # long enough that what a busy machine adds is a small part
    time.sleep(0.4)
    last = meter.mark()
    # constant power; what is told comes late on a busy machine
    assert meter.between(first, last) == pytest.approx(50 * (last - first), rel=0.3)
    meter.close()


def test_perf_is_quoted_where_it_is_not_allowed(perf: Callable[[str], tuple[str, Path]], tmp_path: Path):
    body = "sys.exit('Access to performance monitoring is limited (perf_event_paranoid is 4)')"
    with pytest.raises(Unavailable, match=r"is limited .*perf_event_paranoid=0"):
        Perf(*perf(body))
    with pytest.raises(Unavailable, match="no energy counters"):
        Perf(device=tmp_path / "none")
    with pytest.raises(Unavailable, match="install it"):
        Perf("no-such-program-as-this", tmp_path / "power")


def test_all_reasons_are_told_where_no_meter_can_be_read(tmp_path: Path):
    found, reasons = first_of([lambda: Rapl(tmp_path / "a"), lambda: Perf(device=tmp_path / "b")])
    assert found is None
    assert [str(tmp_path / "a") in reasons[0], str(tmp_path / "b") in reasons[1]] == [True, True]


@given(st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 500)), min_size=1, max_size=30), st.data())
def test_a_log_gives_the_energy_of_its_parts(steps: list[tuple[float, float]], data: st.DataObject):
    log = Log()
    log.add(100.0, 0.0)
    for length, joules in steps:
        log.add(log.times[-1] + length, joules)
    a, b, c = sorted(data.draw(st.floats(100.0, log.times[-1])) for _ in range(3))
    assert log.covers(a, c)
    assert log.between(a, b) + log.between(b, c) == pytest.approx(log.between(a, c), abs=1e-6)
    assert log.between(100.0, log.times[-1]) == pytest.approx(sum(j for _, j in steps), abs=1e-6)
    assert not log.covers(99.0, c)


def run(start: float, seconds: float) -> Run:
    return Run("triad", "double", "memory", 1, 1e6, 0, 1e6, 1e7, 0.0, start, seconds, None, 1.0, 0.0)


@pytest.mark.parametrize("written", ["1000,1010", "1970-01-01T00:16:40+00:00,1970-01-01T00:16:50Z"])
def test_a_meters_record_gives_each_run_its_energy(written: str, tmp_path: Path):
    first, last = written.split(",")
    (tmp_path / "meter.csv").write_text(f"time,power [kW]\n{first},0.1\n{last},0.2\n")
    path = str(tmp_path / "meter.csv")
    # 100 W at first, 200 W ten seconds later: between two records the mean, 150 W
    (found,) = with_energy([run(1002.0, 4.0)], logged(path), path)
    assert found.energy == pytest.approx(600.0)
    with pytest.raises(MeasuringError, match="1 of 2 runs lie outside: record all the time"):
        with_energy([run(1002.0, 4.0), run(1008.0, 4.0)], logged(path), path)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("time,power\nnoon,5\n", "neither seconds since 1970"),
        ("time,power\n5,5\n4,5\n", "do not rise"),
        ("moment,power\n5,5\n", "column time .*is missing"),
        ("time,power [J]\n5,5\n", "power"),
        ("time,power\n5,-5\n", "not a number, 0 or more"),
    ],
)
def test_a_wrong_record_is_refused(text: str, wrong: str, tmp_path: Path):
    (tmp_path / "meter.csv").write_text(text)
    with pytest.raises(MeasuringError, match=wrong):
        logged(str(tmp_path / "meter.csv"))


def test_a_power_is_a_quantity_or_a_file(tmp_path: Path):
    assert stated("0.065 kW") == 65.0
    (tmp_path / "65").write_text("")
    assert stated(str(tmp_path / "65")) == str(tmp_path / "65")
    for wrong in ("65 J", "much", "0 W", "-5 W", "inf W"):
        with pytest.raises(MeasuringError, match="--power"):
            stated(wrong)
