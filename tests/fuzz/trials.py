"""One trial: run the commands of a case in this process, and judge how each ended.

What every command promises of any file: an exit code of the contract, one clear message where the file is wrong, which
names it, and JSON that is JSON. As a program (``python trials.py``) this is the child that `fuzz.py` watches: cases
come in as lines of JSON, verdicts go out as such, and the kernel ends it where a command takes too many seconds of the
processor.
"""

import contextlib
import faulthandler
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cases
from cases import Case, Words
from click.testing import CliRunner, Result

from dse.cli import main
from formulations.failures import OVERFLOW

CHECKING, ANSWERING = 20.0, 40.0
"""Seconds of the processor for a command that reads, and for one that answers."""
ANSWERS = frozenset({"solve", "front", "sweep", "explain", "verify", "report", "export", "evaluate", "diff"})
READ = frozenset({cases.SCENARIO, cases.MACHINE, cases.ROWS, cases.MEASURED, cases.ANSWER, cases.STORE})
SUSPECT = re.compile(r"Traceback \(most recent|unexpected [A-Z]\w+|pydantic|validation error|object at 0x")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
DAMAGED = re.compile(r"^dse: .* is damaged: ", re.MULTILINE)
MEMORY = 12 * 2**30


@dataclass(frozen=True)
class Finding:
    """A promise that did not hold: what went wrong where (the same for the same fault), and the whole story."""

    what: str
    words: Words
    told: str


def tried(case: Case, folder: Path) -> Finding | None:
    """Run a case in an empty folder."""
    with contextlib.chdir(folder):
        for words in cases.made(case, folder):
            _allow(ANSWERING if words and words[0] in ANSWERS else CHECKING)
            found = judged(case.kind, words, run(words))
            if isinstance(found, Finding):
                return found
            if found != 0:
                break
    return None


def run(words: Words) -> Result:
    """Run ``dse`` with these words."""
    return CliRunner().invoke(main, words, prog_name="dse")


def judged(kind: str, words: Words, done: Result) -> Finding | int:
    """Hold what a command did against what it promises; returns its exit code where all is well."""
    code, story = done.exit_code, done.stderr + done.stdout
    if kind == cases.STORE and code == 1 and DAMAGED.search(done.stderr):
        # what is wrong with a damaged store, and what repairs it
        return code
    if code == 1 and OVERFLOW in story:
        # no answer: the message names the number that is too far from 1 (tests/dse_front_door/test_extreme_numbers.py)
        return code
    allowed = {0, 2, 3} | ({1} if words[:1] in (["diff"], ["verify"]) else set())
    problem = _unexpected(words, done)
    if problem:
        return Finding(problem, words, story)
    if code not in allowed:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        return Finding(f"{words[:1]} ends with {code}: {_plain(said)}", words, story)
    suspect = SUSPECT.search(story)
    if suspect:
        return Finding(f"{words[:1]} says {suspect[0]!r}", words, story)
    if CONTROL.search(story):
        return Finding(f"{words[:1]} prints control characters", words, story)
    if "--json" in words and kind != cases.COMMAND and code != 2:
        return _json(words, done) or code
    if code == 2 and kind in READ and not _names_a_place(words, done):
        return Finding(f"{words[:1]} refuses without a name of a file", words, story)
    return code


def _unexpected(words: Words, done: Result) -> str:
    """Say which exception ended a command, and where in our code; "" where none did."""
    if "dse: unexpected" not in done.stderr:
        return ""
    again = CliRunner().invoke(main, [*words, "--debug"], prog_name="dse")
    if again.exception is None or again.exc_info is None:
        return f"unexpected, and not again: {_plain(done.stderr)}"
    frames = traceback.extract_tb(again.exc_info[2])
    ours = [f for f in frames if "site-packages" not in f.filename and f.name != "invoke"]
    last = ours[-1] if ours else frames[-1]
    return f"{type(again.exception).__name__} in {Path(last.filename).name}, {last.name}"


def _json(words: Words, done: Result) -> Finding | None:
    try:
        told = json.loads(done.stdout, parse_constant=_no_number)
    except ValueError as problem:
        return Finding(f"{words[:1]} prints no JSON: {_plain(str(problem))}", words, done.stdout)
    if isinstance(told, dict) and not all(p["wrong"] and p["file"] for p in told.get("problems", ())):
        return Finding(f"{words[:1]} has a mistake without words", words, done.stdout)
    return None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _names_a_place(words: Words, done: Result) -> bool:
    said = done.stderr + done.stdout
    return any(w.removeprefix("./") in said for w in words if "." in w)


def _plain(text: str) -> str:
    """Return a message without what differs between one case and the next."""
    return re.sub(r"[\d.e+-]*\d|'[^']*'|\"[^\"]*\"|\S*/\S*", "…", text.strip())[:160]


def _allow(seconds: float) -> None:
    """Let the kernel end this process, whatever library it is in, after so many seconds of the processor."""
    if faulthandler.is_enabled():
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _asked() -> Iterator[Case]:
    for line in sys.stdin:
        told = json.loads(line)
        yield Case(told["kind"], told["seed"], tuple(told["steps"]))


def child() -> None:
    """Take cases from standard input until it ends."""
    import resource

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what solvers print is not ours to read
    faulthandler.enable()
    # says where it was, and then does what a process without a handler does: it ends
    faulthandler.register(signal.SIGPROF, chain=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    root = Path(tempfile.mkdtemp(prefix="dse-fuzz-"))
    try:
        for case in _asked():
            folder = root / "case"
            folder.mkdir()
            found = tried(case, folder)
            shutil.rmtree(folder)
            answers.write(json.dumps(None if found is None else asdict(found)) + "\n")
            answers.flush()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    child()
