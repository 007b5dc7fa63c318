"""The models against the paper's own closed forms, with the misprints corrected, written independently."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dse import models

# both sides sum at most eight positive terms in other orders: rounding stays far below
RTOL = 1e-12

Points = Callable[..., st.SearchStrategy[dict[str, Any]]]


def run(name: str, x: dict[str, Any]) -> Any:
    return SimpleNamespace(**models.evaluate(models.get(name), x))


def letters(x: dict[str, Any]) -> Any:
    """Name the parameters of a single-level machine as the paper does."""
    m = {k.removeprefix("machine."): v for k, v in x.items() if k.startswith("machine.")}
    return SimpleNamespace(
        gt=m["time_per_flop"],
        bt=m["time_per_word"],
        at=m["time_per_message"],
        ge=m["energy_per_flop"],
        be=m["energy_per_word"],
        ae=m["energy_per_message"],
        de=m["memory_power_per_word"],
        ee=m["leakage_power"],
        m=m["max_message"],
        p=x["processors"],
    )


@settings(max_examples=25)
@given(st.data())
def test_nbody_is_15_16_and_19(points: Points, data: st.DataObject):
    x = data.draw(points("nbody"))
    k, n, f, M = letters(x), x["bodies"], x["flops_per_pair"], x["memory"]
    got = run("nbody", x)
    time = k.gt * f * n**2 / k.p + k.bt * n**2 / (M * k.p) + k.at * n**2 / (k.m * M * k.p)
    energy = (
        (f * (k.ge + k.gt * k.ee) + k.de * (k.bt + k.at / k.m)) * n**2
        + ((k.be + k.bt * k.ee) + (k.ae + k.at * k.ee) / k.m) * n**2 / M
        + k.de * k.gt * f * M * n**2
    )
    power = k.p * (
        (k.ge * f + k.be / M + k.ae / (k.m * M)) / (k.gt * f + k.bt / M + k.at / (k.m * M)) + k.de * M + k.ee
    )
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)
    assert got.power == pytest.approx(power, rel=RTOL)
    assert got.power_per_processor == pytest.approx(power / k.p, rel=RTOL)
    assert got.efficiency == pytest.approx(f * n**2 / energy, rel=RTOL)
    assert got.one_copy == pytest.approx(n / k.p / M, rel=RTOL)
    assert got.replication == pytest.approx(M / (n / math.sqrt(k.p)), rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_least_energy_of_nbody_is_at_m0_with_18(points: Points, data: st.DataObject):
    x = data.draw(points("nbody"))
    k, n, f = letters(x), x["bodies"], x["flops_per_pair"]
    b = k.be + k.bt * k.ee + (k.ae + k.at * k.ee) / k.m
    m0 = math.sqrt(b / (k.de * k.gt * f))
    least = n**2 * (
        f * (k.ge + k.gt * k.ee) + k.de * (k.bt + k.at / k.m) + 2 * math.sqrt(k.de * k.gt * f * b)
    )
    at = {factor: run("nbody", {**x, "memory": m0 * factor}).energy for factor in (0.9, 1.0, 1.1)}
    assert at[1.0] == pytest.approx(least, rel=RTOL)
    # the optimum is flat: its neighbours may round to it, never below
    assert at[1.0] <= min(at[0.9], at[1.1]) * (1 + RTOL)


def test_exact_case_of_whole_numbers():
    """E = 47104 and T = 24 at p = 256, M = 4: every term is a whole number, so is the answer."""
    times = {"time_per_flop": 1.0, "time_per_word": 2.0, "time_per_message": 0.0, "max_message": 1.0}
    energies = {"energy_per_flop": 1.0, "energy_per_word": 15.0, "energy_per_message": 0.0}
    statics = {"memory_power_per_word": 1.0, "leakage_power": 0.5}
    x = {"bodies": 64.0, "flops_per_pair": 1.0, "processors": 256.0, "memory": 4.0}
    got = run("nbody", x | {"machine." + k: v for k, v in (times | energies | statics).items()})
    assert (got.energy, got.time, got.replication) == (47104.0, 24.0, 1.0)


@settings(max_examples=25)
@given(st.data())
def test_matmul_is_9_and_10(points: Points, data: st.DataObject):
    x = data.draw(points("matmul"))
    k, n, M = letters(x), x["order"], x["memory"]
    got = run("matmul", x)
    time = k.gt * n**3 / k.p + k.bt * n**3 / (M**0.5 * k.p) + k.at * n**3 / (k.m * M**0.5 * k.p)
    energy = (
        (k.ge + k.gt * k.ee) * n**3
        + ((k.be + k.bt * k.ee) + (k.ae + k.at * k.ee) / k.m) * n**3 / M**0.5
        + k.de * k.gt * M * n**3
        + (k.de * k.bt + k.de * k.at / k.m) * M**0.5 * n**3
    )
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)
    assert got.one_copy == pytest.approx(n**2 / k.p / M, rel=RTOL)
    assert got.replication == pytest.approx(M * k.p ** (2 / 3) / n**2, rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_matmul_at_the_3d_limit_is_11(points: Points, data: st.DataObject):
    x = data.draw(points("matmul"))
    k, n = letters(x), x["order"]
    got = run("matmul", {**x, "memory": n**2 / k.p ** (2 / 3)})
    energy = (
        (k.ge + k.gt * k.ee) * n**3
        + ((k.be + k.bt * k.ee) + (k.ae + k.at * k.ee) / k.m) * n**2 * k.p ** (1 / 3)
        + k.de * k.gt * n**5 / k.p ** (2 / 3)
        + (k.de * k.bt + k.de * k.at / k.m) * n**4 / k.p ** (1 / 3)
    )
    assert got.energy == pytest.approx(energy, rel=RTOL)
    assert got.replication == pytest.approx(1.0, rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_strassen_is_13_and_at_its_limit_14(points: Points, data: st.DataObject):
    x = data.draw(points("strassen"))
    k, n, M, w = letters(x), x["order"], x["memory"], x["exponent"]
    words = (k.be + k.bt * k.ee) + (k.ae + k.at * k.ee) / k.m
    held = k.de * k.bt + k.de * k.at / k.m
    energy_13 = (
        (k.ge + k.gt * k.ee) * n**w
        + words * n**w / M ** (w / 2 - 1)
        + k.de * k.gt * M * n**w
        + held * M ** (2 - w / 2) * n**w
    )
    # (14) prints n^5 in the third term, which holds for w = 3 only
    energy_14 = (
        (k.ge + k.gt * k.ee) * n**w
        + words * n**2 * k.p ** (1 - 2 / w)
        + k.de * k.gt * n ** (w + 2) * k.p ** (-2 / w)
        + held * n**4 * k.p ** (1 - 4 / w)
    )
    assert run("strassen", x).energy == pytest.approx(energy_13, rel=RTOL)
    at_limit = run("strassen", {**x, "memory": n**2 / k.p ** (2 / w)})
    assert at_limit.energy == pytest.approx(energy_14, rel=RTOL)
    assert at_limit.replication == pytest.approx(1.0, rel=RTOL)


@settings(max_examples=15)
@given(st.data())
def test_strassen_with_exponent_three_is_matmul(points: Points, data: st.DataObject):
    x = data.draw(points("matmul"))
    classical, fast = run("matmul", x), run("strassen", {**x, "exponent": 3.0})
    assert vars(fast) == pytest.approx(vars(classical), rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_lu_sends_sqrt_cp_messages(points: Points, data: st.DataObject):
    x = data.draw(points("lu"))
    k, n, M = letters(x), x["order"], x["memory"]
    copies = M * k.p / n**2
    got = run("lu", x)
    assert got.messages == pytest.approx(math.sqrt(copies * k.p), rel=RTOL)
    assert got.words == pytest.approx(n**2 / math.sqrt(copies * k.p), rel=RTOL)
    time = k.gt * n**3 / k.p + k.bt * got.words + k.at * got.messages
    energy = k.p * (
        k.ge * n**3 / k.p + k.be * got.words + k.ae * got.messages + k.de * M * time + k.ee * time
    )
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_fft_by_tree_is_the_papers_t_and_e(points: Points, data: st.DataObject):
    x = data.draw(points("fft", all_to_all="tree"))
    k, n = letters(x), x["points"]
    p, ln, lp = k.p, math.log2(n), math.log2(k.p)
    got = run("fft", x)
    time = k.gt * n * ln / p + k.bt * n * lp / p + k.at * lp
    energy = (
        (k.ge + k.ee * k.gt) * n * ln
        + (k.ae + k.ee * k.at) * p * lp
        + (k.be + k.ee * k.bt + k.de * k.at) * n * lp
        + k.de * k.gt * n**2 * ln / p
        + k.de * k.bt * n**2 * lp / p
    )
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)
    assert got.memory == pytest.approx(n / p, rel=RTOL)
    assert got.one_point == pytest.approx(p / n, rel=RTOL)


@settings(max_examples=15)
@given(st.data())
def test_naive_fft_sends_p_messages_of_few_words(points: Points, data: st.DataObject):
    x = data.draw(points("fft", all_to_all="naive"))
    k, n, got = letters(x), x["points"], run("fft", x)
    assert (got.words, got.messages) == pytest.approx((n / k.p, k.p), rel=RTOL)
    time = k.gt * n * math.log2(n) / k.p + k.bt * n / k.p + k.at * k.p
    assert got.time == pytest.approx(time, rel=RTOL)


@settings(max_examples=5)
@given(st.data())
def test_one_processor_transforms_without_sending(points: Points, data: st.DataObject):
    got = run("fft", data.draw(points("fft", all_to_all="tree", processors=1.0)))
    assert (got.words, got.messages) == (0.0, 0.0)


def two_levels(x: dict[str, Any]) -> Any:
    """Name the parameters of a two-level machine as the paper does, with beta + alpha/m for beta."""
    m = {k.removeprefix("machine."): v for k, v in x.items() if k.startswith("machine.")}
    named = {"gt": m["time_per_flop"], "ge": m["energy_per_flop"], "ee": m["leakage_power"]}
    for level, mark in (("node", "n"), ("core", "l")):
        largest = m[f"{level}_max_message"]
        named["bt" + mark] = m[f"{level}_time_per_word"] + m[f"{level}_time_per_message"] / largest
        named["be" + mark] = m[f"{level}_energy_per_word"] + m[f"{level}_energy_per_message"] / largest
        named["held" + mark] = m[f"{level}_memory_power_per_word"]
    levels = {"pn": x["nodes"], "pl": x["cores"], "Mn": x["node_memory"], "Ml": x["core_memory"]}
    return SimpleNamespace(**named, **levels)


@settings(max_examples=25)
@given(st.data())
def test_two_level_matmul_is_12_corrected(points: Points, data: st.DataObject):
    x = data.draw(points("matmul_two_level"))
    k, n = two_levels(x), x["order"]
    rn, rl = math.sqrt(k.Mn), math.sqrt(k.Ml)
    # (12) prints n² in the first term
    time = k.gt * n**3 / (k.pn * k.pl) + k.btn * n**3 / (k.pn * rn) + k.btl * n**3 / (k.pn * k.pl * rl)
    held = k.heldn * k.Mn / k.pl + k.heldl * k.Ml
    energy = n**3 * (
        k.ge
        + k.gt * k.ee
        + (k.ben + k.btn * k.ee * k.pl) / rn
        + (k.bel + k.btl * k.ee) / rl
        + k.gt * held
        + held * (k.btn * k.pl / rn + k.btl / rl)
    )
    got = run("matmul_two_level", x)
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)


@settings(max_examples=25)
@given(st.data())
def test_two_level_nbody_is_17_corrected(points: Points, data: st.DataObject):
    x = data.draw(points("nbody_two_level"))
    k, n, f = two_levels(x), x["bodies"], x["flops_per_pair"]
    time = (
        f * n**2 * k.gt / (k.pn * k.pl) + k.btn * n**2 / (k.Mn * k.pn) + k.btl * n**2 / (k.Ml * k.pn * k.pl)
    )
    energy = n**2 * (
        f * k.ge
        + f * k.gt * k.ee
        + k.heldn * k.btn
        + k.heldl * k.btl
        + (k.ben + k.ee * k.pl * k.btn) / k.Mn
        + (k.bel + k.ee * k.btl) / k.Ml
        + k.heldn * f * k.gt * k.Mn / k.pl
        + k.heldl * f * k.gt * k.Ml
        + k.heldn * k.btl * k.Mn / (k.pl * k.Ml)
        + k.heldl * k.pl * k.btn * k.Ml / k.Mn
    )
    got = run("nbody_two_level", x)
    assert got.time == pytest.approx(time, rel=RTOL)
    assert got.energy == pytest.approx(energy, rel=RTOL)


@settings(max_examples=25)
@pytest.mark.parametrize("name", ["nbody", "matmul", "strassen"])
@given(st.data(), st.floats(0, 1))
def test_perfect_strong_scaling_costs_no_energy(points: Points, name: str, data: st.DataObject, where: float):
    """Between one copy and full replication, energy does not depend on p and time falls as 1/p."""
    x = data.draw(points(name))
    # n-body: n/p <= M <= n/p^(1/2); matrices: n²/p <= M <= n²/p^(2/w)
    size, power = (x["bodies"], 2.0) if name == "nbody" else (x["order"] ** 2, x.get("exponent", 3.0) / 2)
    fewest, most = size / x["memory"], (size / x["memory"]) ** power
    assume(fewest > 1)
    p = fewest * (most / fewest) ** where
    first, then = run(name, {**x, "processors": fewest}), run(name, {**x, "processors": p})
    assert then.energy == pytest.approx(first.energy, rel=RTOL)
    assert then.time * p == pytest.approx(first.time * fewest, rel=RTOL)
    assert max(then.one_copy, then.replication) <= 1 + RTOL
