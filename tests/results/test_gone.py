"""A store that somebody takes away while it is written is not made again."""

from pathlib import Path

import pytest
import zarr

from results.stores.checked import Standing, Written


def test_no_folder_is_made_again_for_a_store_that_is_gone(tmp_path: Path):
    zarr.create_group(tmp_path / "s.zarr").create_array("time", shape=(4,), chunks=(2,), dtype="f8")
    opened = Standing(tmp_path / "s.zarr")
    held = zarr.open_group(Written(opened), mode="r+")["time"]
    held[:2] = 1.0
    (tmp_path / "s.zarr").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        held[2:] = 1.0
    with pytest.raises(FileNotFoundError):
        zarr.open_group(Written(Standing(tmp_path / "s.zarr")), mode="r+")
    assert not (tmp_path / "s.zarr").exists()
