"""Workers with other versions, and options of a cluster that make no sense."""

from typing import Any

import pytest

from dse.sweeping import clusters
from dse.sweeping.workers import WorkersLost


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


def test_a_patch_of_python_and_an_unknown_version_are_no_difference():
    clusters.same_versions(Versions({"python": "3.11.9.final.0"}, {"codesign-dse": None}), "here")
