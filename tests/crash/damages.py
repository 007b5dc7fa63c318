"""Stores that something happened to: files lost, cut, changed, exchanged, renamed, made unreadable.

``python tests/crash/damages.py [CASES] [SEED]`` damages so many stores (120), each at random in one of the ways
below; the suite tries one of each kind. Every damage is noticed by ``dse verify``, and by ``dse export`` where it reads
what is damaged: one message, exit code 1, no traceback. One command then repairs the store to the bit: every file is as
it was, except ``seconds`` and the times in the markers of what was computed again. A file that may not be read is no
damage: every command names it with exit code 2, and none replaces it.
"""

import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

import dse
import results.stores.files.seals
from dse.cli import main as dse_command

# nothing is decided in it and little computed: a grid of six chunks in a blink
GRID = """
title   = "Time and energy of n bodies"
model   = "nbody"
machine = "balanced"

[given]
bodies         = 1e5
flops_per_pair = 10
processors     = 100
memory         = 5e4

[sweep.bodies]
path  = "given.bodies"
start = 6e4
stop  = 5e6
num   = 12

[sweep.work]
path   = "given.flops_per_pair"
values = [5, 10, 20, 40]
"""
METRIC = "energy"
NOBODY = 65534
ROOT = "zarr.json"
AXES = frozenset({"bodies", "work", "limit"})
DONE = "chunks_done"
# of what was computed again only these say when it was
TIMES = frozenset({"written", "seconds", "check_seconds", "files", "seal"})


class Case:
    """A damaged copy of a sound store; ``said``: what was damaged of it."""

    def __init__(self, store: Path, dice: random.Random) -> None:
        self.store, self.dice = store, dice
        self.said = ""

    def files(self, *kinds: str) -> list[Path]:
        return [f for f in every(self.store) if kind(f.relative_to(self.store)) in kinds]

    def one(self, *kinds: str) -> Path:
        found = self.dice.choice(self.files(*kinds))
        self.said = str(found.relative_to(self.store))
        return found


def every(store: Path) -> list[Path]:
    return sorted(f for f in store.rglob("*") if f.is_file())


def kind(name: Path) -> str:
    """What a file of a store is."""
    if name.name in {ROOT, "root.copy"}:
        return "metadata"
    if name.parts[0] == DONE:
        return "marker" if name.suffix == ".json" else "remark"
    return "coordinates" if name.parts[0] in AXES else "data"


ALL = ("data", "marker", "metadata", "coordinates")


def deleted(case: Case) -> None:
    case.one("data").unlink()


def deleted_marker(case: Case) -> None:
    case.one("marker").unlink()


def deleted_metadata(case: Case) -> None:
    case.one("metadata", "coordinates").unlink()


def cut(case: Case) -> None:
    file = case.one(*ALL)
    text = file.read_bytes()
    file.write_bytes(text[: case.dice.randrange(1, len(text))])


def emptied(case: Case) -> None:
    case.one(*ALL).write_bytes(b"")


def longer(case: Case) -> None:
    file = case.one(*ALL)
    file.write_bytes(file.read_bytes() + case.dice.choice([b"\0", b" ", b"{}"]))


def flipped(case: Case, *kinds: str) -> None:
    file = case.one(*(kinds or ALL))
    text = bytearray(file.read_bytes())
    text[case.dice.randrange(len(text))] ^= 1 << case.dice.randrange(8)
    file.write_bytes(bytes(text))


def flipped_data(case: Case) -> None:
    flipped(case, "data")


def flipped_metadata(case: Case) -> None:
    flipped(case, "metadata", "coordinates")


def flipped_root(case: Case) -> None:
    file = case.store / case.dice.choice([ROOT, f"{DONE}/root.copy"])
    case.said = file.name
    text = bytearray(file.read_bytes())
    text[case.dice.randrange(len(text))] ^= 1 << case.dice.randrange(8)
    file.write_bytes(bytes(text))


def altered_marker(case: Case) -> None:
    """A number of it is another: still JSON."""
    file = case.one("marker")
    told = json.loads(file.read_text())
    name = case.dice.choice([n for n in told if n != "files"])
    told[name] = case.dice.choice([v for v in (0, [], {}, "x") if v != told[name]])
    file.write_text(json.dumps(told))


def altered_metadata(case: Case) -> None:
    """A word of it is another: still JSON, and still metadata of Zarr."""
    file = case.one("metadata")
    told = json.loads(file.read_text())
    if not told["attributes"]:
        told["attributes"]["units"] = "h"
    name = case.dice.choice(list(told["attributes"]))
    told["attributes"][name] = case.dice.choice(
        [v for v in ("J", "1", "status optimal", 7) if v != told["attributes"][name]]
    )
    file.write_text(json.dumps(told, indent=2))


def renamed(case: Case) -> None:
    file = case.one(*ALL)
    file.rename(file.with_name(file.name + case.dice.choice([".bak", "~", "0"])))


def swapped(case: Case) -> None:
    """Two files of numbers of one variable, or two markers, stand in each other's place."""
    one = case.one("data", "marker")
    same = kind(one.relative_to(case.store))
    first = one.relative_to(case.store).parts[0]
    others = [f for f in case.files(same) if f.relative_to(case.store).parts[0] == first]
    others = [f for f in others if f.read_bytes() != one.read_bytes()]
    if not others:
        one.unlink()
        return
    other = case.dice.choice(others)
    here, there = one.read_bytes(), other.read_bytes()
    one.write_bytes(there)
    other.write_bytes(here)


def lost_folder(case: Case) -> None:
    """All of a variable, or all markers."""
    name = case.dice.choice(sorted(f.name for f in case.store.iterdir() if f.is_dir()))
    case.said = name
    shutil.rmtree(case.store / name)


def without_permission(case: Case) -> None:
    case.one(*ALL).chmod(0)


KINDS: dict[str, Callable[[Case], None]] = {
    f.__name__: f
    for f in (
        deleted,
        deleted_marker,
        deleted_metadata,
        cut,
        emptied,
        longer,
        flipped_data,
        flipped_metadata,
        flipped_root,
        altered_marker,
        altered_metadata,
        renamed,
        swapped,
        lost_folder,
        without_permission,
    )
}


def sound(folder: Path) -> Path:
    """The store that is damaged, and its scenario beside it."""
    (folder / "grid.toml").write_text(GRID)
    with few_points_a_chunk():
        dse.sweep(folder / "grid.toml", folder / "s.zarr", workers=1, progress=False, metrics=[METRIC])
    return folder / "s.zarr"


@contextlib.contextmanager
def few_points_a_chunk() -> Iterator[None]:
    """Cut the grid into several chunks, small as it is."""
    with mock.patch("results.stores.chunks.ROOM", {"point": 8, "search": 8, "batch": 8, "array": 8}):
        yield


@contextlib.contextmanager
def as_somebody(store: Path, scenario: Path) -> Iterator[None]:
    """Root may read everything: be somebody who may not."""
    if os.geteuid():
        yield
        return
    # what is imported later may be in a folder of root's
    for command in (*reading(store), *repairing(store, scenario), ("verify", str(store / "nothing"))):
        run(*command)
    for file in (store.parent, store, *store.rglob("*")):
        os.chown(file, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def run(*words: str) -> tuple[int, str]:
    told = io.StringIO()
    with few_points_a_chunk(), contextlib.redirect_stderr(told):
        found = CliRunner().invoke(dse_command, list(words))
    return found.exit_code, found.output + told.getvalue()


def contents(store: Path) -> dict[str, object]:
    """What must be the same again, file by file; of markers what is not a time."""
    found: dict[str, object] = {}
    for file in every(store):
        name = file.relative_to(store)
        if name.match("seconds/c/*/*") or kind(name) == "remark":
            continue
        text = file.read_bytes()
        if kind(name) == "marker":
            told = results.stores.files.seals.loaded(text)
            files = {n: r for n, r in told["files"].items() if not n.startswith("seconds")}
            found[str(name)] = {n: v for n, v in told.items() if n not in TIMES} | {"files": files}
        else:
            found[str(name)] = text
    return found


def tried(name: str, whole: Path, folder: Path, seed: int) -> str:
    """Damage a copy of a store, see that it is noticed, repair it, and compare; says which file it was."""
    store = Path(shutil.copytree(whole, folder / "s.zarr"))
    scenario = whole.with_name("grid.toml")
    expected = contents(store)
    case = Case(store, random.Random(f"{name} {seed}"))
    with as_somebody(store, scenario) if name == "without_permission" else contextlib.nullcontext():
        KINDS[name](case)
        told = f"{name} of {case.said} (seed {seed})"
        if name == "without_permission":
            left_alone(case, scenario, expected, told)
            return told
        noticed(store, told)
        repair = case.dice.choice(repairing(store, scenario))
        code, text = run(*repair)
        assert code == 0, f"{told}: {repair[0]} ended with {code}: {text}"
        assert "Traceback" not in text, f"{told}: {text}"
        code, text = run("verify", str(store), "--audit", "0")
        assert code == 0, f"{told}: not repaired by {repair[0]}: {text}"
        found = contents(store)
    different = [n for n in expected if expected[n] != found.get(n)]
    # what was renamed is left under its new name
    different += list(found.keys() - expected.keys())[name == "renamed" :]
    assert not different, f"{told}: not the same after {repair[0]}: {different}"
    return told


def reading(store: Path) -> tuple[tuple[str, ...], ...]:
    """The commands that are to notice it."""
    name = str(store)
    return (
        ("export", name, "-o", f"{name}.csv"),
        ("sweep", "--status", name),
        ("verify", name, "--audit", "0"),
    )


def repairing(store: Path, scenario: Path) -> tuple[tuple[str, ...], ...]:
    """The commands of which one is enough."""
    return ("verify", "--repair", str(store), "--audit", "0"), (
        "sweep",
        *(str(scenario), "-o", str(store), "--metrics", METRIC),
    )


def noticed(store: Path, told: str) -> None:
    for command in reading(store):
        code, text = run(*command)
        if command[0] == "sweep" and code == 0:
            # it reads no numbers: only what is missing or has another size
            continue
        assert code == 1, f"{told}: `dse {command[0]}` ended with {code}: {text}"
        assert "unexpected" not in text, f"{told}: `dse {command[0]}`: {text}"
        assert "--repair" in text, f"{told}: `dse {command[0]}` names no repair: {text}"
        if command[0] != "verify":
            assert len(text.strip().splitlines()) == 1, f"{told}: {text}"
            assert str(store) in text


def left_alone(case: Case, scenario: Path, expected: dict[str, object], told: str) -> None:
    for command in (*reading(case.store), *repairing(case.store, scenario)):
        code, text = run(*command)
        if command[:2] == ("sweep", "--status") and code == 0:
            continue
        assert code == 2, f"{told}: `dse {command[0]}` ended with {code}: {text}"
        assert f"{case.said}: no permission to read it" in text, f"{told}: {text}"
        assert "damaged" not in text, f"{told}: {text}"
    (case.store / case.said).chmod(0o644)
    assert contents(case.store) == expected, f"{told}: not left as it was"
    code, text = run("verify", str(case.store), "--audit", "0")
    assert code == 0, f"{told}: {text}"


def main(arguments: list[str]) -> int:
    cases = int(arguments[0]) if arguments else 120
    seed = int(arguments[1]) if len(arguments) > 1 else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    failures = 0
    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        (Path(top) / "sound").mkdir()
        whole = sound(Path(top) / "sound")
        names = list(KINDS)
        for number in range(cases):
            folder = Path(top) / str(number)
            folder.mkdir()
            try:
                tried(names[number % len(names)], whole, folder, seed + number)
            except AssertionError as problem:
                failures += 1
                print(f"case {number}: FAILED: {problem}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{cases - failures} of {cases} damages noticed and repaired", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
