"""Cases: files to spoil, the mutations of each, and the commands that must take what comes of it.

A case is its kind, the seed of what is drawn, and the seeds of its mutations: enough to make it again, and to leave
mutations out of it.
"""

import csv
import functools
import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import mutate

SCENARIO, MACHINE, ROWS, MEASURED, ANSWER, STORE, COMMAND = (
    "scenario",
    "machine",
    "rows",
    "measured",
    "answer",
    "store",
    "command",
)
KINDS = (SCENARIO, MACHINE, ROWS, MEASURED, ANSWER, STORE, COMMAND)
OFTEN = (SCENARIO,) * 6 + KINDS
SOLVED = 0.06
"""The share of scenarios that are answered too, where they are right."""
Files = dict[str, bytes]
Words = list[str]


@dataclass(frozen=True)
class Case:
    """One trial: ``seed`` draws the file and the commands, each of ``steps`` one mutation."""

    kind: str
    seed: int
    steps: tuple[int, ...]


def drawn(dice: random.Random, kinds: tuple[str, ...]) -> Case:
    """Draw a case."""
    steps = tuple(dice.getrandbits(48) for _ in range(dice.choice([1, 1, 1, 2, 2, 3, 5])))
    return Case(dice.choice([k for k in OFTEN if k in kinds]), dice.getrandbits(48), steps)


def made(case: Case, folder: Path) -> list[Words]:
    """Write the files of a case to an empty folder; returns the commands that are to take them."""
    dice = random.Random(case.seed)
    found, spoil, words = MAKERS[case.kind](dice)
    others = OTHERS.get(case.kind, tuple)()
    for step in case.steps:
        turn = random.Random(step)
        if case.kind == COMMAND:
            words = [_respoken(w, turn) for w in words]
        elif case.kind == STORE:
            _damage(found, turn)
        else:
            found[spoil] = mutate.spoiled(spoil, found[spoil], turn, others)
    for name, data in found.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return words


@functools.cache
def library() -> dict[str, bytes]:
    """Return the ready scenarios."""
    return {p.name: p.read_bytes() for p in sorted(Path(str(files("scenarios") / "library")).glob("*.toml"))}


@functools.cache
def tables() -> dict[str, bytes]:
    """Return the tables whose rows ready scenarios go through."""
    folder = Path(str(files("scenarios") / "library"))
    return {p.name: p.read_bytes() for p in sorted(folder.glob("*.csv")) if p.name != "expected.csv"}


@functools.cache
def catalogue() -> dict[str, bytes]:
    """Return the machines of the catalogue."""
    return {p.name: p.read_bytes() for p in sorted(Path(str(files("dse.machines"))).glob("*.toml"))}


OTHERS: Mapping[str, Callable[[], tuple[bytes, ...]]] = {
    SCENARIO: lambda: tuple(library().values()),
    MACHINE: lambda: tuple(catalogue().values()),
}


def _scenario(dice: random.Random) -> tuple[Files, str, list[Words]]:
    data = library()[dice.choice(sorted(library()))]
    said = ["check", "question.toml", *dice.choice([[], ["--json"]])]
    luck = dice.random()
    found = {"question.toml": data} | {n: t for n, t in tables().items() if n.encode() in data}
    if luck > 2 * SOLVED:
        return found, "question.toml", [said]
    if luck > SOLVED:
        return found, "question.toml", [said, ["explain", "question.toml"]]
    how = "front" if b"minimize = [" in data else "sweep" if b"[sweep" in data else "solve"
    promised = any(word in data for word in (b"measure", b"quantile", b"cvar", b"probability", b"worst"))
    if b"[uncertain]" in data and how == "solve" and (not promised or dice.random() < 0.5):
        how = "uncertainty"
    more = {
        "front": ["--points", "2"],
        "sweep": ["-o", "study.zarr", "--workers", "1"],
        "solve": ["--json"],
        "uncertainty": ["--samples", "16", "--workers", "1", "--json"],
    }[how]
    return found, "question.toml", [said, [how, "question.toml", *more]]


def _rows(dice: random.Random) -> tuple[Files, str, list[Words]]:
    """A sound question about the rows of a table that is to be spoilt."""
    question = SWEPT.partition(b"[sweep")[0].replace(b'machine = "balanced"', b"")
    question += b"""
[sweep.row]
table = "points.csv"
columns = { machine = "host", bodies = "n", "limits.time.max" = "T" }
"""
    lines = [
        f"{dice.choice(['balanced', 'jaketown'])},{10 ** dice.uniform(3, 6):.6g},{i + 1}" for i in range(9)
    ]
    table = "\n".join(["host,n,T [ms]", *lines]).encode()
    return {"question.toml": question, "points.csv": table}, "points.csv", [["check", "question.toml"]]


# a question for a machine that has such a parameter, the first that fits
ASKED_OF = (
    (b"settings", "dvfs", "phases = [{ flops = 1e9 }]"),
    (b"time_per_byte", "roofline", "flops = 1e9\nintensity = 2.0"),
    (b"", "nbody", "bodies = 1e5\nflops_per_pair = 10\nprocessors = 8\nmemory = 1e5"),
)


def _machine(dice: random.Random) -> tuple[Files, str, list[Words]]:
    found = catalogue()[dice.choice(sorted(catalogue()))]
    model, given = next((m, g) for part, m, g in ASKED_OF if part in found)
    question = f'model = "{model}"\nmachine = "./here.toml"\n\n[given]\n{given}\n'
    words = [["machines", "./here.toml"], ["check", "question.toml"]]
    return {"here.toml": found, "question.toml": question.encode()}, "here.toml", words


def _measured(dice: random.Random) -> tuple[Files, str, list[Words]]:
    model = dice.choice(["roofline", "dvfs"])
    text = io.StringIO()
    table = csv.writer(text)
    if model == "roofline":
        table.writerow(["flops [Gflop]", "bytes [GB]", "time [ms]", "energy [J]"])
        for i in range(12):
            flop, byte = 10 * 2.0 ** (i - 4), 10.0
            time = max(flop / 1600, byte / 171)
            table.writerow([flop, byte, 1e3 * time, 0.1 * flop + 0.5 * byte + 122 * time])
    else:
        table.writerow(
            [
                "core voltage [mV]",
                "memory voltage [mV]",
                "flops [Gflop]",
                "bytes [GB]",
                "time [s]",
                "energy [J]",
            ]
        )
        for i in range(18):
            core, memory, time = (770, 890, 1030)[i % 3], (800, 1010)[i % 2], 1 + i / 9
            flop, byte = 30 + 7 * i, 1 + (5 * i) % 13
            energy = 27e-3 * flop * (core / 1e3) ** 2 + 0.37 * byte * (memory / 1e3) ** 2
            table.writerow([core, memory, flop, byte, time, energy + 3 * time * (core + memory) / 1e3])
    words = [
        ["fit", "runs.csv", "--model", model, "--json"],
        ["fit", "runs.csv", "--model", model, "-o", "made.toml"],
    ]
    return {"runs.csv": text.getvalue().encode()}, "runs.csv", [dice.choice(words)]


@functools.cache
def _answered() -> bytes:
    """Return an answer as JSON."""
    import dse
    from results.export.jsonable import to_json

    return json.dumps(to_json(dse.solve("nbody_deadline"))).encode()


def _answer(dice: random.Random) -> tuple[Files, str, list[Words]]:
    words = [
        ["diff", "answer.json", "whole.json"],
        ["diff", "whole.json", "answer.json", "--json"],
        ["export", "answer.json", "-o", "x.csv"],
    ]
    return {"answer.json": _answered(), "whole.json": _answered()}, "answer.json", [dice.choice(words)]


SWEPT = b"""
model = "nbody"
machine = "balanced"
[given]
bodies = 1e5
flops_per_pair = 10
[decide]
processors = { max = 4096 }
memory = {}
[objective]
minimize = "energy"
[sweep.deadline]
path = "limits.time.max"
start = "10 ms"
stop = "10 s"
num = 9
spacing = "log"
"""


@functools.cache
def _stored() -> dict[str, bytes]:
    """Return the files of a finished store, made once for each process."""
    import tempfile

    import dse

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "question.toml").write_bytes(SWEPT)
        dse.sweep(place / "question.toml", place / "study.zarr", workers=1, progress=False)
        return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


def _store(dice: random.Random) -> tuple[Files, str, list[Words]]:
    words = [
        ["verify", "study.zarr"],
        ["sweep", "--status", "study.zarr"],
        ["sweep", "-o", "study.zarr", "--summary"],
        ["export", "study.zarr", "-o", "x.csv"],
        ["report", "study.zarr", "-o", "x.html"],
        ["sweep", "question.toml", "-o", "study.zarr", "--workers", "1"],
    ]
    return dict(_stored()), "", [dice.choice(words)]


def _damage(found: Files, dice: random.Random) -> None:
    """Delete, cut, flip, swap or rewrite a file of a store."""
    names = [n for n in found if n.startswith("study.zarr/")]
    if not names:
        return
    one, other = dice.choice(names), dice.choice(names)
    match dice.randrange(6):
        case 0:
            del found[one]
        case 1:
            found[one], found[other] = found[other], found[one]
        case 2:
            found[one] = b""
        case 3:
            for name in [n for n in names if n.rpartition("/")[0] == one.rpartition("/")[0]]:
                del found[name]
        case _:
            found[one] = mutate.spoiled(one, found[one], dice, ())


# what answers at once, reads only what is in the folder, and opens no connection
COMMANDS: tuple[Words, ...] = (
    ["check", "nbody_deadline"], ["check", "question.toml", "--json"], ["explain", "nbody_deadline", "--full"],
    ["explain", "question.toml", "--format", "lp"], ["solve", "nbody_least_time"], ["solve", "question.toml", "--json"],
    ["models"], ["models", "nbody"], ["machines", "jaketown"], ["machines", "--json"], ["scenarios", "nbody_deadline"],
    ["new", "nbody", "-o", "new.toml"], ["new", "partition", "-o", "-"], ["schema"], ["--version"], ["--help"],
    ["diff", "nbody_deadline", "question.toml"], ["diff", "nbody_deadline", "lu_deadline", "--ignore", "grid"],
    ["export", "nbody_least_time", "-o", "x.csv"], ["export", "question.toml", "-o", "x.md", "--columns", "energy"],
    ["front", "question.toml", "--points", "3"], ["verify", "study.zarr"], ["sweep", "--status", "study.zarr"],
    ["evaluate", "question.toml", "--metrics", "time,energy"], ["fit", "runs.csv", "--model", "dvfs", "--folds", "3"],
)  # fmt: skip
STRANGE = (
    "", " ", "-", "--", "-x", "--json", "--nope", "-o", "--points", "0", "-1", "nan", "1e400", "2.5", "9" * 30,
    "x" * 3000, "energy", "energy,,time", "%s",
    "question.toml", "study.zarr", "no/such/file.toml", ".", "question.toml/", "\x1b[31m", "é", "\udcff", "е", "*", "~",
    "x.", ".toml", ".csv", "x.zarr", "x.png", "x.txt", "--help", "--debug=1", "--model=",
)  # fmt: skip


def _command(dice: random.Random) -> tuple[Files, str, list[Words]]:
    question = SWEPT.partition(b"[sweep")[0] if dice.random() < 0.7 else SWEPT
    return {"question.toml": question, "runs.csv": b"time [s]\n1\n"}, "", [list(dice.choice(COMMANDS))]


def _respoken(words: Words, dice: random.Random) -> Words:
    """Spoil a command line: leave out, add, replace, double or misspell a word."""
    found, i = list(words), dice.randrange(len(words)) if words else 0
    match dice.randrange(6):
        case 0:
            del found[i : i + 1]
        case 1:
            found.insert(i + 1, dice.choice(STRANGE))
        case 2 if i:
            found[i : i + 1] = [dice.choice(STRANGE)]
        case 3:
            found[i:i] = found[i : i + 1]
        case 4 if found:
            found[i] = found[i][1:] + found[i][:1]
        case _:
            dice.shuffle(found)
    return found


MAKERS: Mapping[str, Callable[[random.Random], tuple[Files, str, list[Words]]]] = {
    SCENARIO: _scenario,
    MACHINE: _machine,
    ROWS: _rows,
    MEASURED: _measured,
    ANSWER: _answer,
    STORE: _store,
    COMMAND: _command,
}
