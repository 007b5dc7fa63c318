"""[uncertain]: what it says, what is refused, and worlds drawn from it."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import scenarios
from scenarios.questions import grid, question
from scenarios.uncertainty.uncertain import at_samples, box, draw, nominal, uncertain_of

BASE: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"min": 1, "max": 65536}, "memory": {}},
    "objective": {"minimize": "energy"},
    "limits": {"time": {"max": "10 s"}},
}


def asked(uncertain: Any = None, **changes: Any) -> dict[str, Any]:
    data = copy.deepcopy(BASE)
    if uncertain is not None:
        data["uncertain"] = uncertain
    for path, value in changes.items():
        section, _, name = path.partition("__")
        data[section] = {**data.get(section, {}), name: value} if name else value
    return data


BODIES = {"uniform": [0.8e6, 1.2e6]}
WRONG = [
    (asked({"processors": {"uniform": [1, 2]}}), "uncertain.processors", "is decided", "take it out"),
    (
        asked({"bodies": BODIES}, sweep={"n": {"path": "bodies", "values": [1e5, 1e6]}}),
        "uncertain.bodies",
        "is swept",
        "take it out",
    ),
    (asked({"bodie": BODIES}), "uncertain.bodie", "there is no input", "did you mean 'bodies'"),
    (asked({"time": BODIES}), "uncertain.time", "is a metric", "limit it"),
    (
        asked({"bodies": BODIES}, define={"bodies": "1e3 * own"}, given={"flops_per_pair": 20, "own": 1e3}),
        "uncertain.bodies",
        "is defined by an expression",
        "that the definition uses",
    ),
    (asked({"bodies": {}}), "uncertain.bodies", "there is no distribution", "write { normal"),
    (asked({"bodies": {**BODIES, "normal": [1e6, 1]}}), "uncertain.bodies", "exclude each other", "keep one"),
    (
        asked({"bodies": {"norml": [1e6, 1]}}),
        "uncertain.bodies.norml",
        "unknown key",
        "did you mean 'normal'",
    ),
    (asked({"bodies": 1e6}), "uncertain.bodies", "is not a table", "write a table"),
    (
        asked({"bodies": {"uniform": [1e6]}}),
        "uncertain.bodies.uniform",
        "2 numbers, not 1",
        "[least, greatest]",
    ),
    (asked({"bodies": {"uniform": [2e6, 1e6]}}), "uncertain.bodies.uniform", "is not below", "[least"),
    (asked({"bodies": {"normal": [1e6, 0]}}), "uncertain.bodies.normal", "is not above 0", "deviation"),
    (asked({"bodies": {"lognormal": [1e6, 1]}}), "uncertain.bodies.lognormal", "is not above 1", "median"),
    (asked({"bodies": {"lognormal": [-1e6, 2]}}), "uncertain.bodies.lognormal", "is not above 0", "median"),
    (asked({"bodies": {"loguniform": [0, 1e6]}}), "uncertain.bodies.loguniform", "is not above 0", "least"),
    (asked({"bodies": {"triangular": [1, 9, 5]}}), "uncertain.bodies.triangular", "not between", "probable"),
    (asked({"bodies": {"beta": [0, 1, 1, 2]}}), "uncertain.bodies.beta", "not both above 0", "shape"),
    (asked({"bodies": {"values": []}}), "uncertain.bodies.values", "no value", "at least one"),
    (
        asked({"bodies": {"values": [1e5, 1e6], "weights": [1]}}),
        "uncertain.bodies.weights",
        "2 values have 1 weights",
        "each value",
    ),
    (
        asked({"bodies": {"values": [1e5, 1e6], "weights": [1, -1]}}),
        "uncertain.bodies.weights",
        "not negative",
        "weights = [3, 1]",
    ),
    (
        asked({"bodies": {**BODIES, "weights": [1]}}),
        "uncertain.bodies.weights",
        "stands beside values only",
        "leave",
    ),
    (
        asked({"machine.time_per_flop": {"normal": ["2.5 ps/flop", "0.1 pJ/flop"]}}),
        "uncertain.machine.time_per_flop.normal[1]",
        "energy per flop",
        "write",
    ),
    (
        asked({"bodies": {"normal": [1e6, 1e6]}}),
        "uncertain.bodies",
        "15.9 % of the distribution",
        "at most 1e-06",
    ),
    (
        asked({"machine.word_size": {"uniform": [4, 8]}}),
        "uncertain.machine.word_size",
        "size of a word",
        "leave",
    ),
    (
        asked({"bodies": {"table": "none.csv"}}),
        "uncertain.bodies.column",
        "column is missing",
        "write column",
    ),
    (
        asked({"bodies": {"table": "none.csv", "column": "n"}}),
        "uncertain.bodies.table",
        "cannot be read",
        "path of a CSV file",
    ),
    (asked({"bodies": {"from": "nowhere"}}), "uncertain.bodies.from", "is no source", '"machine"'),
    (asked({"*": {"from": "machine"}}), "uncertain.*", "taken all together", "machine.*"),
    (
        asked({"bodies": BODIES, "sampling": {"method": "sobl"}}),
        "uncertain.sampling.method",
        "no way",
        "sobol",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"samples": 0}}),
        "uncertain.sampling.samples",
        "not possible",
        "1 to",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"seeds": 0}}),
        "uncertain.sampling.seeds",
        "unknown key",
        "'seed'",
    ),
    (asked({"sampling": {}}), "uncertain", "nothing is uncertain", "[uncertain] bodies"),
    (
        asked({"bodies": BODIES, "sampling": {"correlation": [["bodies", "flops_per_pair", 0.5]]}}),
        "uncertain.sampling.correlation[0]",
        "is not uncertain",
        "there are: bodies",
    ),
    (
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"uniform": [10, 20]},
                "sampling": {"correlation": [["bodies", "flops_per_pair", 1]]},
            }
        ),
        "uncertain.sampling.correlation",
        "not positive definite",
        "nearer to 0",
    ),
    (
        asked({"bodies": BODIES, "sampling": {"correlation": [["bodies", "flops_per_pair", 2]]}}),
        "uncertain.sampling.correlation",
        "from -1 to 1",
        "write [[",
    ),
    (
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"uniform": [10, 20]},
                "sampling": {"correlation": [["bodies", "flops_per_pair", 0.5]]},
            },
            objective__measure="worst",
        ),
        "uncertain.sampling.correlation",
        "knows no correlation",
        "leave the correlation out",
    ),
    (asked(objective__measure="mean"), "objective.measure", "nothing is uncertain", "[uncertain]"),
    (asked(objective__cvar=0.9), "objective.cvar", "nothing is uncertain", "[uncertain]"),
    (
        asked(limits={"time": {"max": "10 s", "probability": 0.95}}),
        "limits.time.probability",
        "nothing is uncertain",
        "[uncertain]",
    ),
    (asked(limits={"time": {"max": "10 s", "worst": True}}), "limits.time.worst", "nothing is uncertain", ""),
    (
        asked({"bodies": BODIES}, objective={"minimize": "energy", "measure": "mean", "cvar": 0.9}),
        "objective",
        "measure and cvar exclude each other",
        "keep",
    ),
    (asked({"bodies": BODIES}, objective__measure="median"), "objective.measure", "no measure", '"worst"'),
    (asked({"bodies": BODIES}, objective__quantile=1.5), "objective.quantile", "no probability", "0.95"),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "probability": 0.9, "worst": True}}),
        "limits.time",
        "exclude each other",
        "keep one",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "confidence": 0.9}}),
        "limits.time.confidence",
        "no probability",
        "beside it",
    ),
    (
        asked({"bodies": BODIES}, limits={"memory": {"max": 1e6, "probability": 0.9}}),
        "limits.memory",
        "decided before the uncertain",
        "leave",
    ),
    (
        asked(
            {"bodies": BODIES},
            limits={"time": {"max": 10}, "joint": {"of": ["time", "power"], "probability": 0.9}},
        ),
        "limits.joint.of",
        "power is not limited",
        "power = { max",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10}, "joint": {"of": ["time"]}}),
        "limits.joint",
        "no probability",
        "0.95",
    ),
    (
        asked({"bodies": BODIES}, limits={"time": {"max": 10, "of": ["time"], "probability": 0.9}}),
        "limits.time.of",
        "only the joint limit",
        "limits.joint",
    ),
    # the tail of a binomial: with one or two quantities decided the best of N samples, C&G 2008
    (
        asked(
            {"bodies": BODIES, "sampling": {"samples": 64}}, limits={"time": {"max": 10, "probability": 0.95}}
        ),
        "limits.time.probability",
        "64 samples cannot show",
        "samples = 130",
    ),
    (
        asked(
            {"bodies": BODIES, "sampling": {"samples": 64, "method": "sobol"}},
            limits={"time": {"max": 10, "probability": 0.9, "confidence": 0.5}},
        ),
        "uncertain.sampling.method",
        "independent samples",
        '"random"',
    ),
    (
        asked({"bodies": BODIES}, sweep={"sample": {"path": "flops_per_pair", "values": [1, 2]}}),
        "sweep.sample",
        "along which worlds are drawn",
        "otherwise",
    ),
]


@pytest.mark.parametrize(
    ("data", "key", "wrong", "right"), WRONG, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_mistake_is_told_with_its_place_and_repair(
    data: dict[str, Any], key: str, wrong: str, right: str
) -> None:
    with pytest.raises(scenarios.ScenarioError) as caught:
        scenarios.load(data)
    found = [p for p in caught.value.problems if p.key == key]
    assert found, caught.value
    assert wrong in found[0].wrong, found
    assert right in found[0].right, found


def uncertain(spreads: dict[str, Any], **sampling: Any) -> Any:
    return uncertain_of(scenarios.load(asked({**spreads, "sampling": sampling})))


def test_distributions_have_the_moments_that_their_definitions_say() -> None:
    """Means and quantiles in closed form; 2^16 Sobol points integrate smooth functions to 1e-4."""
    found = uncertain(
        {
            "bodies": {"normal": [1e6, 1e5]},
            "flops_per_pair": {"triangular": [10, 20, 40]},
            "machine.time_per_flop": {"lognormal": ["2 ps/flop", 1.5]},
            "machine.energy_per_flop": {"loguniform": ["1 pJ/flop", "4 pJ/flop"]},
            "machine.energy_per_word": {"beta": [2, 3, "1 pJ/word", "6 pJ/word"]},
            "machine.time_per_word": {"values": ["1 ns/word", "3 ns/word"], "weights": [3, 1]},
        }
    )
    worlds = draw(found, 2**16)
    means = {
        "bodies": 1e6,
        "flops_per_pair": 70 / 3,
        "machine.time_per_flop": 2e-12 * math.exp(math.log(1.5) ** 2 / 2),
        "machine.energy_per_flop": 3e-12 / math.log(4),
        "machine.energy_per_word": 1e-12 + 5e-12 * 2 / 5,
        "machine.time_per_word": 1.5e-9,
    }
    for path, mean in means.items():
        assert worlds[path].mean() == pytest.approx(mean, rel=1e-4), path
        assert found.marginals[path].mean() == pytest.approx(mean, rel=1e-12), path
    assert worlds["bodies"].std() == pytest.approx(1e5, rel=1e-3)
    assert np.median(worlds["machine.time_per_flop"]) == pytest.approx(2e-12, rel=1e-4)
    assert np.exp(np.log(worlds["machine.time_per_flop"]).std()) == pytest.approx(1.5, rel=1e-3)
    assert box(found)["machine.energy_per_word"] == pytest.approx((1e-12, 6e-12))
    assert box(found)["bodies"][1] == math.inf


@pytest.mark.parametrize("method", ["sobol", "random"])
def test_more_worlds_continue_the_same_sequence(method: str) -> None:
    found = uncertain({"bodies": BODIES, "flops_per_pair": {"normal": [20, 1]}}, method=method, seed=5)
    whole, first, rest = draw(found, 96), draw(found, 32), draw(found, 64, skip=32)
    for path in whole:
        np.testing.assert_array_equal(whole[path], np.concatenate([first[path], rest[path]]))
    other = draw(found, 96, seed=6)
    assert not np.array_equal(other["bodies"], whole["bodies"])


def test_a_latin_hypercube_has_one_world_in_each_slice_and_no_continuation() -> None:
    found = uncertain({"bodies": BODIES}, method="latin")
    slices = np.floor((draw(found, 50)["bodies"] - 0.8e6) / 0.4e6 * 50)
    assert sorted(slices) == list(range(50))
    with pytest.raises(ValueError, match="cannot be continued"):
        draw(found, 50, skip=50)


def test_correlation_is_that_of_the_normal_variables_behind_the_numbers() -> None:
    """Of lognormals it is that of the logarithms; of uniforms Spearman's, 6/pi asin(r/2)."""
    r = 0.7
    names = ("machine.time_per_flop", "machine.energy_per_flop")
    found = uncertain(
        {
            "bodies": BODIES,
            names[0]: {"lognormal": ["2 ps/flop", 1.5]},
            names[1]: {"lognormal": ["2 pJ/flop", 2]},
            "flops_per_pair": {"uniform": [10, 20]},
        },
        correlation=[[*names, r], ["bodies", "flops_per_pair", -r]],
    )
    worlds = draw(found, 2**14)
    logs = np.corrcoef(*(np.log(worlds[n]) for n in names))[0, 1]
    assert logs == pytest.approx(r, abs=2e-3)
    ranks = np.corrcoef(worlds["bodies"], worlds["flops_per_pair"])[0, 1]
    assert ranks == pytest.approx(-6 / math.pi * math.asin(r / 2), abs=2e-3)
    assert abs(np.corrcoef(worlds["bodies"], worlds[names[0]])[0, 1]) < 0.01


def test_numbers_of_one_table_are_from_one_row(tmp_path: Any) -> None:
    (tmp_path / "fit.csv").write_text("T [ps/flop],E [pJ/flop]\n1,10\n2,20\n3,30\n")
    text = """
model = "nbody"
machine = "balanced"
[given]
bodies = 1e6
flops_per_pair = 20
[uncertain]
"machine.time_per_flop" = { table = "fit.csv", column = "T" }
machine.energy_per_flop = { table = "fit.csv", column = "E" }
[decide]
processors = { min = 1, max = 64 }
memory = {}
[objective]
minimize = "energy"
"""
    (tmp_path / "a.toml").write_text(text)
    asked_ = scenarios.load(tmp_path / "a.toml")
    found = uncertain_of(asked_)
    assert found is not None
    worlds = draw(found, 300)
    times, energies = (worlds[f"machine.{n}_per_flop"] for n in ("time", "energy"))
    np.testing.assert_allclose(energies, times * 10, rtol=1e-12)
    assert {round(t * 1e12) for t in times} == {1, 2, 3}
    assert "sha256:" in asked_.text
    assert scenarios.from_text(asked_.text, tables=asked_.tables.values()) == asked_


def test_worlds_become_an_axis_and_the_nominal_question_has_none() -> None:
    data = asked(
        {"bodies": BODIES, "machine.energy_per_word": {"lognormal": ["0.34 nJ/word", 1.2]}},
        objective__measure="mean",
        limits={
            "time": {"max": 10, "probability": 0.9},
            "joint": {"of": ["power"], "probability": 0.9},
            "power": {"max": 1e9},
        },
    )
    loaded = scenarios.load(data)
    whole = question(loaded)
    assert whole.measure is not None
    assert whole.measure.kind == "mean"
    assert whole.given["bodies"] == 1e6
    assert whole.joint is not None
    assert {x.name: x.probability for x in whole.limits} == {"time": 0.9, "power": None}
    assert whole.uncertain is not None
    assert whole.uncertain.sampling.method == "random"
    worlds = draw(whole.uncertain, 5)
    at = grid(at_samples(loaded, worlds))
    assert at.shape == (5,)
    assert [a.name for a in at.axes] == ["sample"]
    there = at.question((3,))
    assert there.given["bodies"] == worlds["bodies"][3]
    assert there.given["machine.energy_per_word"] == worlds["machine.energy_per_word"][3]
    assert there.uncertain is None
    assert there.measure is None
    assert {x.name: x.probability for x in there.limits} == {"time": None, "power": None}
    plain = question(nominal(loaded))
    assert plain.given == whole.given
    assert plain.uncertain is None


def test_a_scenario_with_uncertain_numbers_is_the_same_from_its_text() -> None:
    loaded = scenarios.load(
        asked(
            {
                "bodies": BODIES,
                "flops_per_pair": {"normal": [20, 1]},
                "sampling": {"samples": 8, "seed": 4},
            }
        )
    )
    assert scenarios.from_text(loaded.text) == loaded


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
    with pytest.raises(
        scenarios.ScenarioError, match=wrong.replace("it", ".*") if "itself" in wrong else wrong
    ):
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


def test_a_cell_that_is_no_number_is_one_mistake(tmp_path: Any) -> None:
    """It is not told a second time as a number outside the domain."""
    (tmp_path / "t.csv").write_text("n\n1e6\nmany\n")
    file = tmp_path / "asked.toml"
    file.write_text(
        'model = "nbody"\nmachine = "jaketown"\n[given]\nbodies = 1e6\nflops_per_pair = 20\n'
        '[decide]\nprocessors = { max = 64 }\nmemory = {}\n[objective]\nminimize = "energy"\n'
        '[uncertain]\nbodies = { table = "t.csv", column = "n" }\n'
    )
    with pytest.raises(scenarios.ScenarioError) as told:
        scenarios.grid(scenarios.load(file))
    (problem,) = told.value.problems
    assert problem.wrong == 't.csv line 3: "many" is no finite number'
