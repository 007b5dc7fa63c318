"""A file that may not be read is told as such by every command, and none takes it for damaged or replaces it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dse
from results.stores.files.trouble import StoreForbidden
from results.stores.markers import DONE

AS_A_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""Root may read everything, but without these."""
ROOT_NEEDS = os.geteuid() == 0 and not shutil.which("setpriv")
SCRIPT = """
import json, sys
from click.testing import CliRunner
from dse.cli import main
found = [CliRunner().invoke(main, command) for command in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.output] for one in found]))
"""
READING = (
    ["export", "s.zarr", "-o", "s.csv"],
    ["report", "s.zarr", "-o", "s.html"],
    ["diff", "s.zarr", "s.zarr"],
    ["verify", "s.zarr", "--audit", "0"],
    ["verify", "--repair", "s.zarr", "--audit", "0"],
)
STATUS = ["sweep", "--status", "s.zarr"]


@pytest.fixture
def whole(evaluated: Path) -> Path:
    dse.sweep(evaluated, evaluated.with_name("s.zarr"), workers=1, progress=False, metrics=["energy"])
    return evaluated.with_name("s.zarr")


def contents(of: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(f.relative_to(of)): (f.read_bytes(), f.stat().st_ino)
        for f in sorted(of.rglob("*"))
        # the lock is taken, and given back, by whoever repairs
        if f.is_file() and not f.name.endswith(".lock")
    }


@pytest.mark.skipif(os.name != "posix" or ROOT_NEEDS, reason="needs files that it may not read")
@pytest.mark.parametrize("name", ["energy/c/0/0", "zarr.json", f"{DONE}/root.copy", f"{DONE}/0-0.json", ""])
def test_what_may_not_be_read_is_named_by_every_command_and_not_replaced(whole: Path, name: str):
    before, file = contents(whole), whole / name
    again = ["sweep", str(whole.with_name("evaluated.toml")), "-o", "s.zarr", "--metrics", "energy"]
    # of a listing the status alone is satisfied, and of a folder that may not be seen a sweep is to choose another
    commands = [*READING, *([] if name.startswith("energy") else [STATUS]), *([again] if name else [])]
    mode = file.stat().st_mode
    file.chmod(0)
    try:
        done = subprocess.run(
            [*(AS_A_USER if os.geteuid() == 0 else []), sys.executable, "-c", SCRIPT, json.dumps(commands)],
            capture_output=True,
            text=True,
            cwd=whole.parent,
            check=False,
        )
    finally:
        file.chmod(mode)
    assert not done.returncode, done.stderr
    for command, (code, text) in zip(commands, json.loads(done.stdout.splitlines()[-1]), strict=True):
        told = (
            f"s.zarr: {name}{': ' if name else ''}no permission to read it; have its owner allow that (chmod)"
        )
        assert code == 2, (command, text)
        assert told in text, (command, text)
        assert "damaged" not in text, (command, text)
        assert "can be written" not in text, (command, text)
    assert contents(whole) == before
    assert dse.verify(whole, audit=0).passed


def test_numbers_that_are_read_later_say_that_they_may_not_be(whole: Path, monkeypatch: pytest.MonkeyPatch):
    """In Python a dataset is read lazily: what may no longer be read then is no damage either."""
    opened = dse.open(whole)

    def refused(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("zarr.storage._local._get", refused)
    with pytest.raises(StoreForbidden, match=r"s\.zarr: energy/c/0/0: no permission to read it"):
        _ = opened.energy.values
