"""[uncertain] of a machine: intervals of its file, of data sheets and of fits become distributions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dse
import scenarios
from dse.machines.fit_records import FIT_KEYS
from scenarios.distributions import Marginal
from scenarios.uncertain import draw, uncertain_of
from scenarios.uncertainty.known_spreads import of_interval
from scenarios.uncertainty.uncertain_words import distribution

FITTED = """
title = "a fitted machine"
[fit]
confidence = 0.95
correlation = [["time_per_flop", "energy_per_flop", 0.5], ["energy_per_flop", "energy_per_byte", -0.3]]
[parameters.time_per_flop]
value = "2 ps/flop"
interval = ["1.9 ps/flop", "2.1 ps/flop"]
[parameters.energy_per_flop]
value = "30 pJ/flop"
interval = ["20 pJ/flop", "45 pJ/flop"]
[parameters.time_per_byte]
value = "4 ps/byte"
[parameters.energy_per_byte]
value = "250 pJ/byte"
interval = ["245 pJ/byte", "255 pJ/byte"]
[parameters.constant_power]
value = "100 W"
"""


def test_intervals_of_a_machine_file_are_distributions_with_their_correlations(tmp_path: Any) -> None:
    """95 % of a normal distribution lie within 1.95996 standard deviations; an uneven interval is lognormal."""
    (tmp_path / "my.toml").write_text(FITTED)
    data = {
        "model": "roofline",
        "machine": str(tmp_path / "my.toml"),
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {
            "machine.*": {"from": "machine"},
            "machine.energy_per_byte": {"normal": [2.5e-10, 1e-12]},
        },
    }
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    assert set(found.marginals) == {
        f"machine.{n}" for n in ("time_per_flop", "energy_per_flop", "energy_per_byte")
    }
    time, energy = (found.marginals[f"machine.{n}_per_flop"] for n in ("time", "energy"))
    assert (time.kind, energy.kind) == ("normal", "lognormal")
    assert time.numbers == pytest.approx((2e-12, 0.1e-12 / 1.959963984540054))
    assert energy.numbers == pytest.approx((30e-12, 1.5 ** (1 / 1.959963984540054)))
    # the named line is no longer from the file, nor is its correlation
    assert found.marginals["machine.energy_per_byte"].numbers[1] == 1e-12
    assert found.sampling.correlation == (("machine.time_per_flop", "machine.energy_per_flop", 0.5),)


def test_indices_name_the_correlations_of_a_machine_file_and_an_empty_list_sets_them_aside(
    tmp_path: Any,
) -> None:
    (tmp_path / "my.toml").write_text(FITTED)
    data: dict[str, Any] = {
        "model": "roofline",
        "machine": str(tmp_path / "my.toml"),
        "given": {"flops": 1e12, "intensity": 4},
        "objective": {"minimize": "energy"},
        "uncertain": {"machine.*": {"from": "machine"}},
    }
    with pytest.raises(scenarios.ScenarioError) as refusal:
        dse.what_matters(data, rows=16, progress=False)
    said = str(refusal.value)
    names = "machine.time_per_flop, machine.energy_per_flop, machine.energy_per_byte"
    assert f"the machine file states correlations of {names}\n" in said
    assert "write correlation = [] under [uncertain.sampling]" in said
    data["uncertain"]["sampling"] = {"correlation": []}
    apart = scenarios.load(data)
    found = uncertain_of(apart)
    assert found is not None
    assert found.sampling.correlation == ()
    # it is another question, also as text
    again = uncertain_of(scenarios.from_text(apart.text, "again"))
    assert again is not None
    assert again.sampling.correlation == ()
    assert len(dse.what_matters(data, rows=16, progress=False).indices) > 0


OTHER_FIT = """
title = "a fitted machine"
[fit]
confidence = 0.95
correlation = [["time_per_flop", "energy_per_flop", -0.7]]
"""
SHEET = """
title = "a data sheet"
"""


@pytest.mark.parametrize(
    ("head", "of_gpu"),
    [
        # another fit with the same title and the same pair; a data sheet, which states intervals only
        (OTHER_FIT, (("machine.gpu.time_per_flop", "machine.gpu.energy_per_flop", -0.7),)),
        (SHEET, ()),
    ],
)
@pytest.mark.parametrize("order", [("cpu", "gpu"), ("gpu", "cpu")])
def test_correlations_are_those_of_the_machine_that_states_them(
    tmp_path: Any, head: str, of_gpu: tuple[Any, ...], order: tuple[str, str]
) -> None:
    for folder, text in (("cpu", FITTED), ("gpu", head + FITTED[FITTED.index("[parameters.") :])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "runs.toml").write_text(text)
    data = {
        "model": "partition",
        "machine": {entry: str(tmp_path / entry / "runs.toml") for entry in order},
        "given": {"regions": [{"name": "a", "flops": "100 Gflop", "bytes": "10 GB"}]},
        "uncertain": {"machine.*": {"from": "machine"}},
        "objective": {"minimize": "energy"},
    }
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    of_cpu = (
        ("machine.cpu.time_per_flop", "machine.cpu.energy_per_flop", 0.5),
        ("machine.cpu.energy_per_flop", "machine.cpu.energy_per_byte", -0.3),
    )
    assert sorted(found.sampling.correlation) == sorted(of_cpu + of_gpu)
    drawn = draw(found, 2048)
    energies = (np.log(drawn[f"machine.gpu.{n}"]) for n in ("energy_per_flop", "energy_per_byte"))
    assert np.corrcoef(*energies)[0, 1] == pytest.approx(0.0, abs=0.05)


def test_an_interval_between_whose_ends_a_data_sheet_leaves_a_value_is_uniform() -> None:
    data = {
        "model": "roofline",
        "machine": "a100-pcie-40gb",
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {"machine.energy_per_flop": {"from": "machine"}},
    }
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    (marginal,) = found.marginals.values()
    assert marginal.kind == "uniform"
    assert marginal.numbers == pytest.approx((0.0, 1.28205128205e-11))


@pytest.mark.parametrize(
    ("machine", "name", "wrong"),
    [
        ("gtx-titan-choi2014", "machine.energy_per_flop", "states no interval"),
        ("gtx-titan-choi2014", "machine.*", "no interval of a parameter of this machine"),
        (
            {"base": "a100-pcie-40gb", "energy_per_flop": 1e-12},
            "machine.energy_per_flop",
            "states machine.energy_per_flop itself",
        ),
    ],
)
def test_a_machine_without_intervals_says_so(machine: Any, name: str, wrong: str) -> None:
    data = {
        "model": "roofline",
        "machine": machine,
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {name: {"from": "machine"}},
    }
    with pytest.raises(scenarios.ScenarioError, match=wrong):
        scenarios.load(data)


def test_a_fit_writes_what_an_uncertain_question_reads(tmp_path: Any) -> None:
    """Six parameters of a machine come back with intervals; those that share the energy are correlated."""
    import dse

    p = {"time_per_flop": 1e-12, "time_per_byte": 8e-12, "energy_per_flop": 2e-11, "energy_per_byte": 3e-10}
    rng = np.random.default_rng(1)
    flops = np.repeat(2.0 ** np.linspace(-3, 8, 12), 2) * 1e10
    time = np.maximum(flops * p["time_per_flop"], 1e10 * p["time_per_byte"])
    energy = flops * p["energy_per_flop"] + 1e10 * p["energy_per_byte"] + 80 * time
    noise = 1 + 0.02 * rng.standard_normal((2, flops.size))
    rows = zip(flops, time * noise[0], energy * noise[1], strict=True)
    lines = ["flops,bytes,time [s],energy [J]", *(f"{f:.9g},1e10,{t:.9g},{e:.9g}" for f, t, e in rows)]
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    dse.fit(tmp_path / "runs.csv", "roofline").save(tmp_path / "fitted.toml")
    data = {
        "model": "roofline",
        "machine": str(tmp_path / "fitted.toml"),
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {"machine.*": {"from": "machine"}},
    }
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    assert {f"machine.{n}" for n in p} <= set(found.marginals)
    for name, value in p.items():
        low, high = found.marginals[f"machine.{name}"].quantile(np.array([0.001, 0.999]))
        assert low < value < high, name
    pairs = {frozenset(c[:2]): c[2] for c in found.sampling.correlation}
    assert pairs[frozenset(("machine.energy_per_byte", "machine.constant_power"))] < 0
    worlds = draw(found, 4096)
    drawn = np.corrcoef(worlds["machine.energy_per_byte"], worlds["machine.constant_power"])[0, 1]
    assert drawn == pytest.approx(
        pairs[frozenset(("machine.energy_per_byte", "machine.constant_power"))], abs=0.05
    )


@pytest.mark.parametrize(
    ("value", "high", "below", "median"),
    [
        # not visible: 95 % of half a normal distribution lies below the bound, half of it below 0.6745 deviations
        (0.0, 98e-12, 0.95, 98e-12 * 0.6745 / 1.96),
        # hardly visible: the value 2 +- 3 that fits best, cut at 0, which it passes with probability 0.0957
        (20e-12, 50e-12, 0.9724, 20e-12 * 1.0922),
        # the greatest value that holds no run back, and none says less
        (98e-12, 98e-12, 1.0, 49e-12),
    ],
)
def test_an_interval_that_begins_at_0_is_a_distribution_from_0(
    tmp_path: Any, value: float, high: float, below: float, median: float
) -> None:
    interval = f'interval = ["0 J/byte", "{high} J/byte"]'
    entry = f'[parameters.energy_per_byte]\nvalue = "{value} J/byte"\n{interval}\n'
    old = FITTED[FITTED.index("[parameters.energy_per_byte]") : FITTED.index("[parameters.constant_power]")]
    (tmp_path / "my.toml").write_text(FITTED.replace(old, entry))
    data = {
        "model": "roofline",
        "machine": str(tmp_path / "my.toml"),
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {"machine.*": {"from": "machine"}},
    }
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    drawn = draw(found, 4096)["machine.energy_per_byte"]
    assert drawn.min() >= 0
    assert (drawn <= high).mean() == pytest.approx(below, abs=0.002)
    assert np.median(drawn) == pytest.approx(median, rel=0.02)


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_an_interval_without_a_width_is_one_value(value: float) -> None:
    found = of_interval(value, (value, value), 0.95)
    assert found.outside() == 0
    assert found.support() == (value, value)
    assert found.quantile(np.array([0.1, 0.9])).tolist() == [value, value]


@pytest.mark.parametrize("ends", [(0.0, 4.0), (1.0, 4.0)])
@pytest.mark.parametrize("confidence", [1.0, 1 - 1e-16])
def test_an_interval_that_is_sure_is_uniform(ends: tuple[float, float], confidence: float) -> None:
    found = of_interval(1.5, ends, confidence)
    assert found.outside() == 0
    assert found.quantile(np.array([0.0, 0.5, 1.0])) == pytest.approx([ends[0], sum(ends) / 2, ends[1]])


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.0, np.inf, "cut at 0 W"),
        (-np.inf, 3.0, "cut at 3 W"),
        (0.0, 100.0, "cut at 0 W"),
        (-100.0, 3.0, "cut at 3 W"),
        (0.0, 3.0, "cut at 0 W and 3 W"),
    ],
)
def test_the_end_that_cuts_is_told(low: float, high: float, told: str) -> None:
    assert distribution(Marginal("normal", (1.0, 1.0), low, high), "W").endswith(f", {told}")


@pytest.mark.parametrize(
    ("value", "low", "high"), [(4.81e-3, 2.96e-3, 6.04e-3), (3.25e-10, 3.133e-10, 3.434e-10), (5.0, 1.0, 5.5)]
)
def test_an_interval_that_is_not_even_is_read_at_both_ends(value: float, low: float, high: float) -> None:
    """It was read from its upper end alone: nothing of 8192 samples was below the lower one."""
    found = of_interval(value, (low, high), 0.95)
    drawn = found.quantile((np.arange(4096) + 0.5) / 4096)
    # as far apart as samples are there
    assert np.quantile(drawn, [0.025, 0.5, 0.975]) == pytest.approx([low, value, high], rel=2e-3)
    # the mean of many quantiles, of which the farthest are left out
    assert found.mean() == pytest.approx(drawn.mean(), rel=1e-3)
    assert replace(found, low=low).outside() == pytest.approx(0.025, rel=1e-6)
    assert replace(found, high=high).outside() == pytest.approx(0.025, rel=1e-6)
    assert found.support() == (0.0, math.inf)


@pytest.mark.parametrize(("value", "ends"), [(4.81, (0.1, 4.81)), (0.1, (0.1, 4.81))])
def test_a_value_at_an_end_of_its_interval_is_uniform_between_them(
    value: float, ends: tuple[float, float]
) -> None:
    found = of_interval(value, ends, 0.95)
    assert found.outside() == 0
    assert found.support() == ends


@pytest.mark.parametrize("name", ["machine.*", "machine.energy_per_flop"])
def test_an_interval_of_a_machine_that_is_a_choice_is_refused_as_such(tmp_path: Any, name: str) -> None:
    (tmp_path / "my.toml").write_text(FITTED)
    machines = [str(tmp_path / "my.toml"), "gtx-titan-choi2014"]
    question = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4},
        "uncertain": {name: {"from": "machine"}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    with pytest.raises(scenarios.ScenarioError) as caught:
        scenarios.load({**question, "decide": {"machine": {"values": machines}}})
    assert len(caught.value.problems) == 1
    assert "machine is a choice among my.toml, gtx-titan-choi2014, and an interval is that of one" in str(
        caught.value
    )
    assert '[sweep.NAME] path = "machine"' in str(caught.value)
    data = {
        **question,
        "decide": {"machine": {"values": machines}},
        "uncertain": {"flops": {"from": "machine"}},
    }
    with pytest.raises(
        scenarios.ScenarioError, match="no single machine of a file or the catalogue states flops"
    ):
        scenarios.load(data)
    # what the message proposes, here of machines that both have intervals
    both = [machines[0], "a100-pcie-40gb"]
    scenarios.load({**question, "sweep": {"one": {"path": "machine", "values": both}}})


def test_intervals_of_a_map_of_machines_are_not_left_out_where_one_is_a_choice(tmp_path: Any) -> None:
    (tmp_path / "my.toml").write_text(FITTED)
    mine = str(tmp_path / "my.toml")
    question = {
        "model": "partition",
        "machine": {"cpu": mine},
        "given": {"regions": [{"name": "a", "flops": "100 Gflop", "bytes": "10 GB"}]},
        "uncertain": {"machine.*": {"from": "machine"}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    decide = {"machine.gpu": {"values": ["gtx-titan-choi2014", mine]}}
    with pytest.raises(
        scenarios.ScenarioError, match=r"machine\.gpu is a choice among gtx-titan-choi2014, my\.toml"
    ):
        scenarios.load({**question, "decide": decide})
    own = {f"machine.gpu.{n}": {"uniform": [1e-12, 2e-12]} for n in ("time_per_flop", "energy_per_flop")}
    own["machine.gpu.energy_per_byte"] = {"uniform": [1e-10, 2e-10]}
    # all that the choice would leave out has a distribution; or no machine among the choices has intervals
    found = uncertain_of(
        scenarios.load({**question, "decide": decide, "uncertain": question["uncertain"] | own})
    )
    assert found is not None
    assert {"machine.cpu.time_per_flop", *own} <= set(found.marginals)
    decide = {"machine.gpu": {"values": ["gtx-titan-choi2014", "arndale-gpu-choi2014"]}}
    found = uncertain_of(scenarios.load({**question, "decide": decide}))
    assert found is not None
    assert {n.split(".")[1] for n in found.marginals} == {"cpu"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        # left out without a word, the intervals are others, and nothing is correlated
        ("confidence", "confidenec", "[fit] has no 'confidenec'; did you mean 'confidence'?"),
        ("correlation", "corelation", "[fit] has no 'corelation'; did you mean 'correlation'?"),
        ('"energy_per_byte", -0.3', '"energy_per_bite", -0.3', "did you mean 'energy_per_byte' or"),
        ("0.95", "0.0", "confidence = 0.0 is not a number between 0 and 1, such as 0.95"),
        ("0.95", "1.5", "confidence = 1.5 is not a number between 0 and 1, such as 0.95"),
        ("0.95", "95", "confidence = 95 is not a number between 0 and 1, such as 0.95"),
        ("0.95", "nan", "confidence = nan is not a number between 0 and 1, such as 0.95"),
        ("0.95", "1e-17", "confidence = 1e-17 is not a number between 0 and 1 of at least 1e-06"),
        ("[fit]\n", "[[fit]]\n", "fit is a table: write [fit]"),
    ],
)
def test_a_fit_that_would_be_read_otherwise_than_it_was_meant_is_refused(
    tmp_path: Any, old: str, new: str, words: str
) -> None:
    assert old in FITTED
    file = tmp_path / "my.toml"
    file.write_text(FITTED.replace(old, new, 1))
    data = {"model": "roofline", "machine": str(file), "given": {"flops": 1e12, "intensity": 4}}
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.load({**data, "uncertain": {"machine.*": {"from": "machine"}}})
    assert words in str(refused.value)


def test_every_key_that_a_fit_writes_is_read(tmp_path: Any) -> None:
    """Twenty runs of known constants with one outlier: the file has all that [fit] may state."""
    made = np.random.default_rng(5)
    flops, size = 10 ** made.uniform(9, 11, 40), 10 ** made.uniform(8, 10, 40)
    time = np.maximum(flops * 2e-12, size * 4e-12) * (1 + 0.01 * made.standard_normal(40))
    energy = (flops * 3e-11 + size * 2.5e-10 + 100 * time) * (1 + 0.01 * made.standard_normal(40))
    energy[7] *= 3
    rows = "".join(f"{f},{b},{t},{e}\n" for f, b, t, e in zip(flops, size, time, energy, strict=True))
    (tmp_path / "runs.csv").write_text("flops,bytes,time [s],energy [J]\n" + rows)
    fit = dse.fit(tmp_path / "runs.csv", "roofline")
    fit.save(tmp_path / "my.toml")
    text = (tmp_path / "my.toml").read_text()
    assert all(f"\n{key} = " in text for key in FIT_KEYS if key != "errors")
    assert dse.machines.get(str(tmp_path / "my.toml")).confidence == 0.95
