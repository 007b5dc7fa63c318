"""The class of a problem is read off its own arithmetic, and a refusal says why in the user's names."""

import itertools
import math

import numpy as np
import pytest
from balanced_nbody import BALANCED
from hypothesis import given, settings
from hypothesis import strategies as st

from dse import models
from formulations import canonical as canon
from formulations.arithmetics.posynomial import LogMonomial, NotPosynomial, Ratio, Refused, ratio, symbol
from formulations.problem import Kind, Problem, formulate
from formulations.pyomo_models.explain import explain
from scenarios.question import Decision, Limit, Objective, Question

NBODY = {**BALANCED, "bodies": 1e5, "flops_per_pair": 10.0}
P, M = Decision("processors", maximum=13300.0), Decision("memory")


def nbody(
    objective: str, *limits: Limit, decide: tuple[Decision, ...] = (P, M), maximize: bool = False
) -> Question:
    given_ones = {n: v for n, v in NBODY.items() if n not in {d.name for d in decide}}
    return Question(models.get("nbody"), given_ones, decide, (Objective(objective, maximize),), limits)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (nbody("energy", Limit("time", maximum=1.0)), Kind.GP),
        (nbody("energy_delay"), Kind.GP),
        (nbody("efficiency", maximize=True), Kind.GP),
        (nbody("power"), Kind.NLP),
        (nbody("time", Limit("power", maximum=50.0)), Kind.NLP),
        (nbody("time", Limit("power_per_processor", maximum=0.5)), Kind.NLP),
        (nbody("energy", decide=(Decision("processors", integer=True), M)), Kind.MIGP),
        (
            nbody(
                "time", Limit("power", maximum=50.0), decide=(Decision("processors", values=(1.0, 2.0)), M)
            ),
            Kind.MINLP,
        ),
    ],
)
def test_class_of_nbody_questions(question: Question, kind: Kind) -> None:
    assert formulate(question).kind is kind


def test_fixed_memory_makes_energy_linear_in_machine_parameters() -> None:
    decide = (Decision("machine.energy_per_flop", minimum=1e-12, maximum=2e-10),)
    given_ones = {n: v for n, v in NBODY.items() if n != "machine.energy_per_flop"} | {
        "processors": 100.0,
        "memory": 3000.0,
    }
    question = Question(
        models.get("nbody"), given_ones, decide, (Objective("energy"),), (Limit("efficiency", minimum=1e9),)
    )
    assert formulate(question).kind is Kind.LP


def test_refusals_name_what_the_user_knows() -> None:
    assert (
        "power (max) divides by a sum of 2 terms"
        in formulate(nbody("time", Limit("power", maximum=50.0))).refusal
    )
    given_ones = {**BALANCED, "points": 1024.0, "all_to_all": "tree"}
    fft = Question(models.get("fft"), given_ones, (Decision("processors"),), (Objective("energy"),))
    problem = formulate(fft)
    assert problem.kind is Kind.NLP
    assert problem.rows is None
    assert "logarithm" in problem.refusal
    assert "energy" in problem.refusal


def test_a_refused_metric_spoils_only_questions_that_use_it() -> None:
    x = symbol("x")
    difference = x - 1.0
    assert isinstance(difference, Refused)
    assert isinstance(difference * 2 + x, Refused)
    with pytest.raises(NotPosynomial, match="a difference"):
        ratio(difference)


def test_logarithm_of_a_monomial_is_affine_in_logs_and_no_more() -> None:
    from dse.models import arithmetic

    halved = arithmetic.log2(8.0 / symbol("x"))
    assert isinstance(halved, LogMonomial)
    assert isinstance(halved * symbol("x"), Refused)
    assert isinstance(arithmetic.log2(symbol("x") + 1.0), Refused)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=4),
    st.floats(0.2, 5),
    st.floats(0.2, 5),
)
def test_ratios_compute_what_floats_compute(
    terms: list[tuple[float, float, float]], x: float, y: float
) -> None:
    """Claim: (sum / (1 + x)) + y * sum agrees with floats; exponents below 1e-12 are taken for 0, hence 1e-11."""
    a, b = symbol("x"), symbol("y")
    total = sum((c * a**e * b**f for c, e, f in terms), start=ratio(0.0))
    plain = sum(c * x**e * y**f for c, e, f in terms)
    both = total / (1.0 + a) + b * total
    assert isinstance(both, Ratio)
    got = both.numerator(x=x, y=y) / both.denominator(x=x, y=y)
    assert got == pytest.approx(plain / (1.0 + x) + y * plain, rel=1e-11)


def _power_capped() -> tuple[Problem, canon.Canonical]:
    problem = formulate(
        nbody("power", Limit("power_per_processor", maximum=0.45), Limit("time", maximum=1.0))
    )
    return problem, canon.canonical(problem, problem.goal)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 9.0), st.floats(3.0, 12.0), st.floats(0.05, 3.0))
def test_secants_relax_and_tangents_restrict(log_p: float, log_m: float, width: float) -> None:
    """Claim: on its box a relaxed row lies below the true one, a restricted row above it everywhere (convexity)."""
    _, c = _power_capped()
    y = np.array([[log_p, log_m]])
    low, high = y - np.array([[width, width / 2]]), y + np.array([[width / 3, width]])
    z_low, z_high = canon.form_box(c, low, high)
    true = canon.values(c, y)
    a, b, ptr = canon.relaxation(c, z_low, z_high)
    relaxed = [_lse(b[0, i:j] + a[0, i:j] @ y[0]) for i, j in itertools.pairwise(ptr)]
    assert np.all(np.array(relaxed)[: true.size] <= true[0] + 1e-10)
    a, b = canon.restriction(c, low)
    restricted = [_lse(b[0, i:j] + a[0, i:j] @ y[0]) for i, j in itertools.pairwise(c.ptr)]
    assert np.all(np.array(restricted) >= true[0] - 1e-10)


def _lse(t: np.ndarray) -> float:
    return float(t.max() + math.log(np.exp(t - t.max()).sum()))


def test_divisors_of_one_memory_share_one_form() -> None:
    """Power, power per processor: both divide by a function of memory alone, so one variable is branched on."""
    _, c = _power_capped()
    assert len(c.divisors) == 2
    assert c.forms.tolist() == [[0.0, 1.0]]


def test_explain_shows_formula_class_and_reason() -> None:
    text = explain(formulate(nbody("time", Limit("power", maximum=50.0))))
    assert "class      NLP" in text
    assert "divides by a sum" in text
    assert "power ≤ 50 W" in text
    assert "minimise time = 100·processors^-1 + 500·memory^-1·processors^-1" in text
