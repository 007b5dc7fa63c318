"""A study of a stranger is data: what CMA-ES keeps there is read as numbers, never unpickled."""

import json
import pickle
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dse
from solvers.sampling.databases import StudyError

NBODY = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e5, "flops_per_pair": 10},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "1 s"}},
}
KEPT = "SELECT key, value_json FROM trial_system_attributes WHERE key LIKE 'cma:%'"


class Mischief:
    """What makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has gone on long enough for CMA-ES to have kept something."""
    file = tmp_path_factory.mktemp("begun") / "study.db"
    dse.solve(NBODY, sampler="CMA-ES", trials=9, storage=str(file))
    return file


@pytest.fixture
def study(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(begun, tmp_path))


def test_what_a_study_keeps_of_cma_es_is_json(begun: Path):
    with sqlite3.connect(begun) as base:
        kept = dict(base.execute(KEPT))
    state = "".join(json.loads(text) for key, text in sorted(kept.items()) if key != "cma:generation")
    assert json.loads(state)["_n_dim"] == 2  # processors and memory


def test_a_pickle_in_a_study_is_not_unpickled(study: Path, tmp_path: Path):
    made = tmp_path / "made by the study"
    text = json.dumps(pickle.dumps(Mischief(made)).hex())
    with sqlite3.connect(study) as base:
        last = base.execute("SELECT max(trial_id) FROM trials").fetchone()[0]
        row = "INSERT INTO trial_system_attributes (trial_id, key, value_json) VALUES (?, ?, ?)"
        base.execute(row, (last, "cma:optimizer:0", text))
        base.execute("UPDATE trial_system_attributes SET key = 'x' WHERE key LIKE 'cma:numbers%'")
    assert dse.solve(NBODY, sampler="CMA-ES", trials=12, storage=str(study)).status.value == "feasible"
    assert not made.exists()


def test_a_state_that_is_none_is_told(study: Path):
    with sqlite3.connect(study) as base:
        base.execute("UPDATE trial_system_attributes SET value_json = '\"{}\"' WHERE key = 'cma:numbers:0'")
        base.execute("DELETE FROM trial_system_attributes WHERE key = 'cma:numbers:1'")
    with pytest.raises(StudyError, match=r"study\.db: the study 'dse': trial \d keeps no state of CMA-ES"):
        dse.solve(NBODY, sampler="CMA-ES", trials=12, storage=str(study))
