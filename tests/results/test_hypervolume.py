"""Hypervolumes over trials: against cells counted one by one, and what a dataset says of them."""

import itertools
import json

import numpy as np
import pytest
import xarray as xr

from results.along_fronts import hypervolume
from results.along_fronts.hypervolume import Growth


def counted(values: np.ndarray, corner: np.ndarray) -> float:
    """The volume that points better, summed over the cells between all their coordinates."""
    edges = [np.unique(np.append(np.minimum(v, c), c)) for v, c in zip(values.T, corner, strict=True)]
    total = 0.0
    for cell in itertools.product(*(range(len(e) - 1) for e in edges)):
        low = np.array([e[i] for e, i in zip(edges, cell, strict=True)])
        if (values <= low).all(axis=1).any():
            total += float(np.prod([e[i + 1] - e[i] for e, i in zip(edges, cell, strict=True)]))
    return total


@pytest.mark.parametrize("goals", [2, 3, 4])
def test_each_trial_adds_what_it_betters(goals: int):
    dice = np.random.default_rng(goals)
    values = dice.random((9, goals))
    values[4] = values[2]
    corner = np.full(goals, 0.9)
    trials = [1, 2, 3, 5, 6, 7, 10, 11, 12]
    found = hypervolume.volumes(values, trials, 15, corner)
    for trial in range(15):
        known = values[[t <= trial for t in trials]]
        # sums of a few products of numbers near 1
        assert found[trial] == pytest.approx(counted(known, corner) if len(known) else 0.0, abs=1e-12)
    assert found[0] == 0
    assert found[-1] > 0


def test_the_reference_point_lies_a_tenth_beyond_the_worst():
    front = np.array([[1.0, 40.0, -7.0], [3.0, 20.0, -7.0]])
    assert hypervolume.reference(front) == pytest.approx([3.2, 42.0, -6.3])
    assert hypervolume.reference(np.array([[5.0, 0.0]])) == pytest.approx([5.5, 0.1])


def test_a_dataset_has_it_along_trials_and_words_say_when_it_was_reached():
    growth = Growth((0.0, 5.0, 9.1, 9.1, 10.0), {"energy": 3e3, "speed": 20.0}, "J*m/s")
    assert [growth.reached(share) for share in (0.5, 0.9, 1.0)] == [2, 3, 5]
    assert growth.words({"energy": "J", "speed": "m/s"}) == (
        "Hypervolume 10 J*m/s up to energy 3 kJ, speed 20 m/s; 90% of it after 3, 99% of it after 5 of 5 trials"
    )
    found = hypervolume.with_growth(xr.Dataset({"energy": ("front", [1.0])}), growth)
    assert found["hypervolume"].dims == ("trial",)
    assert found["trial"].values.tolist() == [1, 2, 3, 4, 5]
    assert found["hypervolume"].attrs["units"] == "J*m/s"
    assert json.loads(found.attrs["hypervolume_reference"]) == {"energy": 3e3, "speed": 20.0}
