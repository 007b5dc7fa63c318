"""The energy of an NVIDIA GPU by NVML (package nvidia-ml-py, module pynvml)."""

from __future__ import annotations

import threading
import time
from typing import Any

from dse.measuring.energy.meters import Log, Unavailable, refuse_still

_EVERY = 0.02


class Nvml:
    """A GPU's own counter of energy; where it has none (before Volta), its power read every 20 ms."""

    # counter and power move every 20 to 100 ms
    least = 1.0

    def __init__(self, index: int = 0) -> None:
        try:
            import pynvml
        except ImportError:
            raise Unavailable("NVML is read by the package nvidia-ml-py: pip install nvidia-ml-py") from None
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            self._gpu = pynvml.nvmlDeviceGetHandleByIndex(index)
            told = pynvml.nvmlDeviceGetName(self._gpu)
        except pynvml.NVMLError as problem:
            raise Unavailable(f"NVML shows no GPU {index}: {problem}") from None
        called = told.decode() if isinstance(told, bytes) else told
        self._log: Log | None = None
        self._over = threading.Event()
        try:
            pynvml.nvmlDeviceGetTotalEnergyConsumption(self._gpu)
            self.name = f"NVML energy counter of {called}"
        except pynvml.NVMLError:
            self.name = f"NVML power of {called}, every {1000 * _EVERY:g} ms"
            self._log = self._polled()
        refuse_still(self)

    def mark(self) -> float:
        """Read the counter in J, or note the time."""
        if self._log is None:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._gpu)) * 1e-3
        return time.monotonic()

    def between(self, first: float, last: float) -> float:
        """Return joules."""
        if self._log is None:
            return last - first
        while not self._over.is_set() and self._log.times[-1] < last:
            time.sleep(_EVERY / 4)
        if not self._log.covers(first, last):
            raise Unavailable(f"{self.name} was not read all the time")
        return self._log.between(first, last)

    def close(self) -> None:
        """Stop reading."""
        self._over.set()
        self._nvml.nvmlShutdown()

    def _polled(self) -> Log:
        try:
            watts = self._watts()
        except self._nvml.NVMLError as problem:
            raise Unavailable(f"NVML reports neither energy nor power of this GPU: {problem}") from None
        log = Log()
        log.add(time.monotonic(), 0.0)
        threading.Thread(target=self._poll, args=(log, watts), daemon=True).start()
        return log

    def _poll(self, log: Log, before: float) -> None:
        while not self._over.wait(_EVERY):
            try:
                watts = self._watts()
            except self._nvml.NVMLError:
                self._over.set()
                return
            now = time.monotonic()
            log.add(now, 0.5 * (before + watts) * (now - log.times[-1]))
            before = watts

    def _watts(self) -> Any:
        return self._nvml.nvmlDeviceGetPowerUsage(self._gpu) * 1e-3
