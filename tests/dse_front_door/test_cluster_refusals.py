"""Workers with other versions, and options of a cluster that make no sense."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import dse
from dse.cli import main
from dse.sweeping.cluster import clusters
from dse.sweeping.cluster.workers import WorkersLost


class Versions:
    """What a client tells of versions."""

    def __init__(self, scheduler: dict[str, str | None], worker: dict[str, str | None]) -> None:
        mine = {
            "python": "3.11.7.final.0",
            "dask": "2026.8.0",
            "distributed": "2026.8.0",
            "codesign-dse": "0.1.0",
        }
        self._told = {
            "client": {"packages": mine},
            "scheduler": {"packages": mine | scheduler},
            "workers": {"tcp://10.0.0.2:1": {"packages": mine | worker}},
        }

    def get_versions(self, packages: list[str]) -> dict[str, Any]:
        assert packages == ["codesign-dse"]
        return self._told


@pytest.mark.parametrize(
    ("scheduler", "worker", "said"),
    [
        ({"distributed": "2025.1.0"}, {}, r"scheduler at here has distributed 2025.1.0 \(here 2026.8.0\)"),
        ({}, {"codesign-dse": "0.0.9"}, r"worker tcp://10.0.0.2:1 has codesign-dse 0.0.9"),
        ({}, {"python": "3.12.1.final.0"}, r"python 3.12 \(here 3.11\)"),
    ],
)
def test_other_versions_are_named(scheduler: Any, worker: Any, said: str):
    with pytest.raises(WorkersLost, match=said):
        clusters.same_versions(Versions(scheduler, worker), "here")


@pytest.mark.parametrize("fill", [dse.sweep, dse.evaluate])
def test_a_closed_client_is_told_so(fill: Any, tmp_path: Path):
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        pass
    axis = {"sweep": {"i": {"path": "intensity", "values": [1, 2]}}}
    asked = {"model": "roofline", "machine": "gtx-titan-choi2014", "given": {"flops": 1e9}, **axis}
    with pytest.raises(WorkersLost, match="the Dask client is closed"):
        fill(asked, tmp_path / "s.zarr", client=client, progress=False)


def test_a_patch_of_python_and_an_unknown_version_are_no_difference():
    clusters.same_versions(Versions({"python": "3.11.9.final.0"}, {"codesign-dse": None}), "here")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "2", "--cluster", "slurm"), "--workers and --cluster name different processes"),
        (("--jobs", "2"), "give that too"),
        (("--cluster", "slurm", "--jobs", "2", "--adapt", "0:3"), "give one of them"),
        (("--cluster", "slurm", "--adapt", "3"), "write two whole numbers"),
        (("--cluster", "slurm", "--adapt", "3:1"), "write two whole numbers"),
        (("--cluster", "mainframe"), "there are slurm, pbs, lsf"),
        (("--scheduler", "tcp://127.0.0.1:1", "--patience", "soon"), "write a time such as"),
    ],
)
def test_options_that_make_no_sense_are_refused(evaluated: Path, options: tuple[str, ...], said: str):
    found = CliRunner().invoke(main, ["sweep", str(evaluated), "-o", "x.zarr", *options])
    assert found.exit_code == 2, found.stderr
    assert said in found.stderr


def test_a_batch_system_that_is_not_here_is_told(evaluated: Path, monkeypatch: pytest.MonkeyPatch):
    ask = ["sweep", str(evaluated), "-o", "x.zarr", "--cluster", "lsf"]
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    found = CliRunner().invoke(main, ask)
    assert found.exit_code == 1
    assert 'pip install "codesign-dse[cluster]"' in found.stderr
    monkeypatch.undo()
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setenv("PATH", os.fspath(evaluated.parent))
    found = CliRunner().invoke(main, ask)
    assert found.exit_code == 1
    assert "there is no bsub on this machine" in found.stderr


def test_a_job_that_nobody_described_is_told(evaluated: Path):
    pytest.importorskip("dask_jobqueue")
    found = CliRunner().invoke(main, ["sweep", str(evaluated), "-o", "x.zarr", "--cluster", "local"])
    assert found.exit_code == 1
    assert "You must specify how much cores and memory" in found.stderr
    assert "a job is described by jobqueue.local" in found.stderr
