"""Several levels and both precisions under one roofline, against the equations typed by hand on the paper's table."""

from __future__ import annotations

from typing import Any

import oracle_levels as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import machines, models
from dse.models.model import extended
from dse.models.platforms.roofline_levels import LEVELS, NAMES

# the same sums in another order
CLOSE = 1e-12
# inputs by the kinds of the oracle
INPUTS = {
    "single": "flops",
    "double": "flops_double",
    "memory": "bytes",
    "L2": "bytes_L2",
    "L1": "bytes_L1",
    "random": "accesses",
}
PLATFORMS = sorted(oracle.EIGHT)
amounts = st.fixed_dictionaries(
    {k: st.one_of(st.just(0.0), st.floats(1e3, 1e13)) for k in INPUTS if k != "random"}
    | {"random": st.one_of(st.just(0.0), st.floats(1e3, 1e10))}
).filter(lambda x: any(x.values()))


def run(platform: str, given: dict[str, Any], stated: tuple[str, ...] = NAMES) -> dict[str, Any]:
    own = machines.get(platform.replace("_", "-") + "-choi2014").parameters
    base = {"precision": "single", "level": "memory", "bytes_per_access": 1.0, "throttle": 1.0}
    model = extended(models.get("roofline"), stated)
    return dict(models.evaluate(model, {f"machine.{k}": v for k, v in own.items()} | base | given))


@settings(max_examples=60, deadline=None)
@given(platform=st.sampled_from(PLATFORMS), work=amounts)
def test_time_is_the_greatest_of_all_and_energy_the_sum(platform: str, work: dict[str, float]):
    found = run(platform, {INPUTS[k]: v for k, v in work.items()})
    time, energy = oracle.run(platform, **work)
    assert found["time"] == pytest.approx(time, rel=CLOSE)
    assert found["energy"] == pytest.approx(energy, rel=CLOSE)
    alone = [found["time_flops"], *(found[f"time_{x}"] for x in LEVELS)]
    # numbers: compute, the cap, then the levels
    bound = [*alone[:1], 0.0, *alone[1:]]
    regime = int(found["regime"])
    if regime == 1:
        assert time > max(alone) * (1 - CLOSE)
    else:
        assert bound[regime] == pytest.approx(time, rel=CLOSE)
    parts = [found["energy_flop"], *(found[f"energy_{x}"] for x in LEVELS), found["energy_constant"]]
    assert sum(parts) == pytest.approx(found["energy"], rel=CLOSE)


@pytest.mark.parametrize(("kind", "chosen"), [("L2", "L2"), ("L1", "L1"), ("random", "random")])
def test_bytes_of_one_level_alone_are_those_of_a_run_at_that_level(kind: str, chosen: str):
    """Bit for bit: the same products, with zeros added to them."""
    beside = run("gtx_titan", {"flops": 1e11, "bytes": 0.0, INPUTS[kind]: 3e9}, (INPUTS[kind],))
    there = run("gtx_titan", {"flops": 1e11, "bytes": 3e9, "level": chosen}, ())
    for name in ("time", "energy", "power", "performance", "efficiency"):
        assert beside[name] == there[name]


def test_flops_of_double_precision_alone_are_those_of_a_run_in_it():
    beside = run("xeon_phi", {"flops": 0.0, "flops_double": 1e12, "intensity": 2.0}, ("flops_double",))
    there = run("xeon_phi", {"flops": 1e12, "intensity": 2.0, "precision": "double"}, ())
    for name in ("time", "energy", "bandwidth", "flops_per_byte"):
        assert beside[name] == there[name]
    assert beside["flops_total"] == 1e12


@settings(max_examples=20, deadline=None)
@given(platform=st.sampled_from(PLATFORMS), work=amounts)
def test_a_block_is_such_a_roofline(platform: str, work: dict[str, float]):
    """One block of a kind does the work in the time and with the power of the roofline."""
    from dse.models.shared.structure import Parts

    expand = models.get("blocks").expand
    assert expand is not None
    model = extended(expand(Parts(machines=("one",))), NAMES)
    own = machines.get(platform.replace("_", "-") + "-choi2014").parameters
    x = {f"machine.one.{k}": v for k, v in own.items()} | {INPUTS[k]: v for k, v in work.items()}
    x |= {
        "precision": "single",
        "sharing": "proportional",
        "fixed_power": 0.0,
        "throttle": 1.0,
        "count.one": 1.0,
    }
    found = models.evaluate(model, x)
    time, energy = oracle.run(platform, **work)
    assert (found["time"], found["energy"]) == pytest.approx((time, energy), rel=1e-11)
