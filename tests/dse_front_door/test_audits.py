"""Every chunk is judged as it is stored, points are answered again, and a sweep whose audit fails says so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
import results.dataset
import results.stores.store
import scenarios
from dse.cli import main
from dse.sweeping import audits, targets
from dse.sweeping.points import chunk_work, one_by_one, piecewise
from dse.sweeping.points.study import Study
from solvers import many_points, paths
from solvers.answer import NO_REASON


class Wrongly:
    """A fast way that answers every point, and one of them wrongly."""

    method, kind, work = "made up for a test", "point", 0.1

    def __init__(self, way: Any, wrong: tuple[int, ...], factor: float) -> None:
        self.grid, self.wrong, self.factor = way, wrong, factor

    def solve(self, plan: Any, region: tuple[slice, ...], asked: Any = None) -> Any:
        found = [one_by_one.answered(self.grid, place) for place in one_by_one.places(region)]
        shape = tuple(s.stop - s.start for s in region)
        arrays = results.dataset.to_arrays(plan, found, shape)
        left = np.zeros(shape, bool)
        if all(s.start <= i < s.stop for s, i in zip(region, self.wrong, strict=True)):
            at = tuple(i - s.start for i, s in zip(self.wrong, region, strict=True))
            arrays["objective"][at] *= self.factor
            arrays["bound"][at] *= self.factor
        # one point is left over
        left[(0,) * len(shape)] = True
        return arrays, left


WRONG = (5, 1)


@pytest.fixture
def wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "chosen", lambda grid: many_points.Choice(Wrongly(grid, WRONG, 1.01)))


@pytest.fixture
def rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "chosen", lambda grid: many_points.Choice(Wrongly(grid, WRONG, 1.0)))


def test_a_wrong_answer_of_a_fast_way_fails_the_sweep(grid_file: Any, tmp_path: Path, wrongly: None):
    found = CliRunner().invoke(
        main, ["sweep", str(grid_file(8)), "-o", str(tmp_path / "s.zarr"), "--workers", "1"]
    )
    assert found.exit_code == 1, found.output
    assert f"point {WRONG}, objective: differs from what the model computes" in found.output
    told = json.loads(dse.open(tmp_path / "s.zarr").attrs["audit"])
    assert told["passed"] is False
    assert told["wrong"] == 1
    assert told["points"] == 24


def test_what_was_left_over_is_counted(
    grid_file: Any, tmp_path: Path, rightly: None, monkeypatch: pytest.MonkeyPatch
):
    # this way leaves one point of each block over: a chunk is to be one
    monkeypatch.setattr(piecewise.Pace, "of_piece", lambda self, points, *_: points)
    found = dse.sweep(grid_file(8), tmp_path / "s.zarr", workers=1, progress=False)
    chunks = len(results.stores.store.done(tmp_path / "s.zarr"))
    assert found.attrs["points_solved_singly"] == chunks
    assert dse.status(tmp_path / "s.zarr")["points_solved_singly"] == chunks
    # this way keeps no reason, and that is told
    assert json.loads(found.attrs["left_over"]) == {NO_REASON: chunks}
    memory = dse.sweep(grid_file(8), workers=1, progress=False)
    own = {"format", "identity"}
    assert memory.attrs == {name: told for name, told in found.attrs.items() if name not in own}
    assert json.loads(found.attrs["audit"])["passed"] is True


def test_points_are_answered_again_by_other_means(grid_file: Any, tmp_path: Path):
    found = dse.sweep(grid_file(8), tmp_path / "s.zarr", workers=1, progress=False, audit=4)
    told = json.loads(found.attrs["audit"])
    assert (told["solved_again"], told["agree"], told["differ"]) == (4, 4, 0)
    assert told["largest_difference_solved_again"] <= audits.SOLVERS_AGREE


def stored(file: Path) -> tuple[Any, Study, Any]:
    asked = scenarios.load(file)
    at = chunk_work.ready(scenarios.grid(asked))
    return at, Study(asked.text, asked.file, (1, 1)), dse.sweep(asked, workers=1, progress=False).load()


def test_an_optimum_that_is_none_is_found_by_another_solver(grid_file: Any):
    at, study, dataset = stored(grid_file(8))
    place = tuple(int(i) for i in np.argwhere(dataset.status.values == 1)[0])
    clash = tuple(int(i) for i in np.argwhere(dataset.status.values == 3)[0])
    fine = audits.again(at, study, dataset, [place, clash])
    assert (fine.agree, fine.differ) == (2, 0)
    # 1 percent worse than the optimum, with a bound and a gap that say it is one
    dataset.objective.values[place] *= 1.01
    dataset.bound.values[place] *= 1.01
    dataset.status.values[clash] = 1
    told = audits.again(at, study, dataset, [place, clash])
    assert told.differ == 1
    assert told.examples[0].place == place
    assert "finds a better design" in told.examples[0].what


def test_the_next_run_completes_an_audit_whose_process_was_killed(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked, real = grid_file(8), audits._of_child
    died: list[int] = []

    def killed(at: Any, study: Any, places: Any, child: Any) -> Any:
        """Answer the first point; then the process is gone, as often as it is started."""
        if not died:
            yield next(real(at, study, places))
            places = places[1:]
        died.append(len(places))
        yield places[0], audits.Opinion(audits.Status.ERROR, message=audits.ENDED)

    with monkeypatch.context() as patch:
        patch.setattr(audits, "_of_child", killed)
        told = dse.sweep(asked, tmp_path / "s.zarr", workers=1, progress=False, audit=3).attrs["audit"]
    # each of the other two is asked twice
    assert died == [2, 2, 1, 1]
    assert (json.loads(told)["agree"], json.loads(told)["cut_off"]) == (1, 2)
    told = json.loads(dse.sweep(asked, tmp_path / "s.zarr", workers=1, progress=False).attrs["audit"])
    assert (told["solved_again"], told["agree"]) == (3, 3)
    assert "cut_off" not in told


def test_small_sweeps_are_not_slowed_down(grid_file: Any):
    at, _, _ = stored(grid_file(8))
    assert audits.wanted(at, None) == 0
    assert audits.wanted(at, 5) == 5
    assert audits.wanted(at, 10**6) == 24


def test_the_draw_is_the_same_each_time_and_without_repetition(grid_file: Any):
    at, _, _ = stored(grid_file(8))
    drawn = audits.drawn(at, 10)
    assert drawn == audits.drawn(at, 10)
    assert len(set(drawn)) == 10


def test_failed_points_are_solved_again_when_asked(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "chosen", lambda grid: many_points.Choice())
    whole, asked = one_by_one.answer, grid_file(8)
    count = iter(range(1000))

    def failing(question: Any, **options: Any) -> Any:
        if next(count) in {3, 4}:
            raise RuntimeError("out of luck")
        return whole(question, **options)

    with monkeypatch.context() as patch:
        patch.setattr(one_by_one, "answer", failing)
        first = dse.sweep(asked, tmp_path / "s.zarr", workers=1, progress=False).load()
    assert int((first.status == 5).sum()) == 2
    assert dse.status(tmp_path / "s.zarr")["failed"] == 2
    same = dse.sweep(asked, tmp_path / "s.zarr", workers=1, progress=False).load()
    assert int((same.status == 5).sum()) == 2
    again = dse.sweep(asked, tmp_path / "s.zarr", workers=1, progress=False, retry_failed=True).load()
    assert int((again.status == 5).sum()) == 0
    assert dse.status(tmp_path / "s.zarr")["failed"] == 0
    changed = first.status.values == 5
    np.testing.assert_array_equal(first.objective.values[~changed], again.objective.values[~changed])
    assert dse.verify(tmp_path / "s.zarr", audit=0, progress=False).passed


def test_the_status_of_a_store_without_reading_its_numbers(grid_file: Any, tmp_path: Path):
    store = tmp_path / "s.zarr"
    dse.sweep(grid_file(14), store, workers=1, progress=False)
    told = dse.status(store)
    assert told["points"] == told["done"] == 42
    assert told["pending"] == told["failed"] == 0
    assert sum(told["statuses"].values()) == 42
    assert told["running"] is None
    results.stores.store.forget(store, (0, 0))
    told = dse.status(store)
    assert told["pending"] == 42 - told["done"] > 0
    assert told["chunks_done"] == told["chunks"] - 1
    run = CliRunner()
    text = run.invoke(main, ["sweep", "--status", str(store)])
    assert text.exit_code == 0, text.output
    assert f"pending  {told['pending']} in 1 of {told['chunks']} chunks" in text.output
    assert json.loads(run.invoke(main, ["sweep", "--status", str(store), "--json"]).stdout) == told
    assert run.invoke(main, ["sweep", "--status", str(store / "none")]).exit_code == 2
    assert run.invoke(main, ["sweep", "-o", str(store)]).exit_code == 2


def test_another_machine_or_other_equations_are_another_sweep(
    grid_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = tmp_path / "s.zarr"
    dse.sweep(grid_file(8), store, workers=1, progress=False)
    real = targets.fingerprints
    monkeypatch.setattr(
        "dse.sweeping.targets.fingerprints",
        lambda model: real(model) | {"dse.models.algorithms.nbody": "changed"},
    )
    with pytest.raises(results.stores.store.StoreError) as refusal:
        dse.sweep(grid_file(8), store, workers=1, progress=False)
    assert "the equations in dse.models.algorithms.nbody are not those of the stored sweep" in str(
        refusal.value
    )
    assert "belongs to another sweep (" in str(refusal.value)
