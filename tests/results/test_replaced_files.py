"""A page, picture or record that cannot be written to its end leaves the file that was there before."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.commands import answering
from results import plot
from results.stores.store import StoreError


def page(file: Path) -> None:
    dse.report("nbody_deadline", file)


def picture(file: Path) -> None:
    plot.save(plot.breakdown(dse.solve("nbody_deadline")), file)


def record(file: Path) -> None:
    answering._write_front(dse.front("nbody_energy_time_front", points=2), {"points": list(range(99))}, file)


@pytest.mark.parametrize(("name", "write"), [("a.html", page), ("a.png", picture), ("a.json", record)])
def test_what_was_there_stays_where_the_disk_is_full(
    name: str, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / name
    file.write_bytes(b"of yesterday")

    def half(self: Path, text: str, **_: Any) -> int:
        self.write_bytes(text.encode()[:9])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def drawn(_figure: Any, target: Path, **_kwargs: Any) -> None:
        half(Path(target), "a picture, half of it")

    monkeypatch.setattr(Path, "write_text", half)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", drawn)
    with pytest.raises(StoreError, match="the disk is full"):
        write(file)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert file.read_bytes() == b"of yesterday"


def test_a_new_file_that_the_disk_has_no_room_for_is_named_and_not_left_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(self: Path, *_: Any, **__: Any) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    done = CliRunner().invoke(main, ["new", "machine", "-o", str(tmp_path / "m.toml")])
    assert done.exit_code == 1
    assert "m.toml: the disk is full" in done.stderr
    assert list(tmp_path.iterdir()) == []
