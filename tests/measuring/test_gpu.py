"""GPUs through CuPy and PyTorch, which stand-ins made of NumPy take the place of; no GPU is needed."""

import re
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dse.measuring.errors import MeasuringError
from dse.measuring.figures import PARAMETERS, find
from dse.measuring.loops import gpu
from dse.measuring.loops.gpu_libraries import library
from dse.measuring.loops.repetition import Effort
from dse.measuring.session import Measured, measure


def kernel(inputs: str, outputs: str, body: str, name: str) -> Any:
    """What CuPy's ElementwiseKernel would do with the two bodies there are."""
    if name == "triad":
        assert body == "a = b + 3 * c"
        return lambda b, c, a: np.add(b, 3 * c, out=a)
    steps = re.search(r"step < (\d+); ", body)
    assert steps is not None

    def polynomial(x: Any, y: Any) -> None:
        y[:] = x
        for _ in range(int(steps[1])):
            y *= x
            y += 0.5

    return polynomial


def fake_cupy() -> ModuleType:
    found = ModuleType("cupy")
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda index: {"name": b"Fake GPU"},
        memGetInfo=lambda: (1 << 30, 1 << 31),
    )

    class Device(nullcontext[None]):
        def synchronize(self) -> None:
            waited.append(True)

    waited: list[bool] = []
    found.__dict__.update(
        __version__="1",
        cuda=SimpleNamespace(runtime=runtime, Device=Device),
        ElementwiseKernel=kernel,
        full=np.full,
        matmul=np.matmul,
        waited=waited,
    )
    return found


def fake_torch() -> ModuleType:
    found = ModuleType("torch")
    found.__dict__.update(
        __version__="2",
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True))),
        cuda=SimpleNamespace(
            device_count=lambda: 1,
            get_device_name=lambda index: "Fake GPU",
            device=lambda index: nullcontext(),
            mem_get_info=lambda index: (1 << 30, 1 << 31),
            synchronize=lambda index: None,
        ),
        float32=np.float32,
        float64=np.float64,
        full=lambda shape, value, dtype, device: np.full(shape, value, dtype),
        add=lambda b, c, alpha, out: np.add(b, alpha * c, out=out),
        matmul=np.matmul,
    )
    return found


def measured(quick: bool = True) -> Measured:
    found = library(0)
    place = gpu.place(found, quick=quick, most=3 << 20)
    effort = Effort(least=0.0005, fewest=2, most=2, seconds=0.05, close=0.01, total=5.0)
    return measure(found.name, {"libraries": found.version}, [place], None, effort, lambda done, total: None)


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_a_gpu_is_measured_by_either_library(name: str, monkeypatch: pytest.MonkeyPatch):
    fake = fake_cupy() if name == "cupy" else fake_torch()
    for module in ("cupy", "torch"):
        monkeypatch.setitem(sys.modules, module, fake if module == name else None)
    found = measured()
    assert found.name == "Fake GPU"
    assert {f.name for f in find(found.runs, PARAMETERS, 1)} == {
        "time_per_flop",
        "time_per_flop_double",
        "time_per_byte",
    }
    intensities = {r.flops / r.bytes for r in found.runs if r.precision == "single"}
    assert len(intensities) >= 4
    assert found.misses[2] >= 8
    if name == "cupy":
        assert fake.waited, "nobody waited for the GPU"
    else:
        assert fake.backends.cuda.matmul.allow_tf32 is False


def test_arrays_hold_what_the_loops_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    found = library(0)
    a, b, c = (found.full((8,), "float64") for _ in range(3))
    found.triad(a, b, c)
    assert (a == 2.0).all()
    assert found.polynomial is not None
    found.polynomial(2, "float64")(b, a)
    assert (a == (0.25 + 0.5) * 0.5 + 0.5).all()


def test_why_no_gpu_can_be_reached_is_told(monkeypatch: pytest.MonkeyPatch):
    broken = fake_torch()
    broken.cuda.device_count = lambda: 1 / 0
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setitem(sys.modules, "torch", broken)
    with pytest.raises(MeasuringError, match=r"cupy sees no GPU 1; torch: division by zero"):
        library(1)
