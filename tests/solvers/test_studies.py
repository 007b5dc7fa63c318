"""Trials that are kept: continued, refused where they belong to another question, and not lost with a process."""

import io
import json
import math
import sqlite3
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import optuna
import pytest
from study_states import NBODY, kept, states

import dse
from results.stores.store import StoreError
from solvers.sampling import databases, sampler, studies
from solvers.sampling.databases import StudyError


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "study.db")


def test_a_study_is_continued_and_its_trials_count(storage: str) -> None:
    first = dse.solve(NBODY, sampler="TPE", trials=8, seed=1, storage=storage, compare=False)
    assert "8 trials of Optuna TPE" in first.certificate
    assert states(kept(storage)) == {"COMPLETE": 8}
    more = dse.solve(NBODY, sampler="TPE", trials=12, seed=1, storage=storage, compare=False)
    assert states(kept(storage)) == {"COMPLETE": 12}
    params = [tuple(t.params.values()) for t in kept(storage).get_trials()]
    # continued, not begun again: nothing is drawn twice
    assert len(set(params)) == 12
    again = dse.solve(NBODY, sampler="TPE", trials=5, storage=storage, compare=False)
    assert "12 trials" in again.certificate
    assert states(kept(storage)) == {"COMPLETE": 12}
    assert again.variables == more.variables


def test_a_study_that_is_continued_says_after_how_many_trials(storage: str) -> None:
    told = [
        dse.solve(NBODY, sampler="random", trials=n, seed=1, storage=storage, compare=False).certificate
        for n in (4, 6, 6, 7, 9)
    ]
    assert "continued" not in told[0]
    # another search than one of 6 trials at once
    assert "6 trials of Optuna random, seed 1, continued after 4," in told[1]
    assert told[2] == told[1]
    assert "9 trials of Optuna random, seed 1, continued 3 times, the last after 7," in told[4]


def test_more_trials_give_no_worse_an_answer(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dse.solve(NBODY, sampler="random", trials=15, seed=1, storage=storage, compare=False)
    # a local search from the starts of a longer study may end worse
    monkeypatch.setattr(sampler, "_downhill", lambda start: start)
    more = dse.solve(NBODY, sampler="random", trials=16, seed=1, storage=storage, compare=False)
    assert more.objective == first.objective
    assert more.variables == first.variables
    # of a stranger's study it is data
    kept(storage).set_user_attr(studies.BEST, {"processors": 3.0})
    with pytest.raises(StudyError, match="its best design is none of this question"):
        dse.solve(NBODY, sampler="random", trials=16, seed=1, storage=storage, compare=False)


@pytest.mark.parametrize(
    ("decide", "best"),
    [
        # not whole, not in its list, below what a number of processors can be, and none
        ({"processors": {"max": 4096, "integer": True}}, {"processors": 3000.5}),
        ({"processors": {"values": [1000, 2000, 4000]}}, {"processors": 3000.0}),
        ({"processors": {"max": 4096, "integer": False}}, {"processors": 0.5}),
        ({"memory": {}, "processors": {"max": 4096}}, {"processors": 2000.0, "memory": -1.0}),
        ({"memory": {}, "processors": {"max": 4096}}, {"processors": 2000.0, "memory": math.nan}),
    ],
)
def test_a_kept_design_that_is_not_allowed_is_refused(
    decide: dict[str, Any], best: dict[str, float], storage: str
) -> None:
    given = {"bodies": 1e5, "flops_per_pair": 10} | ({} if "memory" in decide else {"memory": 2e3})
    asked = NBODY | {"given": given, "decide": decide, "objective": {"minimize": "time"}, "limits": {}}
    dse.solve(asked, sampler="random", trials=4, seed=1, storage=storage, compare=False)
    # what dse itself keeps is read again
    dse.solve(asked, sampler="random", trials=5, seed=1, storage=storage, compare=False)
    kept(storage).set_user_attr(studies.BEST, best)
    with pytest.raises(StudyError, match="its best design is none of this question"):
        dse.solve(asked, sampler="random", trials=5, seed=1, storage=storage, compare=False)


def test_the_same_seed_gives_the_same_study(tmp_path: Path) -> None:
    found = [
        dse.solve(NBODY, trials=10, seed=3, storage=str(tmp_path / name), compare=False)
        for name in ("a.db", "b.db")
    ]
    assert found[0].variables == found[1].variables
    in_memory = dse.solve(NBODY, trials=10, seed=3, compare=False)
    assert in_memory.variables == found[0].variables


def test_the_study_says_what_was_asked(storage: str) -> None:
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    study = kept(storage)
    told = study.user_attrs
    assert told[studies.TITLE] == "n-body in 50 ms"
    assert 'model = "nbody"' in told[studies.SCENARIO]
    assert study.metric_names == ["energy"]
    trial = study.get_trials()[0]
    assert set(trial.params) == {"processors", "memory"}
    assert set(trial.constraints) == {"limits"}


CHANGES: list[dict[str, Any]] = [
    {"limits": {"time": {"max": 0.06}}},
    {"given": {"bodies": 1.01e5, "flops_per_pair": 10}},
    {"objective": {"minimize": "time"}},
    {"objective": {"maximize": "energy"}},
    {"decide": {"processors": {"max": 4000, "integer": True}, "memory": {}}},
    {"machine": "jaketown", "limits": {}},
]


def test_a_study_of_another_question_is_refused(storage: str) -> None:
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    for change in CHANGES:
        with pytest.raises(StudyError, match=r"another question \(n-body in 50 ms\)"):
            dse.solve(NBODY | change, trials=2, storage=storage)
    assert states(kept(storage)) == {"COMPLETE": 2}
    # under another name the same file takes it
    dse.solve(NBODY | CHANGES[0], trials=2, storage=storage, study="mine", compare=False)
    assert states(kept(storage, "mine")) == {"COMPLETE": 2}


def test_a_title_or_a_gap_is_no_other_question(storage: str) -> None:
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    dse.solve(NBODY | {"title": "better words", "gap": 1e-3}, trials=3, storage=storage, compare=False)
    assert states(kept(storage)) == {"COMPLETE": 3}


def test_a_study_with_other_numbers_of_objectives_or_not_ours_is_refused(storage: str) -> None:
    optuna.create_study(study_name="theirs", storage=databases.url(storage)).enqueue_trial({"x": 1.0})
    with pytest.raises(StudyError, match="was not made by dse"):
        dse.solve(NBODY, trials=2, storage=storage, study="theirs")
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    with pytest.raises(StoreError, match="study"):
        dse.front(NBODY | {"objective": {"minimize": ["energy", "time"]}}, trials=2, storage=storage)


def test_a_study_of_another_version_is_refused(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    monkeypatch.setattr(studies, "VERSION", "99.0")
    with pytest.raises(StudyError, match=r"this is dse 99\.0"):
        dse.solve(NBODY, trials=3, storage=storage)


@pytest.mark.parametrize("where", ["no/such/folder/study.db", "postgresql://nobody@127.0.0.1:1/none"])
def test_where_nothing_can_be_kept_is_said(where: str, tmp_path: Path) -> None:
    where = where if "://" in where else str(tmp_path / where)
    with pytest.raises(StudyError, match=r"no study can be kept there|needs a driver") as refused:
        dse.solve(NBODY, trials=2, storage=where)
    assert str(refused.value).startswith(where)


def test_a_database_of_another_program_gets_no_tables(storage: str) -> None:
    with sqlite3.connect(storage) as theirs:
        theirs.execute("CREATE TABLE a (b)")
    with pytest.raises(StudyError, match="a database of another program"):
        dse.solve(NBODY, trials=2, storage=storage)
    with sqlite3.connect(storage) as theirs:
        assert theirs.execute("SELECT name FROM sqlite_master").fetchall() == [("a",)]


@pytest.mark.parametrize("part", [slice(0, 100), slice(4096, 40000)])
def test_a_damaged_database_is_called_damaged(part: slice, storage: str) -> None:
    dse.solve(NBODY, trials=2, storage=storage, compare=False)
    with sqlite3.connect(storage) as mine:
        mine.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("-wal", "-shm"):
        Path(storage + name).unlink(missing_ok=True)
    data = bytearray(Path(storage).read_bytes())
    data[part] = b"x" * len(data[part])
    Path(storage).write_bytes(data)
    with pytest.raises(StudyError, match="it is damaged, or no database of trials"):
        dse.solve(NBODY, trials=3, storage=storage, compare=False)


def test_a_front_is_kept_too(storage: str) -> None:
    asked = NBODY | {"objective": {"minimize": ["energy", "time"]}, "limits": {}}
    found = dse.front(asked, trials=20, storage=storage, compare=False)
    assert states(kept(storage)) == {"COMPLETE": 20}
    best = {tuple(t.values) for t in kept(storage).best_trials}
    told = set(zip(found["energy"].values.tolist(), found["time"].values.tolist(), strict=True))
    # Optuna keeps designs apart that differ by rounding
    assert told <= best


def test_the_study_opens_in_the_dashboard(storage: str) -> None:
    """Through its own application, as its server serves it."""
    dashboard = pytest.importorskip("optuna_dashboard", reason="the extra dashboard is not installed")
    dse.solve(NBODY, trials=3, storage=storage, compare=False)
    with sampler.quiet():
        app = dashboard.wsgi(databases.url(storage))
    told: dict[str, Any] = {}

    def get(path: str) -> Any:
        asked = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "SERVER_NAME": "here",
            "SERVER_PORT": "80",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "QUERY_STRING": "after=0",
        }
        body = b"".join(app(asked, lambda status, headers, *_: told.update(status=status)))
        assert told["status"].startswith("200"), body
        return json.loads(body)

    (summary,) = get("/api/studies")["study_summaries"]
    assert summary["study_name"] == "dse"
    detail = get(f"/api/studies/{summary['study_id']}")
    assert len(detail["trials"]) == 3
    assert {p["name"] for p in detail["trials"][0]["params"]} == {"processors", "memory"}
    assert detail["trials"][0]["state"] == "Complete"
    assert len(detail["trials"][0]["values"]) == 1


cloudpickle.register_pickle_by_value(sys.modules[__name__])
