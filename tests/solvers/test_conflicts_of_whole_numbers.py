"""That a number has to be whole is its limit: whatever method answers, it is part of conflicts that a fraction ends."""

import pytest

import dse
from results.solution import Status

WHOLE, REAL = {"min": 2, "max": 7, "integer": True}, {"min": 1.5, "max": 8}
COUNT, MENU = {"min": 1, "max": 8, "integer": True}, {"values": [1.5, 3, 8]}
CASES = {
    # d0, y, and what x could be: a monomial row, a linear program with and without real numbers, ...
    "posynomial": ("80 * x + 0.1 * y", REAL, (60 - 0.15) / 80),
    "difference": ("80 * x - 0.1 * y", REAL, (60 + 0.8) / 80),
    "intervals": ("80 * x + exp(0.1 * y)", REAL, 0.735477072),
    "menu": ("80 * x + 0.1 * y", MENU, (60 - 0.15) / 80),
    "maximum": ("maximum(80 * x, 10 * y)", REAL, 60 / 80),
    "ratio": ("80 * x * y / (x + y)", REAL, 1.0),
    "whole alone": ("80 * x + 0 * y", COUNT, 60 / 80),
    "whole product": ("80 * x * y", COUNT, 60 / 80),
    "whole difference": ("80 * x - y", COUNT, (60 + 8) / 80),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fraction_that_would_do_is_named_alone_and_in_a_sweep(name: str) -> None:
    expression, y, would_do = CASES[name]
    scenario = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4, "factor": 1.0},
        "decide": {"x": WHOLE, "y": y},
        "define": {"d0": f"factor * ({expression})", "goal": "x + y"},
        "objective": {"minimize": "goal"},
        "limits": {"d0": {"max": 60}},
    }
    alone = dse.solve(scenario)
    assert alone.status is Status.INFEASIBLE
    assert alone.conflict["x"] == pytest.approx(would_do, rel=1e-6)
    ds = dse.sweep(scenario | {"sweep": {"factors": {"path": "factor", "values": [0.1, 1.0, 1.2]}}})
    told = ds["would_do"].isel(factors=1).to_series().dropna()
    assert dict(told.rename(lambda label: label.removesuffix(".min"))) == pytest.approx(
        dict(alone.conflict), rel=1e-6
    )


LISTED = {"x1": {"min": 1.85216, "max": 7.38791}, "x2": {"values": [2.95535, 4.68888]}}
LEAST = (
    "minimum(2.87426 * x2 + 4.28685 * p1**-0.5,"
    " 0.530326 * 1.0911561 * x2**-1 + 9.32118 * p1**-1 + 0.211013 * x2**-1 * x1)"
)
CUBED = (
    "maximum(4.67783 * x1**-0.5 + 0.11508 * x1**2.5 + 0.64,"
    " 0.774 + 4.809 * x1**2 + 5.11688 * p1**1.5, 0.20762 * x1**3.5 * p1**0.5 + 0.267 * x1)"
)
GRIDS = {
    "the nearest listed value of all cases": (
        LISTED,
        {"held": LEAST, "goal": "0.651608 * x1**4 * p1**2"},
        {"held": {"min": 2.619, "max": 2.6542}},
        [5.75615, 7.57961],
    ),
    "the least value between those listed of all cases": (
        {"x1": {"values": [1, 2, 3, 4]}, "y": {"min": 1, "max": 2}},
        {
            "held": "p1 * minimum(maximum(2.6 * y / x1, x1 / 2.8), maximum(2.3 * y / x1, x1 / 2.4))",
            "goal": "x1 * y",
        },
        {"held": {"max": 1}},
        [1.0, 1.01],
    ),
    "what divides is nobody's limit": (
        {"x1": {"divides": "whole", "min": 1, "max": 12}},
        {"held": CUBED, "goal": "held + 1.447 * x1 + 2.8 / x1 + 0.388947 * x1**2"},
        {"held": {"min": 40.87665, "max": 40.87665}},
        [2.57112, 4.5545],
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_sweep_says_what_the_question_alone_says(name: str) -> None:
    decide, define, limits, values = GRIDS[name]
    scenario = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e9, "intensity": 4, "p1": values[0], "whole": 8},
        "decide": decide,
        "define": define | {"same": "whole"},
        "objective": {"maximize": "goal"},
        "limits": limits,
    }
    ds = dse.sweep(scenario | {"sweep": {"along": {"path": "p1", "values": values}}})
    for k, value in enumerate(values):
        alone = dse.solve(scenario | {"given": scenario["given"] | {"p1": value}})
        told = ds["would_do"].isel(along=k).to_series().dropna()
        assert dict(told.rename(lambda label: label.removesuffix(".min"))) == pytest.approx(
            dict(alone.conflict), rel=1e-6
        )


def test_of_two_chips_the_one_that_nearly_meets_a_limit_says_what_would_do() -> None:
    """The value was asked for once, at a bound that both chips meet, and the worse of the two was told."""
    cards = [("of 4", 4, 13.6, 0.052), ("of 16", 16, 18.4, 0.058)]
    scenario = {
        "model": "sockets",
        "given": {
            "supply_efficiency": 0.92,
            "power_step": "1 kW",
            "levels": [
                {"name": "low", "frequency": 0.6, "voltage": 0.8},
                {"name": "least", "frequency": 0.4, "voltage": 0.7},
            ],
            "cards": [{"name": n, "sockets": k, "cost": c, "power": w} for n, k, c, w in cards],
        },
        "decide": {"machine.socket": {"values": ["tms320c5515", "at91sam9m10"]}},
        "objective": {"maximize": "throughput"},
        "limits": {"efficiency": {"min": 7.6e9}, "power": {"max": "5 kW"}},
    }
    axes = {
        "e": {"path": "limits.efficiency.min", "values": [3e9, 3.6e9, 4.3e9, 4.9e9, 7.6e9]},
        "p": {"path": "limits.power.max", "values": [2e4, 3.6e3, 5e3]},
    }
    ds = dse.sweep(scenario | {"sweep": axes})
    alone = dse.solve(scenario)
    assert ds["would_do"].sel(limit="efficiency").isel(e=-1).values == pytest.approx(
        alone.conflict["efficiency"], rel=1e-6
    )
