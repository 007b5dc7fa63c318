"""Decide later: the optimum in every world, what a fixed design loses, and intervals that cover what they say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import oracle_listed as listed
import oracle_settings
import oracle_worlds
import pytest
from click.testing import CliRunner
from scipy.stats import binom, norm

import dse
from dse.commands.commandline import main
from dse.uncertain import worlds
from results.telling import estimates
from results.uncertainty.worlds import LEVELS
from scenarios import ScenarioError
from scenarios.language.toml_text import to_toml

# B/M + D M: what is left of n-body's energy beside a constant is least at M = sqrt(B/D), and 2 sqrt(B D) there
NBODY: dict[str, Any] = {
    "model": "nbody",
    "machine": {
        "base": "balanced",
        "energy_per_flop": 0.0,
        "energy_per_word": 1e-9,
        "memory_power_per_word": 1e-8,
        "energy_per_message": 0.0,
        "leakage_power": 0.0,
        "time_per_message": 0.0,
        "time_per_word": 0.0,
    },
    "given": {"bodies": 1e6, "flops_per_pair": 20},
    "decide": {"processors": {"min": 1, "max": 1e9}, "memory": {}},
    "objective": {"minimize": "energy"},
}


def asked(**uncertain: Any) -> dict[str, Any]:
    return {**NBODY, "uncertain": {k.replace("__", "."): v for k, v in uncertain.items()}}


def number(found: Any, name: str) -> Any:
    return next(n for n in found.numbers if n.name == name)


def test_the_energy_of_n_body_is_lognormal_where_its_factors_are() -> None:
    """E = 2 n^2 sqrt(beta delta gamma f): a monomial, so its mean and quantiles are known in closed form."""
    spread = (1.5, 2.0)
    found = dse.uncertainty(
        asked(
            machine__energy_per_word={"lognormal": ["1 nJ/word", spread[0]]},
            machine__memory_power_per_word={"lognormal": ["10 nW/word", spread[1]]},
            sampling={"samples": 2048},
        ),
        workers=1,
        progress=False,
    )
    assert found.statuses == {"optimal": 2048}
    gamma = dse.machines.get("balanced").parameters["time_per_flop"]
    median = 2 * 1e12 * math.sqrt(1e-9 * 1e-8 * gamma * 20)
    sigma = math.hypot(math.log(spread[0]), math.log(spread[1])) / 2
    energy = number(found, "energy")
    for level, q in zip(LEVELS, energy.quantiles, strict=True):
        exact = median * math.exp(sigma * norm.ppf(level))
        # the standard error of the outer ones is 1.9 % with independent samples; Sobol points miss by less
        assert q.value == pytest.approx(exact, rel=1.5e-2)
        assert q.low < exact < q.high
    assert energy.mean.value == pytest.approx(median * math.exp(sigma**2 / 2), rel=1e-3)
    memory = number(found, "memory")
    exact = math.sqrt(1e-9 / (1e-8 * gamma * 20))
    assert memory.median.value == pytest.approx(exact, rel=1e-2)
    # a memory that is off by a factor x costs (x + 1/x)/2
    ratio = found.samples["memory"].values / float(found.fixed.design["memory"])
    lost = (ratio + 1 / ratio) / 2 - 1
    assert found.regret is not None
    assert found.regret.worst == pytest.approx(lost.max(), rel=1e-3)
    assert found.regret.mean.value == pytest.approx(lost.mean(), rel=1e-4)


def test_the_choice_between_two_platforms_is_as_sure_as_the_intensity() -> None:
    """The Titan wins above 1.660 flop:Byte (Table I): a known share of intensities from 1/2 to 8."""
    found = dse.uncertainty("roofline_titan_or_arndale_unknown_intensity", workers=1, progress=False)
    (shares,) = found.winners.values()
    exact = math.log(8 / 1.660) / math.log(16)
    won = next(s for s in shares if s.name == "gtx-titan-choi2014")
    # one dimension of a Sobol sequence misses a share by some 1/samples; 1.660 has four digits
    assert won.estimate.value == pytest.approx(exact, abs=5e-4)
    assert won.estimate.low < exact < won.estimate.high
    assert found.fixed is not None
    assert found.fixed.design == {"machine": "gtx-titan-choi2014"}


def test_the_most_frugal_setting_in_every_world_is_that_of_a_plain_enumeration() -> None:
    name = "dvfs_setting_within_measurement_error"
    source = dse.load(name)
    found = dse.uncertainty(name, samples=512, workers=1, progress=False)
    worlds = oracle_worlds.drawn(name, 512)
    (phase,) = source.given["phases"]
    rows = list(listed.table("choi2016_jetson_tk1_settings.csv", "row").values())
    plain = [oracle_settings._cost(phase, {**row, "const_power_W": "0"}) for row in rows]
    names = [f"{float(r['core_Hz']) / 1e6:g}-{float(r['mem_Hz']) / 1e6:g}" for r in rows]
    energy = np.array(
        [e + t * worlds[f"machine.{n}.constant_power"] for n, (t, e) in zip(names, plain, strict=True)]
    )
    np.testing.assert_allclose(found.samples["objective"].values, energy.min(axis=0), rtol=1e-12)
    counts = np.bincount(energy.argmin(axis=0), minlength=len(names))
    assert {s.name: s.count for s in found.winners["setting"]} == {
        n: int(c) for n, c in zip(names, counts, strict=True) if c
    }
    fixed = energy[names.index("180-924")]
    assert found.regret is not None
    assert found.regret.mean.value == pytest.approx((fixed / energy.min(axis=0) - 1).mean(), rel=1e-9)
    assert found.regret.absolute.value == pytest.approx((fixed - energy.min(axis=0)).mean(), rel=1e-9)


def test_a_design_at_a_limit_breaks_it_in_some_worlds_and_some_worlds_have_none() -> None:
    found = dse.uncertainty("nbody_processor_of_table_ii", samples=256, workers=1, progress=False)
    assert found.none.count == found.statuses["infeasible"] > 0
    assert found.none.of == 256
    assert found.broken is not None
    assert found.broken.count == sum(s.count for s in found.broken_by)
    # where there is no design at all, the fixed one breaks a limit too
    assert found.broken.count >= found.none.count
    assert {s.name for s in found.broken_by} == {"time", "power"}
    told = str(found)
    assert told.index("No design at all in") < told.index("Over the")


def test_a_design_of_ones_own_is_set_beside_the_best() -> None:
    spread = {"machine__energy_per_word": {"lognormal": ["1 nJ/word", 1.5]}, "sampling": {"samples": 64}}
    base = asked(**spread)
    good = dse.uncertainty(base, workers=1, progress=False)
    assert good.fixed is not None
    worse = {**good.fixed.design, "memory": 0.7 * float(good.fixed.design["memory"])}
    bad = dse.uncertainty(base, design=worse, workers=1, progress=False)
    assert bad.regret is not None
    assert good.regret is not None
    assert bad.regret.mean.value > good.regret.mean.value > 0
    with pytest.raises(ScenarioError, match="no value of memory"):
        dse.uncertainty(base, design={"processors": 4}, workers=1, progress=False)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"uncertain": None}, "nothing is uncertain"),
        ({"sweep": {"f": {"path": "flops_per_pair", "values": [10, 20]}}}, "this scenario sweeps f"),
        ({"objective": {"minimize": ["energy", "time"]}}, "several objectives"),
    ],
)
def test_what_a_study_of_worlds_does_not_take_is_refused(changes: dict[str, Any], wrong: str) -> None:
    data = {k: v for k, v in (asked(bodies={"uniform": [1e5, 1e6]}) | changes).items() if v is not None}
    with pytest.raises(ScenarioError, match=wrong):
        dse.uncertainty(data)


def test_more_worlds_extend_a_store_and_keep_what_is_there(tmp_path: Path) -> None:
    spread = {
        "machine__energy_per_word": {"lognormal": ["1 nJ/word", 1.5]},
        "bodies": {"uniform": [1e5, 1e6]},
    }
    store = tmp_path / "worlds.zarr"
    first = dse.uncertainty(asked(**spread), store, samples=32, workers=1, progress=False)
    more = dse.uncertainty(asked(**spread), store, samples=80, workers=1, progress=False)
    alone = dse.uncertainty(asked(**spread), samples=80, workers=1, progress=False)
    assert (first.count, more.count) == (32, 80)
    for name in ("bodies", "machine.energy_per_word", "objective", "memory"):
        np.testing.assert_array_equal(more.samples[name].values[:32], first.samples[name].values)
        np.testing.assert_array_equal(more.samples[name].values, alone.samples[name].values)
    assert dse.verify(store).passed
    assert not dse.diff(store, store)
    page = dse.report(store, tmp_path / "page.html").read_text()
    assert "90 % of samples" in page
    assert "Which limit binds" in page


def test_a_sweep_of_an_uncertain_question_has_its_worlds_as_an_axis() -> None:
    data = asked(bodies={"uniform": [1e5, 1e6]}, sampling={"samples": 16})
    data["sweep"] = {"work": {"path": "flops_per_pair", "values": [10, 20, 40]}}
    found = dse.sweep(data, workers=1, progress=False)
    assert dict(found["status"].sizes) == {"sample": 16, "work": 3}
    assert (found["status"] == 1).all()
    with pytest.raises(ScenarioError, match="one design for all samples, and no axis is swept"):
        dse.sweep({**data, "sweep": {}, "objective": {"minimize": "energy", "measure": "mean"}})


def test_statistics_are_a_dataset_with_the_words_of_the_conventions(tmp_path: Path) -> None:
    found = dse.uncertainty("nbody_processor_of_table_ii", samples=128, workers=1, progress=False)
    made = found.to_dataset()
    assert made["energy"].dims == ("quantile",)
    assert made["energy"].attrs["cell_methods"] == "sample: quantile"
    assert made["energy_mean"].attrs["cell_methods"] == "sample: mean"
    assert made["energy"].attrs["units"] == "J"
    assert float(made["energy"].sel(quantile=0.5)) == number(found, "energy").median.value
    assert float(made["probability_no_design"]) == found.none.count / 128
    assert made["probability_binding_interval"].dims == ("limit", "end")
    dse.export(made, tmp_path / "statistics.nc")
    assert dse.open(tmp_path / "statistics.nc")["energy"].sizes == {"quantile": 5}
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["numbers"]["energy"]["quantiles"][2]["value"] == number(found, "energy").median.value
    assert "<table>" in found._repr_html_()


def test_a_clopper_pearson_interval_covers_at_least_what_it_says() -> None:
    """Over all counts that 40 samples of a known probability can have."""
    for truth in (0.01, 0.2, 0.5, 0.93):
        covered = 0.0
        for k in range(41):
            e = estimates.share(k, 40)
            covered += binom.pmf(k, 40, truth) * (e.low <= truth <= e.high)
        assert covered >= 0.95
    assert estimates.share(0, 0).interval == (0.0, 1.0)


def test_intervals_of_means_and_quantiles_cover_what_they_say() -> None:
    """Of 400 studies of 200 samples of a lognormal: 95 % intervals, 92 to 98 % (three standard errors are 3.3 %)."""
    drawn, held = np.random.default_rng(3), np.zeros(3)
    truth = [math.exp(0.125), 1.0, math.exp(0.5 * norm.ppf(0.9))]
    for _ in range(400):
        values = np.exp(0.5 * drawn.standard_normal(200))
        found = [estimates.mean(values), *estimates.quantiles(values, (0.5, 0.9))]
        held += [e.low <= t <= e.high for e, t in zip(found, truth, strict=True)]
    assert (held / 400 > 0.915).all(), held
    assert (held / 400 < 0.99).all(), held


def test_a_store_knows_the_table_that_its_worlds_are_drawn_from(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("E [nJ/word]\n0.8\n1\n1.3\n")
    data = asked(machine__energy_per_word={"table": "runs.csv", "column": "E"}, sampling={"samples": 16})
    data["objective"] = {"minimize": "energy", "measure": "mean"}
    data["sweep"] = {"work": {"path": "flops_per_pair", "values": [10, 20]}}
    (tmp_path / "asked.toml").write_text(to_toml(data))
    found = dse.sweep(tmp_path / "asked.toml", tmp_path / "found.zarr", workers=1, progress=False)
    assert (found["status"] == 1).all()
    (tmp_path / "runs.csv").unlink()
    assert dse.verify(tmp_path / "found.zarr").passed


def test_check_counts_the_worlds_of_a_sweep(tmp_path: Path) -> None:
    """The plan told is that of ``dse sweep``: worlds times axes, or one design for all worlds at each point."""
    data = {
        **asked(bodies={"uniform": [0.8e6, 1.2e6]}, sampling={"samples": 128}),
        "sweep": {"reach": {"path": "decide.processors.max", "values": [1e8, 1e9]}},
    }
    file = tmp_path / "q.toml"
    told = {}
    for measure in ({}, {"measure": "mean"}):
        question = {**data, "objective": {"minimize": "energy", **measure}}
        file.write_text(dse.Scenario(**question).text, encoding="utf-8")
        run = CliRunner().invoke(main, ["check", str(file), "--json"])
        told[len(measure)] = json.loads(run.stdout)
    assert (told[0]["axes"], told[0]["points"]) == ({"sample": 128, "reach": 2}, 256)
    assert told[0]["way"]["goes"] != "point by point"
    assert (told[1]["axes"], told[1]["points"]) == ({"reach": 2}, 2)
    assert told[1]["way"]["goes"] == "point by point"


def test_ready_questions_name_the_command_that_answers_them() -> None:
    found = json.loads(CliRunner().invoke(main, ["scenarios", "--json"]).stdout)
    assert found["nbody_processor_of_table_ii"]["command"] == "uncertainty"
    assert found["nbody_deadline_in_95_of_100_worlds"]["command"] == "solve"
    for name, about in found.items():
        if about["command"] in {"solve", "uncertainty"}:
            scenario = dse.load(name)
            late = scenario.uncertain is not None and not worlds.decided_now(scenario)
            assert (about["command"] == "uncertainty") == late, name
    run = CliRunner().invoke(main, ["solve", "nbody_processor_of_table_ii"])
    assert run.exit_code == 2
    assert "`dse uncertainty FILE`" in run.stderr


def test_a_metric_that_is_alike_in_all_samples_has_no_range() -> None:
    """The power of n-body does not depend on the bodies where memory is below its cap: no "20 kW … 20 kW"."""
    data = asked(bodies={"uniform": [0.8e6, 1.2e6]}, sampling={"samples": 64})
    told = str(dse.solve({**data, "objective": {"minimize": "energy", "measure": "mean"}}))
    table = told.partition("metrics over")[2].partition("limits")[0]
    rows = {words[0]: words for words in map(str.split, table.splitlines()) if words}
    assert "…" in rows["energy"]
    assert "…" not in rows["power"]


def test_no_command_picks_a_measure_by_itself(tmp_path: Path) -> None:
    """One design for all worlds needs a measure: it is asked for, and never taken to be the worst without a word."""
    data = asked(bodies={"uniform": [0.8e6, 1.2e6]}, sampling={"samples": 256})
    wanted = "no measure of the objective is given"
    for ask in (dse.solve, lambda q: dse.compare(q, "nbody_deadline")):
        with pytest.raises(ScenarioError, match=wanted):
            ask(data)
    promised = {
        **data,
        "limits": {"time": {"max": 100.0, "probability": 0.9}},
        "sweep": {"deadline": {"path": "limits.time.max", "values": [50.0, 100.0]}},
    }
    with pytest.raises(ScenarioError, match=wanted):
        dse.sweep(promised, tmp_path / "worlds.zarr", progress=False)


def test_a_report_shows_what_the_file_asks_for(tmp_path: Path) -> None:
    """With a measure the page has the one design for all worlds, as ``dse solve`` does; without, the worlds."""
    data = asked(bodies={"uniform": [0.8e6, 1.2e6]}, sampling={"samples": 64})
    page = tmp_path / "page.html"
    dse.report({**data, "objective": {"minimize": "energy", "measure": "mean"}}, page)
    assert "mean of energy over 64 samples" in page.read_text(encoding="utf-8")
    dse.report(data, page)
    assert "mean of energy over 64 samples" not in page.read_text(encoding="utf-8")
    with pytest.raises(ScenarioError, match="no measure of energy and time is given"):
        dse.report({**data, "objective": {"minimize": ["energy", "time"]}}, page)


def test_samples_outside_the_range_of_the_model_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    asked = NBODY | {
        "given": {"bodies": 1e6, "flops_per_pair": 20, "memory": 100},
        "decide": {"processors": {"min": 1, "max": 1e9}},
        "uncertain": {"machine.energy_per_word": {"uniform": ["1 nJ/word", "2 nJ/word"]}},
    }
    for size, told in ((100.0, False), (1000.0, True)):
        file = to_toml(asked | {"machine": asked["machine"] | {"max_message": size}})
        Path("samples.toml").write_text(file, encoding="utf-8")
        found = CliRunner().invoke(main, ["uncertainty", "samples.toml", "--samples", "3"])
        assert found.exit_code == 0, found.output
        assert ("message_share above 1 at 3 of 3 samples" in found.output) == told


def test_where_no_sample_has_a_design_there_is_no_table_of_them() -> None:
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"max": 16}, "memory": {}},
        "uncertain": {"bodies": {"uniform": [0.9e6, 1.1e6]}, "sampling": {"samples": 16}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "1 ns"}},
    }
    told = str(dse.uncertainty(dse.load(asked)))
    assert "No design at all in 100 % of the samples" in told
    assert "nan" not in told


def test_without_a_design_the_picture_has_metrics_and_without_a_difference_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is printed all the same: an unexpected ValueError stood in its place."""
    monkeypatch.chdir(tmp_path)
    asked = {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "given": {"flops": 1e12, "intensity": 7},
    }
    for high, drawn in ((10.0, True), (7.0 * (1 + 1e-13), False)):
        uncertain = {"intensity": {"uniform": [7.0, high]}, "sampling": {"samples": 16}}
        Path("samples.toml").write_text(to_toml(asked | {"uncertain": uncertain}), encoding="utf-8")
        found = CliRunner().invoke(main, ["uncertainty", "samples.toml", "--plot", "picture.png"])
        assert found.exit_code == 0, found.output
        assert "Over the 16 samples with a design" in found.output
        assert Path("picture.png").exists() == drawn
        assert ("picture.png is not drawn" in found.output) != drawn
        Path("picture.png").unlink(missing_ok=True)


def test_values_that_win_have_their_units() -> None:
    asked = {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20, "processors": 4},
        "decide": {"memory": {"values": ["1 MB", "2 MB"]}},
        "uncertain": {"bodies": {"uniform": [0.9e6, 1.1e6]}, "sampling": {"samples": 16}},
        "objective": {"minimize": "energy"},
    }
    told = str(dse.uncertainty(dse.load(asked)))
    assert "Which memory wins" in told
    wins = told.partition("Which memory wins")[2].splitlines()[3]
    assert "word" in wins.partition("%")[0] or "B" in wins.partition("%")[0], wins
