"""Pages of documentation: what they tell a reader to type, what they show that it prints, and whether that is so.

A page is followed from top to bottom in an empty folder:

- ```console: lines after ``$`` are commands; what follows one, if anything, is what it prints,
- ```python: run in one namespace for the page; a ```text block right after it is what it prints,
- ```toml that begins with the comment ``# name.toml``: written to that file.

``…`` stands for whatever differs from run to run or is left out. A comment before a block says what is special:
``<!-- not run here: why -->`` leaves it out, ``<!-- numbers of one machine: why -->`` compares its words only.

Text is compared exactly, numbers to the digits shown and to no more than six: the last digits of an exponential or
of a solve differ between kinds of processors, whose libraries have other instructions to compute with. For the same
reason a search may visit a node more: how many it visited is not compared.
"""

import contextlib
import difflib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
WIDTH = "100"
SIX_DIGITS = 1e-6
FENCE = re.compile(
    r"^(?:<!-- (?P<aside>not run here|numbers of one machine): [^\n]*-->\n\n?)?"
    r"^```(?P<kind>console|python|toml|text)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
QUANTITY = re.compile(NUMBER.pattern + r"(?:\s+(?![-+\d])[^\s\d]+)?")
LEFT_OUT = ".*?"
EFFORT = re.compile(r"\b\d+(?=\s+(?:nodes|boxes)\b)")


@dataclass
class Step:
    """Something to type, and what the page shows that it prints."""

    kind: str
    text: str
    shown: str
    place: tuple[int, int]  # where in the page the shown output stands
    loose: bool = False  # the numbers are those of one machine


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    end = 0
    for fence in FENCE.finditer(page):
        kind, text, start = fence["kind"], fence["text"], fence.start("text")
        if fence["aside"] == "not run here":
            continue
        loose = fence["aside"] is not None
        if kind == "text" and found and found[-1].kind == "python" and not page[end : fence.start()].strip():
            found[-1].shown, found[-1].place = text, (start, fence.end("text"))
            found[-1].loose = loose
        elif kind == "console":
            for part in re.finditer(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                place = (start + part.start(2), start + part.end(2))
                found.append(Step(kind, part[1].replace("\\\n", " "), part[2], place, loose))
        elif kind != "text":
            found.append(Step(kind, text, "", (0, 0)))
        end = fence.end()
    return found


def follow(page: str) -> dict[str, Any]:
    """Do what a page says, in this folder; fails where something else is printed. Returns the names of its Python."""
    names: dict[str, Any] = {"__name__": "page"}
    for step in steps(page):
        output = printed(step, names)
        same = words_as_shown if step.loose else as_shown
        if step.shown and not same(step.shown, output):
            lines = difflib.unified_diff(
                step.shown.splitlines(), output.splitlines(), "page", "now", lineterm=""
            )
            pytest.fail(f"{step.text}\n" + "\n".join(lines), pytrace=False)
    return names


def shortened(page: str) -> str:
    """Return a page that sweeps 21 points in place of the 287 of a ready scenario, which is written to this folder."""
    text = (ROOT / "scenarios" / "library" / "nbody_deadline_sweep.toml").read_text(encoding="utf-8")
    assert "num     = 41" in text
    Path("short.toml").write_text(text.replace("num     = 41", "num     = 3"), encoding="utf-8")
    return page.replace("nbody_deadline_sweep", "short.toml")


def typed(command: str) -> tuple[str, int]:
    """Run a command; ``dse`` in this process, since starting it 50 times would take most of the time."""
    command = re.sub(r"\s+# .*", "", command)
    if command.startswith("dse ") and not re.search(r"[|<>&;*$]", command):
        from dse.cli import main

        done = CliRunner().invoke(main, shlex.split(command)[1:])
        return (done.stdout if done.exit_code in {0, 3} else done.output), done.exit_code
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        command, shell=True, env=here, capture_output=True, text=True, timeout=240, check=False
    )
    return ran.stdout if ran.returncode in {0, 3} else ran.stdout + ran.stderr, ran.returncode


def printed(step: Step, names: dict[str, Any]) -> str:
    """Do one step, and return what it printed."""
    if step.kind == "toml":
        name = re.match(r"# (\S+\.toml)$", step.text, re.MULTILINE)
        if name:
            Path(name[1]).write_text(step.text, encoding="utf-8")
        return ""
    if step.kind == "python":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(step.text, "page", "exec"), names)
        return out.getvalue()
    if step.text.startswith("make "):
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert step.text.split()[1] in targets  # .ci/run runs them
        return ""
    output, code = typed(step.text)
    # a question may be wrong where the page shows how; only a comparison and a check end with 1 when all is well
    expected = {0, 3, 2 if step.shown else 0, 1 if re.match("dse (diff|verify) ", step.text) else 0}
    assert code in expected, f"{step.text} ended with {code}:\n{output}"
    return output


def as_shown(shown: str, actual: str) -> bool:
    """Tell whether the output is what the page shows, but for blanks and for what ``…`` stands for."""

    def token(text: str) -> str:
        if re.fullmatch("─+", text):
            return "─+"
        ends = [0, *(x for m in NUMBER.finditer(text) for x in m.span()), len(text)]
        pieces = [text[a:b] for a, b in itertools.pairwise(ends)]
        return "".join(
            r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)" if i % 2 else re.escape(p).replace("…", LEFT_OUT)
            for i, p in enumerate(pieces)
        )

    words = EFFORT.sub("…", shown).split()
    whole = r"\s+".join(map(token, words)).replace(rf"\s+{LEFT_OUT}\s+", rf"\s{LEFT_OUT}\s")
    captured = _captured(whole.split(LEFT_OUT), actual.strip())
    if captured is None:
        return False
    numbers = [m[0] for word in words for m in NUMBER.finditer(word)]
    return all(near(a, b) for a, b in zip(numbers, captured, strict=True))


def _captured(parts: list[str], text: str) -> list[str] | None:
    """Find patterns one after the other, with anything between them; return their groups, or None.

    Each is taken where it ends first, so that nothing is tried again.
    """
    groups: list[str] = []
    at = 0
    for i, part in enumerate(parts):
        pattern = re.compile(part + (r"\Z" if i == len(parts) - 1 else ""))
        found = pattern.search(text, at) if i else pattern.match(text, at)
        if found is None:
            return None
        groups.extend(found.groups())
        at = found.end()
    return groups


def words_as_shown(shown: str, actual: str) -> bool:
    """Tell whether the output has the words of the page, whatever its numbers and their units."""
    return as_shown(QUANTITY.sub("…", shown), QUANTITY.sub("…", actual))


def as_made(shown: str, made: str) -> bool:
    """Tell whether a page is what the program makes of it: the text exactly, blanks included."""
    numbers, today = NUMBER.findall(shown), NUMBER.findall(made)
    return NUMBER.split(shown) == NUMBER.split(made) and all(map(near, numbers, today))


def near(shown: str, actual: str) -> bool:
    """Tell whether a number is the one shown, to the digits shown, at most six; whole numbers to the one."""
    mantissa, _, power = shown.partition("e")
    whole = "." not in shown and not power
    last = 0.0 if whole else 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    # rounding may go either way
    return abs(float(shown) - float(actual)) <= max(1.01 * last, SIX_DIGITS * abs(float(shown)))
