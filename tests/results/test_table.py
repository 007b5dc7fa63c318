"""A CSV table holds every point, with units in its header and words for codes."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from results import dataset, flat
from results.dataset import Arrays, Layout
from results.export import table
from results.stores.store import StoreError

Fill = Callable[[tuple[slice, ...]], Arrays]


@pytest.fixture
def rows(plan: Layout, arrays_of: Fill, tmp_path: Path) -> list[dict[str, str]]:
    ds = dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))
    with table.to_csv(ds, tmp_path / "out" / "points.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_one_row_per_point_in_order(rows: list[dict[str, str]]):
    assert len(rows) == 120
    assert [r["deadline [s]"] for r in rows[:3]] == ["1.0", "1.0", "2.0"]
    assert [r["machine"] for r in rows[:3]] == ["small", "large", "small"]


def test_cells_are_numbers_words_or_empty(rows: list[dict[str, str]]):
    optimal, error, infeasible = rows[0], rows[1], rows[3]
    assert (optimal["status"], error["status"], infeasible["status"]) == ("optimal", "error", "infeasible")
    assert optimal["energy [J]"] == "1.0"
    assert error["energy [J]"] == ""
    assert error["message"] == "gave up at 2.0"
    assert optimal["elasticity time"] == "-0.7"
    assert optimal["binding time"] == "binding"
    assert infeasible["binding time"] == "conflicting"


def test_pieces_join_without_a_seam(
    plan: Layout, arrays_of: Fill, rows: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(flat, "ROWS", 7)
    ds = dataset.to_dataset(plan, arrays_of(tuple(slice(0, n) for n in plan.shape)))
    with table.to_csv(ds, tmp_path / "pieces.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == rows


def test_a_target_that_cannot_be_written_is_reported(plan: Layout, tmp_path: Path):
    ds = dataset.to_dataset(plan, dataset.blank(plan))
    (tmp_path / "file").write_text("precious")
    with pytest.raises(StoreError, match="is a file, not a directory"):
        table.to_csv(ds, tmp_path / "file" / "x.csv")
    (tmp_path / "directory.csv").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        table.to_csv(ds, tmp_path / "directory.csv")
    assert [f.name for f in tmp_path.iterdir() if f.suffix == ".partial"] == []
