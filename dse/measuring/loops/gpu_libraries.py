"""The libraries that reach a GPU, CuPy and PyTorch, as one set of functions each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dse.measuring.errors import MeasuringError
from dse.system.records import dataclass

Loop = Callable[[Any, Any], object]


@dataclass(frozen=True, slots=True)
class Library:
    """What is used of a library on one GPU.

    ``name``: of the GPU; ``version``: of the library; ``device()``: a context in which arrays are made there;
    ``free()``: bytes that are free; ``full(shape, kind)``: an array of 0.5; ``triad(a, b, c)``: a = b + 3 c in
    one pass; ``product(a, b, c)``: c = a b; ``wait()``: until all is done; ``polynomial(degree, kind)``: a loop
    (x, y) that reads x and writes y once and does ``degree`` steps of 2 flops between, None where the
    library has no such loops.
    """

    name: str
    version: str
    device: Callable[[], Any]
    free: Callable[[], int]
    full: Callable[[tuple[int, ...], str], Any]
    triad: Callable[[Any, Any, Any], object]
    product: Callable[[Any, Any, Any], object]
    wait: Callable[[], object]
    polynomial: Callable[[int, str], Loop] | None


def library(index: int) -> Library:
    """Return CuPy's or PyTorch's functions for a GPU; raises MeasuringError where neither sees it, and why."""
    reasons = []
    for name, make in (("cupy", _cupy), ("torch", _torch)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            reasons.append(f"{name} is not installed")
            continue
        try:
            return make(module, index)
        except MeasuringError as problem:
            reasons.append(str(problem))
        # a library without a driver raises errors of its own
        except Exception as problem:
            reasons.append(f"{name}: {problem}")
    told = "; ".join(reasons)
    raise MeasuringError(f"GPU {index} cannot be reached: {told} (pip install cupy-cuda12x, or torch)")


def _cupy(cupy: Any, index: int) -> Library:
    if index >= cupy.cuda.runtime.getDeviceCount():
        raise MeasuringError(f"cupy sees no GPU {index}")
    name = cupy.cuda.runtime.getDeviceProperties(index)["name"]

    def triad(a: Any, b: Any, c: Any) -> None:
        fused(b, c, a)

    def polynomial(degree: int, kind: str) -> Loop:
        half = {"float32": "0.5f", "float64": "0.5"}[kind]
        body = f"y = x; for (int step = 0; step < {degree}; ++step) y = y * x + {half};"
        loop: Loop = cupy.ElementwiseKernel(f"{kind} x", f"{kind} y", body, f"polynomial_{degree}")
        return loop

    fused = cupy.ElementwiseKernel("float64 b, float64 c", "float64 a", "a = b + 3 * c", "triad")
    return Library(
        name=name.decode() if isinstance(name, bytes) else str(name),
        version=f"cupy {cupy.__version__}",
        device=lambda: cupy.cuda.Device(index),
        free=lambda: int(cupy.cuda.runtime.memGetInfo()[0]),
        full=lambda shape, kind: cupy.full(shape, 0.5, dtype=kind),
        triad=triad,
        product=lambda a, b, c: cupy.matmul(a, b, out=c),
        wait=lambda: cupy.cuda.Device(index).synchronize(),
        polynomial=polynomial,
    )


def _torch(torch: Any, index: int) -> Library:
    if index >= torch.cuda.device_count():
        raise MeasuringError(f"torch sees no GPU {index}")
    # TF32 would be called single precision, and is none
    torch.backends.cuda.matmul.allow_tf32 = False
    where = f"cuda:{index}"
    return Library(
        name=str(torch.cuda.get_device_name(index)),
        version=f"torch {torch.__version__}",
        device=lambda: torch.cuda.device(index),
        free=lambda: int(torch.cuda.mem_get_info(index)[0]),
        full=lambda shape, kind: torch.full(shape, 0.5, dtype=getattr(torch, kind), device=where),
        triad=lambda a, b, c: torch.add(b, c, alpha=3, out=a),
        product=lambda a, b, c: torch.matmul(a, b, out=c),
        wait=lambda: torch.cuda.synchronize(index),
        polynomial=None,
    )
