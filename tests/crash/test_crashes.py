"""One of most kinds of what can happen to a sweep; `make crash` tries every kind twenty times."""

import time
from pathlib import Path

import crashes
import pytest
import xarray as xr

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    return crashes.undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("kind", sorted(crashes.KINDS.keys() - crashes.LONG))
def test_the_store_is_the_same_whatever_happens(kind: str, tmp_path: Path, undisturbed: xr.Dataset):
    try:
        # another moment each time; the seed is in the failure's message through the folder of the run
        crashes.tried(kind, tmp_path, time.time_ns(), undisturbed)
    except crashes.NotPossible as reason:
        pytest.skip(str(reason))
