"""One of most kinds of what can happen to a sweep; `make crash` tries every kind twenty times, at random moments."""

from collections.abc import Callable
from pathlib import Path

import crashes
import pytest
import xarray as xr

import dse

pytestmark = pytest.mark.slow
SEED = 1
"""The same in every run: the suite tells what a change did, `make crash` looks for what nobody thought of."""


@pytest.fixture(scope="module")
def undisturbed(made_once: Callable[[str, Callable[[Path], object]], Path]) -> xr.Dataset:
    return dse.open(made_once("undisturbed", crashes.undisturbed) / "s.zarr").load()


@pytest.mark.parametrize("kind", sorted(crashes.KINDS.keys() - crashes.LONG))
def test_the_store_is_the_same_whatever_happens(kind: str, tmp_path: Path, undisturbed: xr.Dataset):
    try:
        crashes.tried(kind, tmp_path, SEED, undisturbed)
    except crashes.NotPossible as reason:
        pytest.skip(str(reason))
