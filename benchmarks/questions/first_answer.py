"""``python -m benchmarks.questions.first_answer``: processor time of a first answer, beside that of importing NumPy.

User and system time of each command, which are run in turns, with compiled modules; the least of all runs is told.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

DSE = str(Path(sys.executable).with_name("dse"))
COMMANDS = {
    'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
    "dse solve nbody_deadline": [DSE, "solve", "nbody_deadline"],
    "dse --help": [DSE, "--help"],
}


def spent(command: list[str]) -> float:
    """Return the processor time of a command in a process of its own."""
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run all commands in turns and print the least of each, with its ratio to the first."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=12)
    rounds = options.parse_args().rounds
    for command in COMMANDS.values():
        spent(command)
    times = [[spent(command) for command in COMMANDS.values()] for _ in range(rounds)]
    least = [min(column) for column in zip(*times, strict=True)]
    for name, seconds in zip(COMMANDS, least, strict=True):
        print(f"{name:26}  {seconds:.3f} s  {seconds / least[0]:.2f}")


if __name__ == "__main__":
    main()
