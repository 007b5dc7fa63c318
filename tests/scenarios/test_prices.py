"""A question asks for cost and carbon by their names or by what only they need; mistakes are said in one message."""

from __future__ import annotations

from typing import Any

import pytest

import dse
import scenarios
from dse.models.model import Model
from dse.models.shared.economics import is_priced
from formulations import evaluation
from scenarios.questions import question

NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": {"base": "jaketown", "purchase_price": "2000 USD", "embodied_carbon": "30 kg"},
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"max": 65536}, "memory": {}},
    "limits": {"time": {"max": "10 s"}},
}
SITE = {"electricity_price": "0.2 USD/kWh", "lifetime": "4 yr"}
ROOFLINE: dict[str, Any] = {
    "model": "roofline",
    "machine": "h100-sxm",
    "given": {"flops": "1 Eflop", "intensity": "30 flop/byte", "lifetime": "4 yr"},
}


def asked(base: dict[str, Any] = NBODY, given: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {**base, "given": {**base["given"], **(given or {})}, **more}


def wrong(scenario: dict[str, Any]) -> list[tuple[str, str, str]]:
    with pytest.raises(scenarios.ScenarioError) as raised:
        dse.load(scenario)
    return [(p.key, p.wrong, p.right) for p in raised.value.problems]


def model(scenario: dict[str, Any]) -> Model:
    """Return the model at the first point of the grid."""
    return next(iter(scenarios.grid(dse.load(scenario)).bases.values())).model


def names(scenario: dict[str, Any]) -> set[str]:
    return {q.name for q in model(scenario).metrics}


def test_the_cheapest_run_is_a_geometric_program_with_the_cost_of_the_formula():
    best = dse.solve(dse.load(asked(given=SITE, objective={"minimize": "cost"})))
    assert best.status == "optimal"
    assert "convex" in best.certificate
    m = best.metrics
    purchase = 2000 * best.variables["processors"] * m["time"] / (4 * 365.25 * 86400)
    assert m["cost_purchase"] == pytest.approx(purchase, rel=1e-9)
    assert m["cost"] == pytest.approx(0.2 / 3.6e6 * m["energy"] + purchase, rel=1e-9)
    assert "carbon" not in m


def test_what_nothing_asks_for_is_not_computed():
    plain = asked(objective={"minimize": "energy"})
    assert not is_priced(model(plain))
    # though the machine's table, or the catalogue, states it
    assert "cost" not in names(plain)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"given": SITE}, {"cost"}),
        ({"given": {"lifetime": "4 yr", "grid": "usa"}}, {"carbon"}),
        ({"given": {**SITE, "carbon_intensity": "400 g/kWh"}}, {"cost", "carbon"}),
        ({"given": SITE, "limits": {"cost": {"max": "1 USD"}}}, {"cost"}),
        ({"given": SITE, "define": {"hourly": "cost / time"}}, {"cost"}),
        ({"given": SITE, "objective": {"weights": {"cost": "1 1/USD", "time": "1 1/s"}}}, {"cost"}),
        ({"given": SITE, "sweep": {"budget": {"path": "limits.cost.max", "values": [1.0]}}}, {"cost"}),
        ({"given": {"lifetime": "4 yr"}, "sweep": {"g": {"path": "given.grid", "values": ["usa"]}}}, {"carbon"}),
    ],
)  # fmt: skip
def test_a_name_or_a_number_asks(more: dict[str, Any], found: set[str]):
    assert names(asked(**more)) & {"cost", "carbon"} == found


def test_blocks_may_be_called_like_a_total_or_a_grid():
    blocks = {
        "model": "blocks",
        "machine": {"cost": "h100-sxm", "grid": "l4"},
        "given": {"flops": 1e15, "intensity": 2, "count.cost": 1},
        "decide": {"count.grid": {"max": 9}},
        "define": {"both": "`count.cost` + count.grid"},
        "sweep": {"most": {"path": "decide.count.grid.max", "values": [4, 9]}},
    }
    blocks["decide"]["count.grid"].clear()
    assert not is_priced(model(blocks))
    swept = {"price": {"path": "machine.purchase_price", "values": ["1 kUSD", "2 kUSD"]}}
    assert "cost" in names(asked(given=SITE, sweep=swept))
    assert "cost" in names(asked(given={"lifetime": "4 yr", "electricity_price": 0.0}, sweep=swept))


def test_definitions_of_that_name_are_the_files_own():
    own = {"cost": "9000 USD * processors + electricity_price * energy * lifetime / time"}
    scenario = asked(given=SITE, define=own, objective={"minimize": "cost"})
    assert not is_priced(model(scenario))
    # and numbers that only a definition uses ask for nothing
    price = asked(
        ROOFLINE,
        {**SITE, "machine_price": "1 USD"},
        define={"price": "machine_price + electricity_price * energy + 0 USD/s * lifetime"},
    )
    assert not is_priced(model(price))


@pytest.mark.parametrize(
    ("base", "given", "more", "key", "said"),
    [
        (ROOFLINE, SITE, {}, "machine", "no purchase_price"),
        (ROOFLINE, {}, {"objective": {"minimize": "carbon"}}, "given.carbon_intensity", "grid"),
        (NBODY, SITE, {"machine": "jaketown"}, "machine", "no purchase_price"),
        (ROOFLINE, {"carbon_intensity": "usa"}, {}, "given.carbon_intensity", 'write grid = "usa"'),
        (ROOFLINE, {"grid": "mars"}, {}, "given.grid", "iceland"),
        (ROOFLINE, {"grid": "usa", "carbon_intensity": 1e-7}, {}, "given.grid", "state the same quantity twice"),
        (ROOFLINE, {}, {}, "given.lifetime", "asks for neither"),
        (ROOFLINE, {"grid": "usa", "lifetime": 0}, {}, "given.lifetime", "too small"),
        (ROOFLINE, {"grid": "usa", "utilisation": 1.5}, {}, "given.utilisation", "too large"),
        (ROOFLINE, {"grid": "usa", "power_usage_effectiveness": 0.9}, {}, "given.power_usage_effectiveness", "small"),
    ],
)  # fmt: skip
def test_one_message_says_what_is_missing(
    base: dict[str, Any], given: dict[str, Any], more: dict[str, Any], key: str, said: str
):
    ((where, what, right),) = wrong(asked(base, given, **more))
    assert where == key
    assert said in f"{what} {right}"


def test_a_model_with_no_hardware_says_so():
    gemm = {"model": "gemm-h100", "given": {"m": 128, "n": 128, "k": 512}, "limits": {"cost": {"max": 1}}}
    found = wrong(gemm)
    assert found[0] == (
        "limits.cost",
        "gemm-h100 does not say what hardware a run keeps busy, so it has no cost",
        "define cost yourself, under [define]",
    )


def test_a_machine_of_the_choice_that_lacks_a_price_is_named():
    machines = {"machine": {"values": ["epyc-9755", "grace"]}}
    base = {k: v for k, v in ROOFLINE.items() if k != "machine"}
    found = wrong(asked(base, SITE, decide=machines, objective={"minimize": "cost"}))
    assert [key for key, _, _ in found] == ["decide.machine.values[1]"]
    assert "purchase_price" in found[0][1]


def test_a_machine_of_the_choice_has_the_number_of_its_entry_also_behind_one_that_is_none():
    machines = {"machine": {"values": ["no-such-machine", "grace"]}}
    base = {k: v for k, v in ROOFLINE.items() if k != "machine"}
    found = wrong(asked(base, SITE, decide=machines, objective={"minimize": "cost"}))
    assert [key for key, _, _ in found] == ["decide.machine.values[0]", "decide.machine.values[1]"]
    assert "purchase_price" in found[1][1]


def test_the_greenest_grid_is_a_choice_with_its_alternatives():
    grids = {"grid": {"values": ["world", "iceland", "coal"]}}
    best = dse.solve(dse.load(asked(ROOFLINE, decide=grids, objective={"minimize": "carbon"})))
    energy, time = best.metrics["energy"], best.metrics["time"]
    embodied = 29.1256216159 * time / (4 * 365.25 * 86400)
    by_hand = {n: energy * g / 3.6e9 + embodied for n, g in (("world", 481), ("iceland", 7.3), ("coal", 820))}
    assert {a.choice["grid"]: a.objective for a in best.alternatives} == pytest.approx(by_hand, rel=1e-9)
    assert best.variables["grid"] == "iceland"


def test_hardware_that_idles_is_paid_for_as_long_as_it_is_kept():
    scenario = asked(given=SITE, idle=True, objective={"minimize": "cost"}, define={"twice": "2 * cost"})
    x = {"processors": 10.0, "memory": 3e5}
    at = question(dse.load(scenario))
    busy, idle = (evaluation.metrics(at, {**x, "stretch": s}) for s in (1.0, 3.0))
    assert idle["cost_electricity"] == busy["cost_electricity"]
    assert idle["cost_purchase"] == pytest.approx(3 * busy["cost_purchase"], rel=1e-15)
    assert idle["cost"] == pytest.approx(idle["cost_electricity"] + idle["cost_purchase"], rel=1e-15)
    assert idle["twice"] == pytest.approx(2 * idle["cost"], rel=1e-15)


def test_several_kernels_have_one_cost():
    kernels = [
        {"name": "forces", "model": "nbody", "given": NBODY["given"], "repeat": 10},
        {"name": "spectrum", "model": "fft", "given": {"points": 1e9}},
    ]
    scenario = {
        "machine": {**NBODY["machine"], "memory_price_per_word": "8 USD/GB"},
        "kernels": kernels,
        "given": {**SITE, "processors": 64, "forces.memory": 1e5},
    }
    found = dse.solve(dse.load(scenario)).metrics
    price = 64 * (
        2000 * found["time"]
        + 8e-9 * 4 * (1e5 * 10 * found["forces.time"] + found["spectrum.time"] * 1e9 / 64)
    )
    assert found["cost_purchase"] == pytest.approx(price / (4 * 365.25 * 86400), rel=1e-9)
    assert "carbon" not in found


@pytest.mark.parametrize("unused", ["on", "off"])
def test_hardware_of_a_run_that_repeats_is_kept_for_the_period(unused: str) -> None:
    """Nothing else runs on it meanwhile: what a lifetime of periods pays is the price, whatever the work takes."""
    years, period = 3 * 365.25 * 86400, 100.0
    found = dse.solve(
        {
            "model": "partition",
            "machine": {
                "cpu": {"base": "i7-2600k", "purchase_price": "300 USD"},
                "gpu": {"base": "gtx-titan-tang2017", "purchase_price": "1000 USD"},
            },
            "given": {
                "regions": [{"name": "a", "flops": 1e12, "bytes": 1e10}],
                "electricity_price": "0.1 USD/kWh",
                "lifetime": years,
                "period": period,
                "unused": unused,
            },
            "decide": {"share.a.cpu": {}},
            "objective": {"minimize": "cost"},
        }
    )
    assert found.status.value == "optimal"
    assert found.metrics["time"] < 0.1 * period
    assert found.metrics["cost_purchase"] == pytest.approx(1300 * period / years, rel=1e-9)
