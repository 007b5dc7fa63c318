"""Conflicts without structure: every minimal set, and the feasible value of each limit."""

import pytest
from method_questions import fft, nbody

import dse
from results.solution import Status
from scenarios.question import Decision
from scenarios.questions import question
from solvers.explaining import subsets
from solvers.mechanisms.why import explained
from solvers.outcome import Outcome


def test_static_power_alone_refuses_a_power_cap() -> None:
    # fft-07: memory alone draws 1e-3 W/word * 2^20 words = 1048.6 W at any p
    found = explained(subsets.why(fft("time", power=(None, 1000.0))))
    assert found.minimal == (("power",),)
    assert found.feasible_values["power"] is not None
    assert found.feasible_values["power"] > 1048.576
    assert found.certain


def test_energy_below_its_minimum_names_the_minimum() -> None:
    # fft-11; the least over whole p: 0.0690283... (real p) to one processor more or less
    found = explained(subsets.why(fft("time", energy=(None, 0.068338))))
    assert found.minimal == (("energy",),)
    assert found.feasible_values["energy"] == pytest.approx(0.0690283, rel=1e-6)


def test_deadline_and_processors_together() -> None:
    # nbody-05; p = n^2 (f gt + b'/M) / T at M = n/p^(1/2), solved by hand for p: 137.1146
    found = explained(subsets.why(nbody(p=Decision("processors", maximum=133), time=(None, 0.729744))))
    assert found.minimal == (("time", "processors"),)
    assert found.feasible_values["processors"] == pytest.approx(137.1145881, rel=1e-6)
    assert found.feasible_values["time"] == pytest.approx(0.7523132542, rel=1e-6)


def test_a_models_own_limit_is_named_with_the_factor_it_is_missed_by() -> None:
    # one processor more than 19 would hold the bodies: 20/19 = 1.0526 (nbody-37)
    machine = dict(
        zip(
            (
                "time_per_flop",
                "time_per_word",
                "time_per_message",
                "energy_per_flop",
                "energy_per_word",
                "energy_per_message",
                "memory_power_per_word",
                "leakage_power",
                "max_message",
            ),
            (0.1, 2.0, 0.0, 0.1, 15.0, 0.0, 1.0, 0.5, 1.0),
            strict=True,
        )
    )
    question = nbody(
        machine=machine, bodies=64.0, p=Decision("processors", maximum=19), power_per_processor=(None, 7.2)
    )
    found = explained(subsets.why(question))
    assert found.minimal == (("power_per_processor", "processors", "one_copy"),)
    assert found.feasible_values["one_copy"] == pytest.approx(20 / 19, rel=1e-3)
    assert found.feasible_values["processors"] == pytest.approx(20, rel=1e-3)


def test_bounds_without_a_whole_number_between_them_name_the_variable() -> None:
    found = explained(
        subsets.why(fft("time", p=Decision("processors", minimum=2.2, maximum=2.8, integer=True)))
    )
    assert found.minimal == (("processors",),)
    # the upper bound that would do
    assert found.feasible_values == {"processors": 3.0}


def test_listed_values_can_be_the_conflict() -> None:
    # fft-03's values: 0.06902845 at 512 is the least; real p reaches 0.06902831
    values = Decision("processors", values=tuple(2.0**k for k in range(21)))
    found = explained(subsets.why(fft("time", p=values, energy=(None, 0.0690284))))
    assert found.minimal == (("energy", "processors"),)
    assert found.feasible_values["energy"] == pytest.approx(0.0690284527616, rel=1e-9)


def test_two_separate_conflicts_are_both_found_and_neither_alone_would_do() -> None:
    found = explained(subsets.why(fft("time", energy=(None, 0.05), power=(None, 900.0))))
    assert found.minimal == (("energy",), ("power",))
    assert found.feasible_values == {"energy": None, "power": None}


def test_a_feasible_question_has_no_conflict() -> None:
    assert explained(subsets.why(fft("time", energy=(None, 1.0)))).minimal == ()


def test_a_search_that_failed_proves_no_value_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fft("energy", p=Decision("processors"), time=(None, 1e-9))
    told = explained(subsets.why(asked))
    assert told.feasible_values["time"] is not None
    assert "not found" not in told.certificate
    failed = Outcome(Status.ERROR, message="no memory left")
    monkeypatch.setattr(subsets, "solve", lambda _: failed)
    told = explained(subsets.why(asked))
    assert told.feasible_values == {"time": None}
    assert "for time, whose search ended early, a value may do that was not found" in told.certificate


def test_sums_conflict_whatever_is_given_up_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Area for half a region, and a deadline that only more than one region in the FPGA meets, by linear sums alone.

    An area of 0.2 saves at most 20 GB of 119 GB, and 1.2 s is time for 81 GB: so also with parts of regions.
    """
    asked = dse.load("roofline_regions_on_an_fpga").model_dump(exclude_none=True, exclude_defaults=True)
    asked["limits"]["circuits"]["max"] = 0.2

    def searched(*_: object) -> None:
        raise AssertionError("what sums prove needs no boxes")

    monkeypatch.setattr(subsets.feasibility, "anywhere", searched)
    answer = dse.solve(dse.load(asked))
    assert answer.conflicts == (("circuits", "both"),)
    assert answer.conflict == pytest.approx({"circuits": 0.4, "both": 119e9 * 1.48e-11}, rel=1e-6)


def test_a_limit_that_nothing_decided_enters_and_that_holds_is_part_of_no_conflict() -> None:
    asked = {
        "model": "exabounds",
        "machine": {
            "base": "contrived-exabounds",
            "die_area": "900 mm^2",
            "transistor_density": "2e12 1/m^2",
        },
        "given": {"instructions": 1e12},
        "decide": {"machine.count.card": {"integer": True, "max": 4}, "machine.voltage": {"max": "1 V"}},
        "objective": {"minimize": "cost"},
        "limits": {"power": {"max": "10 W"}},
    }
    names = subsets.why(question(dse.load(asked))).names
    assert names == ("power", "machine.count.card", "machine.voltage", "threshold", "clock")
