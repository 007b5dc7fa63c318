"""Optimal ranges where a maximum is flat: the ends of all designs that are as good, by a scan of them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from formulations.tolerances import TIE
from results.solution import Solution
from solvers.geometric.programs import nudges, ties

MOST = 100.0
STEPS = {"given": 400_000, "whole": 400_000, "divisible": 40_000}
"""How many steps of y are scanned, for each value of n."""


def asked(random: np.random.Generator, whole: str) -> dict[str, Any]:
    """The larger of a power of y and a number, least where it is flat, with limits that hold sums and differences.

    ``whole``: whether n is whole, divisible, or given.
    """
    power = float(random.choice([-1.0, -0.5, 0.5, 1.0]))
    level = float(random.uniform(0.5, 2.0))
    # where the power takes over: near one end, beyond it, or in the middle
    there = float(np.exp(random.uniform(np.log(0.3), np.log(300.0))))
    a, b, c = (float(v) for v in random.uniform(0.3, 3.0, 3))
    n = {"whole": {"min": 3, "max": 4, "integer": True}, "divisible": {"min": 3, "max": 4}}.get(whole)
    count = "3" if n is None else "n"
    question = {
        "model": "fft",
        "machine": "balanced",
        "given": {"points": 1024, "all_to_all": "tree", "processors": 1},
        "decide": {"y": {"min": 1, "max": MOST}} | ({} if n is None else {"n": n}),
        "define": {
            "height": f"maximum({level / there**power!r} * y**({power!r}), {level!r})",
            "price": f"{a!r} * {count} * height + y / {count}",
            "left": f"{b!r} * y - {c!r} * height",
        },
        "objective": {"minimize": "height", "ties": ["y"]},
    }
    limits: dict[str, Any] = {}
    for name, low, high in (("price", 4.0, 14.0), ("left", 2.0, 60.0)):
        least, most = float(random.uniform(low / 2, low)), float(random.uniform(high / 2, high))
        limits[name] = [{"min": least, "max": most}, {"min": least}, {"max": most}][int(random.integers(3))]
    return question | {"limits": limits}


def scanned(question: dict[str, Any], steps: int) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of each decided number among the best designs of a fine scan."""
    n = question["decide"].get("n")
    counts = (
        np.array([3.0]) if n is None else np.array([3.0, 4.0]) if "integer" in n else np.linspace(3, 4, 101)
    )
    y, count = np.geomspace(1.0, MOST, steps + 1)[None, :], counts[:, None]
    names: dict[str, Any] = {"y": y, "n": count, "maximum": np.maximum}
    for name, text in question["define"].items():
        names[name] = eval(text, {"__builtins__": {}}, names)
    good = np.ones(np.broadcast_shapes(y.shape, count.shape), bool)
    for name, bounds in question["limits"].items():
        good &= names[name] <= bounds.get("max", np.inf)
        good &= names[name] >= bounds.get("min", -np.inf)
    height = np.where(good, names["height"], np.inf)
    best = np.isfinite(height) & (height <= height.min() * (1 + TIE))
    if not best.any():
        return {}
    found = {"y": np.broadcast_to(y, best.shape)[best]} | (
        {} if n is None else {"n": np.broadcast_to(count, best.shape)[best]}
    )
    return {name: (float(v.min()), float(v.max())) for name, v in found.items()}


def agrees(found: Solution, question: dict[str, Any], steps: int) -> None:
    """The answer's ranges are those of the scan, and its y is the least of them, as ties want it."""
    ends, close = scanned(question, steps), 2 * np.log(MOST) / steps
    if not ends:
        assert not found.variables
        return
    assert found.status.value == "optimal"
    for name, both in ends.items():
        # what is divisible and reaches less than a hundredth is told as one number
        told = found.ranges.get(name, (found.variables[name],) * 2)
        near = 1e-2 if name == "n" or name not in found.ranges else close
        assert told == pytest.approx(both, rel=near), name
    assert found.variables["y"] == pytest.approx(ends["y"][0], rel=close)


@pytest.mark.parametrize(
    ("whole", "seed"),
    [("given", 1), ("given", 2), ("divisible", 1), ("divisible", 2), ("whole", 1), ("whole", 2)],
)
def test_ranges_are_those_of_all_designs_that_are_as_good(whole: str, seed: int) -> None:
    question = asked(np.random.default_rng(seed), whole)
    found = dse.solve(question)
    agrees(found, question, STEPS[whole])
    assert ties.UNRANGED not in found.certificate


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 112))
@pytest.mark.parametrize("whole", ["given", "divisible", "whole"])
def test_many_ranges_are_those_of_all_designs_that_are_as_good(whole: str, seed: int) -> None:
    question = asked(np.random.default_rng(seed), whole)
    agrees(dse.solve(question), question, STEPS[whole])


FLAT: dict[str, Any] = {
    "model": "fft",
    "machine": "balanced",
    "given": {"points": 1024, "all_to_all": "tree", "processors": 1},
    "decide": {"y": {"min": 1, "max": MOST}},
    "define": {"height": "maximum(0.17 * y**-0.5, 5)", "left": "y - height / 10"},
    "objective": {"minimize": "height"},
    "limits": {"left": {"min": 2, "max": 60}},
}


def test_ranges_of_a_sweep_are_those_of_each_point() -> None:
    axis = {"d": {"path": "limits.left.max", "values": [40, 60]}}
    made = dse.sweep({**FLAT, "sweep": axis}, progress=False, audit=0, depth="full")
    for i, most in enumerate((40.5, 60.5)):
        told = [float(made[f"range_{end}"].sel(decided_number="y")[i]) for end in ("low", "high")]
        assert told == pytest.approx([2.5, most], rel=1e-8)


def test_what_a_whole_number_lets_range_is_told_of_all_its_values() -> None:
    """y is 1 to 60 where n is 3, to 80 where it is 4; n is as good as any, too, and ties go to the least."""
    asked = {
        **FLAT,
        "decide": {"y": {"min": 1, "max": MOST}, "n": {"min": 3, "max": 4, "integer": True}},
        "define": {"height": "maximum(0.17 * y**-0.5, 5)", "price": "y / n"},
        "limits": {"price": {"max": 20}},
    }
    found = dse.solve(asked)
    assert found.ranges["y"] == pytest.approx((1.0, 80.0), rel=1e-8)
    assert found.ranges["n"] == pytest.approx((3, 4))
    assert found.variables["y"] == pytest.approx(1.0)


def test_an_end_that_is_not_proved_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one node no search for an end is closed: the range that is told is a part, and the certificate says so."""
    monkeypatch.setattr(nudges, "MOST_END_NODES", 1)
    found = dse.solve(FLAT)
    assert ties.UNRANGED in found.certificate
    low, high = found.ranges.get("y", (found.variables["y"],) * 2)
    assert 2.5 * (1 - 1e-8) <= low <= high <= 60.5 * (1 + 1e-8)
