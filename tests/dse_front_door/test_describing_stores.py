"""Stores that are described as they are: of a sweep, unfinished ones, and those of other commands."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main

ASKED = {
    "model": "roofline",
    "machine": "gtx-titan-choi2014",
    "given": {"flops": 1e9},
    "sweep": {"intensity": {"path": "given.intensity", "values": [1, 2, 4]}},
}
NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": ["time", "energy"]},
}


@pytest.mark.parametrize("what", [["--summary"], ["--plot", "p.png"]])
def test_a_store_without_answers_is_told_who_describes_it(
    what: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dse.evaluate(ASKED, "s.zarr", progress=False)
    found = CliRunner().invoke(main, ["sweep", "-o", "s.zarr", *what])
    assert found.exit_code == 2, found.output
    assert "dse report s.zarr" in found.stderr
    assert "dse export s.zarr" in found.stderr


def test_a_front_is_not_drawn_as_a_sweep(tmp_path: Path) -> None:
    store = str(tmp_path / "f.zarr")
    dse.front(NBODY, points=3).to_zarr(store)
    found = CliRunner().invoke(main, ["sweep", "-o", store, "--plot", str(tmp_path / "p.png")])
    assert found.exit_code == 2, found.output
    assert "it is a front" in found.stderr


def test_a_store_alone_is_told_what_can_be_done_with_it() -> None:
    found = CliRunner().invoke(main, ["sweep", "-o", "s.zarr"])
    assert found.exit_code == 2
    assert "--summary" in found.stderr
    assert "--plot" in found.stderr


def test_a_store_without_an_answered_point_says_so(tmp_path: Path) -> None:
    store = tmp_path / "s.zarr"

    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dse.sweep(ASKED, str(store), progress=interrupted)
    found = CliRunner().invoke(main, ["sweep", "-o", str(store), "--summary"])
    assert found.exit_code == 0, found.output
    assert "3 points (3 intensity): none is answered yet" in found.stdout
