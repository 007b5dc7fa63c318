"""The timed loops do what they are said to do, and run about as fast as other loops that do it."""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.measuring.errors import MeasuringError
from dse.measuring.hardware import Cache, Hardware, look
from dse.measuring.loops import kernels, tasks
from dse.measuring.loops.repetition import Effort, repeat
from dse.measuring.runs import Run


@pytest.mark.parametrize("degree", [1, 4, 16, 64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_polynomial_is_that_of_horners_rule(degree: int, kind: Any):
    x = np.linspace(-0.9, 0.9, 2 * kernels.CACHED_ELEMENTS + 5, dtype=kind)
    y = np.empty_like(x)
    kernels.polynomial(degree)(x, y, 2)
    # x^(degree+1) + (x^(degree-1) + ... + 1)/2; what is rounded adds up to some ten units of the last place of 5
    expected = x.astype(float) ** (degree + 1) + 0.5 * sum(x.astype(float) ** i for i in range(degree))
    np.testing.assert_allclose(y, expected, rtol=0, atol=50 * np.finfo(kind).eps)


def test_streams_are_those_of_stream():
    a, b, c = (np.full(100, v) for v in (1.0, 2.0, 4.0))
    kernels.copy(a, b, c, 1)
    assert (c == 1).all()
    kernels.scale(a, b, c, 1)
    assert (b == 3).all()
    kernels.add(a, b, c, 1)
    assert (c == 4).all()
    kernels.triad(a, b, c, 1)
    assert (a == 15).all()


def test_a_chain_goes_through_every_line_once():
    following = np.zeros(8 * 1000, np.uint64)
    kernels.chain(following, 8, 1)
    seen, place = set(), 0
    for _ in range(1000):
        seen.add(place)
        place = int(following[place])
    assert place == 0
    assert seen == set(range(0, 8000, 8))
    # it starts one step after the first place
    assert kernels.chase(following, 999) == 0


def test_random_reads_go_everywhere_and_nowhere_else():
    size = 1 << 10
    x = np.zeros(size)
    for i in range(0, size, 37):
        x[i] = 1.0
    share = kernels.random_reads(x, 100_000, 1) / 100_000
    # 28 of 1024 places hold a one: the share of a random read, four standard errors wide
    assert share == pytest.approx(28 / 1024, abs=4 * (28 / 1024 / 100_000) ** 0.5)


TWICE = Effort(least=0.004, fewest=2, most=2, seconds=1.0, close=0.01, total=5.0)


def test_rates_are_those_of_independent_loops(small: Hardware):
    """Best rates by processor seconds, taken in turns: neighbours then slow both down, not one."""
    n, length = 300, (16 << 20) // 24
    a = np.random.default_rng(1).random((n, n))
    source, target = np.ones(length), np.ones(length)
    four_mb = Hardware("Four MB", 1, (Cache(1, 4 << 20, 1),), 1 << 30, 1 << 30)
    others: dict[str, tuple[float, Callable[[], object]]] = {
        "matmul": (2.0 * n**3, lambda: a @ a),
        # not a copy: that of the C library writes past the caches
        "scale": (16.0 * length, lambda: np.multiply(source, 3.0, out=target)),
    }
    measured, independent = defaultdict(float), defaultdict(float)
    with tasks.Team(small, 1) as team, tasks.Team(four_mb, 1) as large:
        every = [
            tasks.product(team, "double", n),
            tasks.polynomial(team, "double", 64, 16 << 10),
            tasks.stream(large, "scale", large.most),
        ]
        for _ in range(6):
            kept: list[Run] = []
            for task in every:
                repeat(task, TWICE, None, kept.append)
            for run in kept:
                amount = run.bytes if run.kernel == "scale" else run.flops
                rate = amount / (run.time * run.own)
                measured[run.kernel] = max(measured[run.kernel], rate)
            for name, (amount, do) in others.items():
                # what the loops before left in the caches is gone after the first time
                do()
                begun = time.process_time()
                for _ in range(8):
                    do()
                rate = 8 * amount / (time.process_time() - begun)
                independent[name] = max(independent[name], rate)
    # within a factor of two on a quiet machine
    assert 1 / 3 < measured["matmul"] / independent["matmul"] < 3
    # a compiler and a BLAS use the same units, one of them better
    assert 1 / 3 < measured["polynomial"] / independent["matmul"] < 3
    assert 1 / 3 < measured["scale"] / independent["scale"] < 3


def test_levels_are_told_by_size_and_threads():
    caches = Cache(1, 32 << 10, 1), Cache(2, 1 << 20, 1), Cache(3, 32 << 20, 4)
    found = Hardware("Four", 4, caches, 1 << 34, 1 << 34)
    at_one = {
        kib: found.level(kib << 10, 1) for kib in (8, 16, 24, 48, 512, 1024, 16 << 10, 32 << 10, 128 << 10)
    }
    expected = ["L1", "L1", "", "L2", "L2", "", "L3", "", "memory"]
    assert list(at_one.values()) == expected
    # four threads have four first caches, and one third
    assert found.level(64 << 10, 4) == "L1"
    assert found.level(16 << 20, 4) == "L3"
    assert found.level(128 << 20, 4) == "memory"
    # on eight dies with a third cache each, eight threads may share one of them or have all
    dies = Hardware(
        "Dies", 64, (Cache(1, 32 << 10, 1), Cache(2, 1 << 20, 1), Cache(3, 32 << 20, 8)), 1 << 38, 1 << 38
    )
    assert dies.level(14 << 20, 8) == "L3"
    assert dies.level(128 << 20, 8) == ""
    assert tasks.memory_size(dies, 8) == 1 << 30
    assert dies.level(1 << 30, 8) == "memory"
    for threads in (1, 3, 4):
        for quick in (True, False):
            sizes = tasks.sizes(found, threads, quick=quick)
            assert {found.level(s, threads) for s in sizes} >= {"L1", "L2", "L3", "memory"}
            assert sizes[-1] / threads == 2 ** round(np.log2(sizes[-1] / threads))


def test_this_machine_is_read_from_its_system_folders(tmp_path: Any):
    cpu = tmp_path / "sys/devices/system/cpu/cpu0/cache"
    for i, (level, kind, size, shared) in enumerate(
        [
            (1, "Data", "48K", "0,64"),
            (1, "Instruction", "32K", "0,64"),
            (2, "Unified", "2M", "0"),
            (3, "Unified", "36864K", "0-63"),
        ]
    ):
        folder = cpu / f"index{i}"
        folder.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
            (folder / name).write_text(f"{value}\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nmodel name : Some CPU @ 2 GHz\n")
    found = look(tmp_path / "sys", tmp_path / "proc")
    assert found.name == "Some CPU @ 2 GHz"
    assert found.caches == (Cache(1, 48 << 10, 2), Cache(2, 2 << 20, 1), Cache(3, 36 << 20, 64))
    assert look(tmp_path, tmp_path).guessed


def test_without_room_the_memory_is_not_measured():
    full = Hardware("Full", 1, (Cache(1, 1 << 20, 1),), 1 << 30, 1 << 20)
    with pytest.raises(MeasuringError, match=r"4 MiB are needed .* is 0 MiB: close other programs"):
        tasks.Team(full, 1)


def test_an_interrupt_leaves_no_thread_behind(small: Hardware):
    def interrupted(number: int) -> None:
        if number == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), tasks.Team(small, 2) as team:
        team.each(interrupted)
