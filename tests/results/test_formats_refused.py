"""What cannot be written in a format is refused, and a file that is there stays as it was."""

import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from results import flat
from results.export import formats, netcdf
from results.stores.files.trouble import StoreError


def test_what_nobody_could_write_is_refused_at_once(ds: xr.Dataset, tmp_path: Path):
    with pytest.raises(formats.ExportError, match=r"what kind of file is meant\? The name may end in \.csv"):
        formats.write(ds, tmp_path / "x.xlsx")
    with pytest.raises(formats.ExportError, match=r"columns are chosen for tables and pictures"):
        formats.write(ds, tmp_path / "x.nc", ["energy"])
    with pytest.raises(formats.ExportError, match=r"no column 'enrgy'; did you mean 'energy'"):
        formats.write(ds, tmp_path / "x.csv", ["enrgy"])
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(formats.ExportError, match=r"left untouched"):
        formats.write(ds, tmp_path / "x.zarr")
    with pytest.raises(formats.ExportError, match=r"no points to draw"):
        formats.write(ds.isel(deadline=0, machine=0, drop=True), tmp_path / "x.png")
    assert {p.name for p in tmp_path.iterdir()} == {"x.zarr"}


@pytest.mark.parametrize(("ending", "package"), [(".nc", "h5netcdf"), (".parquet", "pyarrow")])
def test_a_missing_package_is_named_with_the_line_to_type(
    ds: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(formats.ExportError, match=rf"needs {package}: pip install 'codesign-dse\[export\]'"):
        formats.write(ds, tmp_path / f"x{ending}")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays_whole_where_writing_fails(
    ds: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for ending in (".csv", ".jsonl", ".parquet", ".nc", ".md"):
        file = tmp_path / f"x{ending}"
        file.write_text("before", encoding="utf-8")

        def torn(*_: Any) -> Any:
            raise OSError(28, "full")

        monkeypatch.setattr(flat, "pieces", torn)
        monkeypatch.setattr(netcdf, "encoded", torn) if ending == ".nc" else None
        with pytest.raises((StoreError, OSError)):
            formats.write(ds, file)
        assert file.read_text(encoding="utf-8") == "before"
        monkeypatch.undo()
    assert not list(tmp_path.glob("*.partial"))
