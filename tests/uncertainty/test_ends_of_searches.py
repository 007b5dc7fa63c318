"""No answer over many worlds rests on an end of a search that the user did not set: here 1e-30 to 1e30 s/flop."""

from __future__ import annotations

from typing import Any

import pytest

import dse

X = "(machine.time_per_flop * 1 flop / 1 s)"
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mean": ({"minimize": "share", "measure": "mean"}, {}),
    "cvar": ({"minimize": "share", "cvar": 0.8}, {}),
    "quantile": ({"minimize": "share", "quantile": 0.8}, {}),
    "greatest mean": ({"maximize": "inverse", "measure": "mean"}, {}),
    "quantile of a sum": ({"minimize": "total", "quantile": 0.8}, {}),
    "mean of a sum": ({"minimize": "total", "measure": "mean"}, {}),
    "probability": (
        {"minimize": "total", "measure": "mean"},
        {"share": {"max": 6, "probability": 0.8, "confidence": 0}},
    ),
}


def solved(way: str, share: str, total: str) -> Any:
    goal, limits = WAYS[way]
    define = {"share": share, "total": total}
    if way == "greatest mean":
        define["inverse"] = f"1 / ({share})"
    used = f"{goal} {limits} {define.get('inverse', '')}"
    question = {
        "model": "nbody",
        "machine": "balanced",
        "given": {
            "bodies": 1e6, "flops_per_pair": 20, "processors": 1, "memory": 1e6, "rise": 1.0, "fall": 1.0
        },
        "decide": {"machine.time_per_flop": {}},
        "define": {n: f for n, f in define.items() if n in used or n == "share"},
        "uncertain": {
            "rise": {"uniform": [0.2, 1.8]},
            "fall": {"uniform": [0.8, 3.2]},
            "sampling": {"samples": 48, "method": "random"},
        },
        "objective": goal,
        "limits": limits,
    }  # fmt: skip
    return dse.solve(dse.load(question))


def around(k: str) -> tuple[str, str]:
    """A ratio of sums and a sum that are least near k."""
    share = f"(rise * {X} / {k} + fall * {k} / {X}) / (1 + 0.1 * {X} / ({k} + {X}))"
    return share, f"rise * {X} / {k} + fall * {k} / {X}"


@pytest.mark.parametrize("way", WAYS)
def test_an_optimum_beyond_the_box_of_the_search_is_found(way: str) -> None:
    near, far = (solved(way, *around(k)) for k in ("1", "1e40"))
    assert (near.status, far.status) == ("optimal", "optimal")
    # both questions are the same but for the size of what is decided
    assert far.objective == pytest.approx(near.objective, rel=2e-6)
    name = "machine.time_per_flop"
    assert far.variables[name] == pytest.approx(1e40 * near.variables[name], rel=0.05)


@pytest.mark.parametrize("way", [w for w in WAYS if w not in ("quantile of a sum", "mean of a sum")])
def test_a_valley_inside_the_box_hides_no_deeper_one_beyond_it(way: str) -> None:
    share = f"(rise * {X} + fall / {X} + 3) / (1 + {X} * {X} / 1e40) + {X} / 1e50"
    found = solved(way, share, f"1 + 1 / {X} + rise * {X} / 1e60")
    there = found.variables["machine.time_per_flop"]
    # at 1 the share is some 5; towards the end of the search it rises to 1e10, and beyond it falls below 1e-4
    assert there > 1e36
    assert found.status == "optimal"


@pytest.mark.parametrize("way", WAYS)
def test_what_improves_for_ever_is_unbounded(way: str) -> None:
    share = f"(rise + fall / {X}) / (1 + 0.1 * {X})"
    found = solved(way, share, f"rise / {X} + fall / {X} ** 2")
    assert found.status == "unbounded"
    assert found.runaway == "machine.time_per_flop"
    assert found.message == "machine.time_per_flop grows without limit"
    assert found.bound is None


@pytest.mark.parametrize("measure", ["mean", "worst"])
@pytest.mark.parametrize("name", ["machine.energy_per_flop", "machine.time_per_flop"])
def test_an_efficiency_that_improves_for_ever_in_every_sample_is_unbounded(
    name: str, measure: str, nodes_of_trees: list[int]
) -> None:
    """Exponents tell it, as they do of one world: the mean of a quotient is no geometric program.

    What would do is a value: nobody asks how far the designs reach that have it.
    """
    question = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {}, "memory": {}, name: {}},
        "uncertain": {
            "machine.energy_per_word": {"uniform": ["335 pJ/word", "378 pJ/word"]},
            "sampling": {"samples": 16},
        },
        "objective": {"maximize": "efficiency", "measure": measure},
    }
    found = dse.solve(dse.load(question))
    assert found.status == "unbounded"
    assert found.message == f"{name} falls without limit"
    ended = dse.solve(dse.load({**question, "limits": {name: {"min": 1e-9}, "power": {"max": 1e-30}}}))
    assert ended.status == "infeasible"
    assert max(nodes_of_trees) <= 100


@pytest.mark.parametrize("way", ["mean", "quantile", "greatest mean"])
def test_what_comes_ever_nearer_to_a_value_has_that_value(way: str) -> None:
    """From some size on larger ones are better by less than the gap that is asked for."""
    found = solved(way, f"(rise * {X} + fall) / (2 + {X})", f"rise + fall / {X}")
    assert found.status == "optimal"
    assert found.variables["machine.time_per_flop"] < 1e54


def test_a_tiny_design_near_the_end_of_a_search_is_told() -> None:
    """The best flop takes 2e-26 s: the distance to the largest float is one of logarithms."""
    question = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {}, "memory": {}, "machine.time_per_flop": {}},
        "uncertain": {
            "machine.energy_per_word": {"uniform": ["335 pJ/word", "378 pJ/word"]},
            "sampling": {"samples": 16},
        },
        "objective": {"maximize": "power", "measure": "mean"},
    }
    found = dse.solve(dse.load(question))
    assert found.status == "optimal"
    assert found.variables["machine.time_per_flop"] < 1e-20


@pytest.mark.parametrize("least", [None, "1 W"])
def test_what_costs_nothing_in_the_worst_world_is_worth_nothing(least: str | None) -> None:
    """Data sheets from 0 J on: the least power of their box is 0, and no power at least that, whatever the design."""
    costs = {
        "energy_per_flop": ["0 J/flop", "10 pJ/flop"],
        "energy_per_word": ["0 J/word", "102 nJ/word"],
        "memory_power_per_word": ["0 W/word", "59 nW/word"],
        "leakage_power": ["0 W", "1275 W"],
    }
    question = {
        "model": "nbody",
        "machine": "dgx-h100",
        "given": {"bodies": 1e8, "flops_per_pair": 20},
        "decide": {"processors": {}, "memory": {}},
        "uncertain": {f"machine.{name}": {"uniform": ends} for name, ends in costs.items()},
        "objective": {"maximize": "power", "measure": "worst"},
        "limits": {"time": {"max": 1.8}} | ({"power": {"min": least}} if least else {}),
    }
    found = dse.solve(dse.load(question))
    if least:
        assert found.status == "infeasible"
        assert found.conflict == {"power": None}
    else:
        assert found.status == "optimal"
        assert found.objective == found.bound == 0.0
        assert "power is 0 in a vertex at every design" in found.certificate
