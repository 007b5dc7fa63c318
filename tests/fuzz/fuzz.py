"""Spoil files until the time is up, and keep what a command does not take as it promises.

``make fuzz MINUTES=30 [SEED=7]``; the seed is printed, and the same seed gives the same cases. What is found is
made small (mutations are left out as long as the same fault shows) and kept under ``tests/fuzz/found``, in a folder
with the files and ``case.json``. Whoever mends it writes there what must come of it, the exit code (``code``) and a
part of what is printed (``says``), and ``test_fuzz.py`` holds it from then on. Exit code 1 where something was found.
"""

import argparse
import collections
import json
import os
import random
import re
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import cases
from cases import Case
from trials import ANSWERING, Finding

HERE = Path(__file__).parent
FOUND = HERE / "found"
WALL = 20
"""Times the seconds of the processor that a case may last by the clock, on a busy machine."""
RECYCLED = 1000
LONG = "took too long"


class Child:
    """A process that tries cases one by one; another one takes over where it was ended."""

    def __init__(self, program: Path = HERE / "trials.py") -> None:
        self._program = program
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # open as long as the child
        self._tries = 0

    def try_(self, case: Case) -> Finding | None:
        """Try a case; a Finding too where the child crashed or was ended for taking too long."""
        if self._process is None or self._process.poll() is not None or self._tries >= RECYCLED:
            self.end()
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self._tries += 1
        process.stdin.write(json.dumps(asdict(case)) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], WALL * ANSWERING)
        line = process.stdout.readline() if ready else ""
        if line:
            told = json.loads(line)
            return None if told is None else Finding(**told)
        if not ready:
            process.kill()
        code = process.wait()
        self._log.seek(0)
        story = self._log.read()
        frames = re.findall(r'File ".*?([\w.]+)", line \d+ in (\w+)', story)
        place = f" in {frames[0][0]}, {frames[0][1]}" if frames else ""
        why = LONG if code == -27 or not ready else f"ended its process with {code}"
        return Finding(f"{case.kind} {why}{place}", [], story[-4000:])

    def _start(self) -> None:
        self._tries = 0
        self._log.seek(0)
        self._log.truncate()
        here = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
        self._process = subprocess.Popen(
            [sys.executable, str(self._program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=here,
        )

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def shrunk(child: Child, case: Case, found: Finding) -> tuple[Case, Finding]:
    """Leave out mutations, halves first, as long as the same fault shows."""
    size = max(1, len(case.steps) // 2)
    while size >= 1:
        for start in range(0, len(case.steps), size):
            less = replace(case, steps=case.steps[:start] + case.steps[start + size :])
            again = child.try_(less)
            if again is not None and again.what == found.what:
                case, found = less, again
                break
        else:
            size //= 2
    return case, found


def kept(case: Case, found: Finding, into: Path) -> Path:
    """Keep a case: its files, the command, and what came of it, until somebody writes what must come of it."""
    name = re.sub(r"\W+", "_", f"{case.kind} {found.what}").strip("_").lower()[:60]
    taken = {p.name for p in into.glob(f"{name}*")}
    folder = into / next(n for n in (name, *(f"{name}_{i}" for i in range(2, 10**6))) if n not in taken)
    folder.mkdir(parents=True)
    words = cases.made(case, folder)
    told = {"kind": case.kind, "words": found.words or words[-1], "was": found.what}
    (folder / "case.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return folder


def fuzz(
    seconds: float,
    seed: int,
    kinds: tuple[str, ...],
    into: Path,
    child: Child,
    most: int | None = None,
) -> dict[str, Finding]:
    """Try cases for so long, at most so many; returns what was found, the first of each fault."""
    dice = random.Random(seed)
    end, tries, found = time.monotonic() + seconds, 0, {}
    counts: collections.Counter[str] = collections.Counter()
    try:
        while time.monotonic() < end and (most is None or tries < most):
            case = cases.drawn(dice, kinds)
            tries += 1
            if not tries % 500:
                print(f"{tries} cases", flush=True)
            finding = child.try_(case)
            if finding is None:
                continue
            counts[finding.what] += 1
            if finding.what in found:
                continue
            case, finding = shrunk(child, case, finding)
            found[finding.what] = finding
            print(
                f"\n{finding.what}\n  {kept(case, finding, into)}: dse {' '.join(finding.words)}\n",
                flush=True,
            )
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        child.end()
    print(f"{tries} cases, seed {seed}, {len(found)} faults")
    for what, count in counts.most_common():
        print(f"  {count:6} {what}")
    return found


def main() -> None:
    """Read the command line."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=1.0)
    asked.add_argument("--seed", type=int, default=None)
    asked.add_argument("--kinds", default=",".join(cases.KINDS), help="Of: %(default)s.")
    asked.add_argument("--into", type=Path, default=FOUND)
    told = asked.parse_args()
    seed = random.SystemRandom().randrange(10**6) if told.seed is None else told.seed
    print(f"seed {seed}", flush=True)
    found = fuzz(60 * told.minutes, seed, tuple(told.kinds.split(",")), told.into, Child())
    # a question may be hard to answer: that is told, and is no fault of reading it
    sys.exit(any(LONG not in what for what in found))


if __name__ == "__main__":
    main()
