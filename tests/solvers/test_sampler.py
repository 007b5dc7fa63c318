"""The sampler finds good designs, says how it searched, and claims nothing."""

import pytest
from method_questions import fft, nbody

import dse
from results.solution import Status
from scenarios.question import Decision
from solvers.sampling import sampler


def test_a_good_design_without_a_claim() -> None:
    # reference case nbody-09; a local search follows the samples, so the distance is small although unproved
    question = nbody("time", p=Decision("processors", maximum=13300), power=(None, 52.9468))
    found = sampler.solve(question, trials=300, seed=3)
    assert found.status is Status.FEASIBLE
    assert found.x is not None
    assert found.x["processors"] == pytest.approx(130.790900423, rel=1e-4)
    assert "300 trials" in found.certificate
    assert "seed 3" in found.certificate
    assert found.bound is not None
    assert found.bound <= 0.76556420211


def test_the_same_seed_gives_the_same_answer() -> None:
    question = fft("energy_delay")
    first, second = (sampler.solve(question, trials=100, seed=7) for _ in range(2))
    assert first.x == second.x
    # the whole optimum is 1211
    assert first.x is not None
    assert 300 < first.x["processors"] < 5000


def test_maximising_and_listed_values() -> None:
    question = fft(maximize="performance", p=Decision("processors", values=tuple(2.0**k for k in range(21))))
    found = sampler.solve(question, trials=200)
    assert found.x == {"processors": 8192.0}
    assert found.bound is not None
    assert found.bound >= 1.4277e12


def test_nothing_found_is_an_error_and_no_proof() -> None:
    # whole numbers keep the local search away, and the one sample of this seed misses the designs
    question = nbody(
        "time",
        p=Decision("processors", minimum=1, maximum=10**6, integer=True),
        memory=Decision("memory", minimum=1, maximum=10**5, integer=True),
        energy=(None, 42.0),
        time=(None, 0.1),
    )
    missed = sampler.solve(question, trials=1, seed=0)
    assert missed.status is Status.ERROR
    assert "in 1 trial of" in missed.message
    assert sampler.solve(question, trials=100, seed=0).status is Status.FEASIBLE


def test_what_is_proved_for_a_sampled_design_names_its_proof() -> None:
    """An optimum whose bound intervals prove was called optimal by "no proof of optimality"."""
    found = dse.solve(
        {
            "model": "roofline",
            "machine": "gtx-titan-choi2014",
            "given": {"flops": 1e9, "intensity": 4},
            "decide": {"x": {"min": 1, "max": 5}},
            "define": {"goal": "x", "z": "maximum(x - 2, 2 - x)"},
            "objective": {"minimize": "goal"},
            "limits": {"z": {"max": 0}},
        }
    )
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(2, rel=1e-8)
    assert "no proof" not in found.certificate
    assert "bound of interval arithmetic" in found.certificate
