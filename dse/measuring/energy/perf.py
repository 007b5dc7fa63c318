"""The same counters by way of `perf stat`, which may be allowed where powercap is not."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from pathlib import Path

from dse.measuring.energy.meters import Log, Unavailable

DEVICE = Path("/sys/bus/event_source/devices/power")
_EVENTS = ("energy-pkg", "energy-ram")
_EVERY, _PATIENCE = 0.02, 3.0


class Perf:
    """`perf stat` runs beside what is measured and tells the joules of every 20 ms."""

    least = 10 * _EVERY

    def __init__(self, command: str = "perf", device: Path = DEVICE) -> None:
        self._events = [f"power/{e}/" for e in _EVENTS if (device / "events" / e).exists()]
        if not self._events:
            raise Unavailable(f"{device} has no energy-pkg: the kernel shows no energy counters to perf")
        program = shutil.which(command)
        if program is None:
            raise Unavailable("there is no program perf: install it (linux-tools, perf)")
        words = [program, "stat", "-a", "-x", ";", "-I", str(round(1000 * _EVERY))]
        for event in self._events:
            words += ["-e", event]
        self.name = f"perf ({', '.join(self._events)})"
        self._log, self._news, self._words = Log(), threading.Condition(), ""
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._wait(0.0)
        except Unavailable:
            self.close()
            raise

    def mark(self) -> float:
        """Return the time."""
        return time.monotonic()

    def between(self, first: float, last: float) -> float:
        """Return joules, in proportion within the intervals that perf tells."""
        self._wait(last)
        with self._news:
            if not self._log.covers(first, last):
                raise Unavailable(f"{self.name} was not running all the time")
            return self._log.between(first, last)

    def close(self) -> None:
        """End perf."""
        self._process.terminate()
        self._process.wait()

    def _wait(self, moment: float) -> None:
        """Wait until perf has told of a moment; raises Unavailable with its own words where it has ended."""
        with self._news:
            told = self._news.wait_for(
                lambda: (
                    self._process.poll() is not None
                    or (len(self._log.times) > 1 and self._log.times[-1] >= moment)
                ),
                _PATIENCE,
            )
            if told and self._log.times and self._log.times[-1] >= moment:
                return
            why = " ".join(self._words.split()) or f"it gave no output for {_PATIENCE:g} s"
        raise Unavailable(
            f"perf reads no energy: {why[:300]} (where it is not allowed: sudo sysctl kernel.perf_event_paranoid=0, "
            "or give perf the capability CAP_PERFMON)"
        )

    def _listen(self) -> None:
        offset, stamp, joules, lines = float("inf"), 0.0, 0.0, 0
        assert self._process.stderr is not None
        for line in self._process.stderr:
            cells = line.strip().split(";")
            try:
                stamp, more = float(cells[0]), float(cells[1])
            except (ValueError, IndexError):
                self._words += line
                continue
            # lines may come late, never early: the least delay seen gives perf's own zero
            offset = min(offset, time.monotonic() - stamp)
            joules, lines = joules + more, lines + 1
            if lines == len(self._events):
                with self._news:
                    self._log.add(stamp + offset, joules)
                    self._news.notify_all()
                joules, lines = 0.0, 0
        with self._news:
            self._news.notify_all()
