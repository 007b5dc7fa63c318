"""A study of worlds whose process is killed is continued, and worlds added later are those of the same sequence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import results.stores.store

STUDY = """
[uncertain]
bodies                    = { uniform = [0.8e5, 1.2e5] }
"machine.energy_per_flop" = { lognormal = ["100 pJ/flop", 1.2] }

[uncertain.sampling]
samples = 40
seed    = 7
method  = "METHOD"
"""


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    """All numbers and all worlds are the same to the bit; the time that they took is not asked."""
    assert set(one.variables) == set(other.variables)
    for name in set(one.variables) - {"seconds"}:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=str(name))


@pytest.mark.slow
@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("method", ["sobol", "random"])
def test_a_killed_study_has_the_numbers_of_an_undisturbed_one(
    deadline: Path, start: Any, waiting: Any, tmp_path: Path, method: str
):
    """``kill -9`` after the first chunk; then more worlds, of which the first are those that were there."""
    deadline.write_text(deadline.read_text() + STUDY.replace("METHOD", method))
    store = tmp_path / "w.zarr"
    process = start("uncertainty", "deadline.toml", "-o", "w.zarr", "--workers", "1", hold=1)
    waiting(lambda: results.stores.store.exists(store) and results.stores.store.done(store))
    process.kill()
    process.communicate()
    (kept,) = results.stores.store.done(store)
    when = results.stores.store.notes(store, [kept])[kept]["written"]
    partly = int(np.count_nonzero(dse.open(store)["status"].values))
    assert 0 < partly < 40

    continued = dse.uncertainty(deadline, store, workers=1, progress=False)
    undisturbed = dse.uncertainty(deadline, workers=1, progress=False)
    assert results.stores.store.notes(store, [kept])[kept]["written"] == when
    same(continued.samples, undisturbed.samples)
    ours, theirs = continued.record(), undisturbed.record()
    assert ours == theirs

    before = continued.samples.load()
    more = dse.uncertainty(deadline, store, samples=60, workers=1, progress=False)
    same(before, more.samples.isel(sample=slice(0, 40)))
    same(more.samples, dse.uncertainty(deadline, samples=60, workers=1, progress=False).samples)
    assert results.stores.store.verify(store) == {}
