"""Totals taken apart, and rooflines: the parts are the model's, and a design stands where its machine allows."""

from dataclasses import replace

import numpy as np
import pytest

import dse
from dse.models.shared.sums import sum_of
from results import breakdowns, designs_inside, rooflines
from results.solution import Solution


@pytest.mark.parametrize(
    ("scenario", "metric", "by"),
    [
        ("nbody_deadline", "time", "what it is spent on"),
        ("nbody_deadline", "energy", "what it is spent on"),
        ("matmul_two_level_deadline", "energy", "what it is spent on"),
        ("dvfs_switching_cost", "time", "phase"),
        ("dvfs_switching_cost", "energy", "phase"),
        ("dvfs_switching_cost", "energy", "what it is spent on"),
        ("blocks_least_energy_with_host", "energy", "kind of block"),
        ("partition_three_processors_link", "energy", "what it is spent on"),
        ("roofline_intensity_for_efficiency", "energy", "what it is spent on"),
        ("correlator_fastest_in_10_mw", "cpi", "what cycles go to"),
        ("correlator_fastest_in_10_mw", "power", "level"),
        ("correlator_fastest_in_10_mw", "power", "what it is spent on"),
        ("correlator_fastest_in_10_mw", "cost", "what is paid for"),
        ("correlator_fastest_in_10_mw", "cost_hardware", "level"),
    ],
)
def test_parts_add_up_to_their_total(scenario: str, metric: str, by: str):
    solution = answers(scenario)
    found = breakdowns.breakdown(solution, metric, by)
    # sums of a handful of floats in another order
    assert sum(found.parts.values()) == pytest.approx(solution.metrics[metric], rel=1e-9)
    assert len(found.parts) > 1
    assert breakdowns.REST not in found.parts


KEPT: dict[str, Solution] = {}


def answers(scenario: str) -> Solution:
    if scenario not in KEPT:
        KEPT[scenario] = dse.solve(scenario)
    return KEPT[scenario]


def test_each_part_is_what_the_paper_says():
    solution = answers("nbody_deadline")
    machine = dse.machines.get("balanced").parameters
    found = breakdowns.breakdown(solution, "energy").parts
    p, m = solution.variables["processors"], solution.variables["memory"]
    # Demmel et al. (2): every processor's leakage and memory draw power until the end
    time = solution.metrics["time"]
    assert found["leakage"] == pytest.approx(p * machine["leakage_power"] * time, rel=1e-12)
    assert found["memory"] == pytest.approx(p * machine["memory_power_per_word"] * m * time, rel=1e-12)


def test_what_no_part_accounts_for_is_said(monkeypatch: pytest.MonkeyPatch):
    read = designs_inside.of_solution
    lie = sum_of("energy", "hearsay", {"some": "energy", "more": "energy", "no such part": "absent"})

    def wrong(solution: Solution) -> designs_inside.Designs:
        found = read(solution)
        return replace(
            found, question=replace(found.question, model=replace(found.question.model, sums=(lie,)))
        )

    monkeypatch.setattr(designs_inside, "of_solution", wrong)
    solution = answers("nbody_deadline")
    (found,) = breakdowns.every(solution)
    assert found.parts == {
        n: s * solution.metrics["energy"] for n, s in (("some", 1), ("more", 1), ("the rest", -1))
    }


def test_a_breakdown_that_is_not_declared_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match=r"no breakdown of .*: there is .*energy by what it is spent on"):
        breakdowns.breakdown(answers("nbody_deadline"), "memory")


def test_every_design_of_a_sweep_has_its_parts_whatever_changes_along_it():
    swept = dse.sweep(
        {
            "model": "nbody",
            "machine": "balanced",
            "given": {"bodies": 1e5, "flops_per_pair": 10},
            "decide": {"processors": {"max": 65536}, "memory": {}},
            "objective": {"minimize": "energy"},
            "limits": {"time": {"max": "1 s"}},
            "sweep": {
                "machine": {"path": "machine", "values": ["balanced", "jaketown"]},
                "bodies": {"path": "given.bodies", "values": [1e4, 1e5]},
                "deadline": {"path": "limits.time.max", "values": [1e-12, 1.0]},
            },
        },
        progress=False,
    )
    # any order, any part: the designs are found by their places on the axes
    for dataset in (swept, swept.isel(bodies=slice(None, None, -1)), swept.isel(machine=1)):
        whole = sum(breakdowns.breakdown(dataset, "energy").parts.values())
        np.testing.assert_allclose(whole, dataset["energy"].values, rtol=1e-9)
        assert np.isnan(whole[..., 0]).all()  # nothing is that fast
        assert not np.isnan(whole[..., 1]).any()


def test_designs_stand_on_the_rooflines_of_their_machines():
    dataset = dse.sweep("roofline_platform_efficiency_sweep", progress=False)
    found = rooflines.of_dataset(dataset, most=50)
    assert sorted(np.concatenate([r.places for r in found])) == list(range(dataset["status"].size))
    assert len({r.name for r in found}) == len(found)
    for roof in found:
        for name, reached in roof.reached.items():
            curve = np.interp(np.log(roof.at), np.log(roof.intensity), np.log(roof.curves[name]))
            # the curve is drawn by 161 points: between two of them (a twentieth of a factor 2) it bends a little
            np.testing.assert_allclose(np.exp(curve), reached, rtol=2e-3)


@pytest.mark.parametrize("swept", [False, True])
def test_designs_judged_over_samples_stand_under_the_nominal_roof_at_their_nominal_performance(swept: bool):
    """Their means over kernels of any intensity lie above it."""
    asked = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4},
        "machine": "gtx-titan-choi2014",
        "uncertain": {"intensity": {"loguniform": [0.25, 64]}, "sampling": {"samples": 64}},
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    if swept:
        flops = {"path": "given.flops", "values": [1e11, 1e12]}
        dataset = dse.sweep({**asked, "sweep": {"flops": flops}}, progress=False)
        (roof,), means = rooflines.of_dataset(dataset), dataset["performance"].values
    else:
        solution = dse.solve(asked)
        (roof,), means = rooflines.of_solution(solution), solution.metrics["performance"]
    # 239 GB/s at 4 flop/byte
    np.testing.assert_allclose(roof.reached["performance"], 4 * 239e9, rtol=2e-3)
    assert (roof.at == 4).all()
    assert np.min(means) > 1.1 * 4 * 239e9
    assert roof.nominal


def test_models_without_an_intensity_have_no_roofline():
    assert rooflines.of_solution(answers("nbody_deadline")) == ()


def test_means_over_samples_are_taken_apart_only_where_they_add_up():
    """Time is a product with the uncertain cost of a flop; energy is not."""
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 96000, "flops_per_pair": 10, "memory": 6000},
        "decide": {"processors": {"values": [16, 20, 24]}},
        "uncertain": {
            "machine.time_per_flop": {"uniform": ["0.1 ns/flop", "0.3 ns/flop"]},
            "sampling": {"samples": 16},
        },
        "objective": {"minimize": "energy", "measure": "mean"},
    }
    told = breakdowns.every(dse.solve(asked))
    assert [b.metric for b in told] == ["energy"]
    assert sum(float(v) for v in told[0].parts.values()) == pytest.approx(float(told[0].total), rel=1e-9)
    assert breakdowns.REST not in told[0].parts
