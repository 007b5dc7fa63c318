"""A store is continued and verified by a processor whose exponentials have other last digits."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import results.stores.store
import scenarios
from dse.sweeping.checks import checking
from results.stores import identities
from scenarios.axes import axes
from solvers.sampling import studies


def elsewhere(steps: Callable[..., tuple[float, ...]]) -> Callable[..., tuple[float, ...]]:
    """Return the steps of an axis as a library computes them whose powers end in another bit."""

    def made(*told: Any) -> tuple[float, ...]:
        start, *between, stop = steps(*told)
        return (start, *(math.nextafter(v, math.inf) for v in between), stop)

    return made


def test_a_sweep_begun_on_one_processor_is_continued_on_another(
    grid_file: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = grid_file(30), tmp_path / "s.zarr"
    first = dse.sweep(file, store, workers=1, progress=False).load()
    results.stores.store.forget(store, max(results.stores.store.done(store)))
    monkeypatch.setattr(axes, "_steps", elsewhere(axes._steps))
    deadlines = scenarios.grid(scenarios.load(file)).axes[0].values
    assert (first.deadline.values != deadlines).sum() == 28
    again = dse.sweep(file, store, workers=1, progress=False).load()
    for name in ("deadline", "objective", "processors", "memory"):
        # the condition of a problem with a deadline is near 1; gaps are 1e-6
        np.testing.assert_allclose(first[name], again[name], rtol=3e-6, err_msg=name)
    verdict = dse.verify(store, audit=0)
    assert verdict.passed, verdict.troubles


def test_numbers_that_differ_by_more_are_another_sweep(
    grid_file: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = grid_file(30), tmp_path / "s.zarr"
    dse.sweep(file, store, workers=1, progress=False)
    steps = axes._steps
    monkeypatch.setattr(axes, "_steps", lambda *told: tuple(v * (1 + 1e-9) for v in steps(*told)))
    with pytest.raises(
        results.stores.store.StoreError, match=r"grid\.deadline\.first: asked 0\.001\d+, stored 0\.001"
    ):
        dse.sweep(file, store, workers=1, progress=False)


def test_values_that_are_typed_are_the_same_on_another_processor(deadline: Path) -> None:
    """``850 mV`` is divided by a power of ten, which rounds one way or the other."""
    asked = scenarios.grid(scenarios.load(deadline)).question(())
    given = {k: v * (1 + 2**-52) if isinstance(v, float) else v for k, v in asked.given.items()}
    assert given != asked.given
    assert studies.identity(asked) == studies.identity(replace(asked, given=given))
    more = {k: v * (1 + 1e-9) if isinstance(v, float) else v for k, v in asked.given.items()}
    assert studies.identity(asked) != studies.identity(replace(asked, given=more))


def test_a_stored_choice_is_one_of_the_list_whatever_its_last_bit() -> None:
    allowed = (0.85, 1e3, 2.5e-12)
    found = np.array(
        [0.85, math.nextafter(0.85, 1), math.nextafter(2.5e-12, 0), 1e3, 2e3, 0.8501, 0.1, np.nan]
    )
    assert checking._among_allowed(found, allowed).tolist() == [True] * 4 + [False] * 4
    assert checking._among_allowed(found[:1], (0.85,)).all()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], [1.0, math.nextafter(2.0, 3.0)], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-9], False),
        ([1.0, 2.0], [1.0], False),
        (["a", "b"], ["a", "c"], False),
        ({"values": 30, "last": 1.0}, {"values": 31, "last": 1.0}, False),
        ({"first": 0.1 + 0.2}, {"first": 0.3}, True),
    ],
)
def test_numbers_of_identities_are_compared_to_twelve_digits(one: Any, other: Any, same: bool) -> None:
    assert (not list(identities.differences({"x": one}, {"x": other}))) is same
    assert (identities.digest({"x": one}) == identities.digest({"x": other})) is same
