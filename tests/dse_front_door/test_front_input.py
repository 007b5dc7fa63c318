"""What is asked of a front wrongly is said at once; what was found is not lost to a file that cannot be written."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from results.trouble import StoreError
from scenarios import ScenarioError

STEP = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": ["energy", "time"]},
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        *(({"points": n}, "write a whole number of at least 2") for n in (0, 1, -3, 3.5, "x", True)),
        *(
            ({"tolerance": x}, "write a number between 0 and 1")
            for x in (0, -0.1, 1, 5, float("nan"), "1 %", True)
        ),
    ],
)
def test_points_and_tolerance_that_mean_nothing_are_refused(wrong: dict[str, Any], said: str):
    with pytest.raises(ScenarioError, match=said):
        dse.front(STEP, **wrong)


def test_a_front_is_shown_where_its_file_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    for wrong in ("front.csv", "front.png"):
        outputs = ("-o", str(tmp_path / "front.md"), "-o", str(tmp_path / "file" / wrong))
        done = CliRunner().invoke(main, ("front", "nbody_energy_time_front", "--points", "2", *outputs))
        assert done.exit_code == 2
        assert "the two ends" in done.stdout
        assert f"Wrote {tmp_path / 'front.md'}\n" in done.stdout
        assert "a part of the path is a file, not a directory" in done.stderr


def test_an_empty_folder_is_not_said_to_be_missing(tmp_path: Path):
    with pytest.raises(StoreError, match="is an empty folder"):
        dse.open(tmp_path)


def test_what_is_no_model_is_not_registered():
    with pytest.raises(TypeError, match=r"a model is a dse\.models\.Model, not int"):
        dse.register(5)  # type: ignore[arg-type]
