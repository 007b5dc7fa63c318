"""Any measured column as a function of others: what was put in comes back, errors are honest, the file works."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from kernel_times import NOISE, runs
from scipy.optimize import linprog, minimize

import dse
from dse import fitting, models
from dse.cli import main
from dse.fitting import FittingError, fit_behaviour
from dse.fitting.behaviours import ways
from dse.fitting.behaviours.lattice import candidates, coefficients, found
from dse.fitting.behaviours.logfit import Free, fitted, form_of, log_value
from dse.models.described.fitted import fit_of

Data = Mapping[str, Any]
FORM = "a + b * m * n * k + c * m * k"
TRUE = {"a": 4e-6, "b": 5e-15, "c": 2e-12}


def test_coefficients_lie_in_their_intervals():
    """Of 95 % intervals with 3 % noise at least 90 % hold the truth: 36 chances."""
    held = [
        e.low <= TRUE[e.name] <= e.high
        for seed in range(12)
        for e in fit_behaviour(runs(seed), "latency", "m, n, k", form=FORM).estimates
    ]
    assert len(held) == 36
    assert np.mean(held) >= 0.9


def test_a_coverage_near_all_of_the_runs_is_not_told_as_all_of_them():
    made = fit_behaviour(runs(0, 60), "latency", "m, n, k", form=FORM, coverage=0.9995)
    assert "99.95% of runs lie between" in str(made)


def test_exact_runs_give_the_coefficients_exactly():
    made = fit_behaviour(runs(0, noise=0.0), "latency", "m, n, k", form=FORM)
    assert {e.name: e.value for e in made.estimates} == pytest.approx(TRUE, rel=1e-5)
    assert made.held.mean < 1e-4


def test_a_coefficient_that_is_not_there_is_left_out_and_bounded_on_one_side():
    made = fit_behaviour(runs(1), "latency", "m, n, k", form=f"{FORM} + d * n^3")
    (d,) = [e for e in made.estimates if e.name == "d"]
    assert d.low == 0.0
    assert len(made.fitted.terms) == 3 + (d.value > 0)
    if d.value == 0:
        assert "d not visible in these runs" in str(made)


@pytest.mark.parametrize("seed", range(3))
def test_exponents_on_the_lattice_come_back(seed: int):
    rng = np.random.default_rng(seed)
    lattice = candidates(2)
    chosen = lattice[rng.choice(len(lattice), 3, replace=False)]
    x = rng.uniform(-3, 3, (250, 2))
    y = np.exp(x @ chosen.T) @ np.exp(rng.uniform(-1, 1, 3)) * np.exp(NOISE * rng.standard_normal(250))
    sums = found(x, y, 3)
    assert {tuple(e) for e in sums[2].tolist()} == {tuple(e) for e in chosen.tolist()}


@pytest.mark.timeout(60)
def test_a_handful_of_runs_in_three_columns_is_fitted():
    """Fewer runs than terms of the lattice: their normal equations are singular, and took minutes."""
    made = fit_behaviour(runs(1, count=10, noise=0.0), "latency", "m, n, k", form="posynomial")
    assert 1 <= len(made.estimates) <= 10
    assert np.abs(made.modelled / made.measured - 1).mean() < 0.3


@pytest.mark.parametrize("seed", [1, 6])
def test_errors_are_those_of_the_model_that_is_written(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Terms are found on a sample: here a small one, on which folds find others than the whole. Judged by new runs."""
    monkeypatch.setattr(ways, "LATTICE_RUNS", 100)
    rng = np.random.default_rng(seed)

    def drawn(count: int) -> dict[str, Any]:
        m, n, k = (2.0 ** rng.uniform(3, 13, count) for _ in range(3))
        seconds = 6e-6 + 5e-15 * m * n * k + 2e-12 * (m * k + k * n + m * n)
        return {"m": m, "n": n, "k": k, "time": seconds * np.exp(0.04 * rng.standard_normal(count))}

    made = fit_behaviour(drawn(3000), "time = s", "m, n, k", terms=5)
    new = drawn(20_000)
    ratio = new["time"] / made.fitted.value({c: new[c] for c in "mnk"})
    assert np.abs(1 / ratio - 1).mean() == pytest.approx(made.held.mean, rel=0.05)
    assert ((ratio > made.held.low) & (ratio < made.held.high)).mean() == pytest.approx(0.9, abs=0.02)
    file = tomllib.loads(made.file())
    assert all(t["interval"][0] <= t["coefficient"] <= t["interval"][1] for t in file["terms"])


def test_terms_are_added_only_while_runs_held_out_gain():
    made = fit_behaviour(runs(3), "latency", "m, n, k")
    powers = {tuple(sorted(t.exponents.items())) for t in made.fitted.terms}
    assert (("k", 1.0), ("m", 1.0), ("n", 1.0)) in powers
    assert len(powers) <= 4
    assert made.held.mean < 1.5 * NOISE


@pytest.mark.parametrize(
    ("form", "loss", "factor"),
    [
        (FORM, "huber", 10.0),
        (FORM, "tukey", 10.0),
        (FORM, "error", 10.0),
        (FORM, "error", 0.1),
        ("softmax", "tukey", 10.0),
        ("softmax", "error", 0.1),
    ],
)
def test_gross_outliers_move_no_prediction_far(form: str, loss: Any, factor: float):
    """Five percent of runs a factor 10 off change nothing inside the range by more than 5 %."""
    data = runs(5, 300)
    about = {"terms": 3} if form == "softmax" else {}
    clean = fit_behaviour(data, "latency", "m, n, k", form=form, loss=loss, **about)
    spoilt = dict(data)
    far = np.random.default_rng(1).choice(300, 15, replace=False)
    spoilt["latency [ms]"] = data["latency [ms]"].copy()
    spoilt["latency [ms]"][far] *= factor
    moved = fit_behaviour(spoilt, "latency", "m, n, k", form=form, loss=loss, **about)
    at = {n: data[n] for n in "mnk"}
    ratio = moved.fitted.value(at) / clean.fitted.value(at)
    assert np.abs(ratio - 1).max() < 0.05
    assert {moved.where(i) for i in moved.worst()} <= {f"run {i + 1}" for i in far}


def test_the_mean_error_itself_is_made_least():
    """Against a linear program for a sum, and a search over the coefficients for a maximum; 25 % noise."""
    data = runs(7, 300, noise=0.25)
    y = data["latency [ms]"] * 1e-3
    terms = np.column_stack([np.ones(300), data["m"] * data["n"] * data["k"], data["m"] * data["k"]])
    scaled = terms * list(TRUE.values()) / y[:, None]

    def off(c: Any) -> float:
        return float(np.abs(scaled @ c - 1).mean())

    def off_largest(c: Any) -> float:
        return float(np.abs(scaled[:, 0] * c[0] + (scaled[:, 1:] * c[1:]).max(1) - 1).mean())

    one = np.eye(300)
    rows = np.vstack([np.hstack([scaled, -one]), np.hstack([-scaled, -one])])
    ends = np.concatenate([np.ones(300), -np.ones(300)])
    least = linprog(np.concatenate([np.zeros(3), np.full(300, 1 / 300)]), A_ub=rows, b_ub=ends)
    searched = minimize(off_largest, np.ones(3), method="Nelder-Mead", options={"maxiter": 2000})
    for form, best, error in (
        (FORM, least.fun, off(least.x[:3])),
        ("a + max(b * m * n * k, c * m * k)", searched.fun, off_largest(searched.x)),
    ):
        made = fit_behaviour(data, "latency", "m, n, k", form=form, loss="error")
        other = fit_behaviour(data, "latency", "m, n, k", form=form)
        assert best == pytest.approx(error)
        assert best * (1 - 1e-9) <= made.error < 1.005 * best < other.error


def test_runs_far_too_fast_do_not_change_how_many_terms_are_found():
    """Runs at a tenth of their time count the same whatever the terms: none is left out for their sake."""
    rng = np.random.default_rng(102)
    lattice = candidates(2)
    chosen = lattice[rng.choice(len(lattice), 3, replace=False)]
    x = rng.uniform(-3, 3, (300, 2))
    y = np.exp(x @ chosen.T) @ np.exp(rng.uniform(-1, 1, 3)) * np.exp(NOISE * rng.standard_normal(300))
    far = rng.choice(300, 15, replace=False)
    spoilt = y.copy()
    spoilt[far] *= 0.1
    p, q = np.exp(x.T)
    clean, moved = (fit_behaviour({"p": p, "q": q, "y": v}, "y", "p, q").fitted for v in (y, spoilt))
    at = {"p": p, "q": q}
    assert np.abs(moved.value(at) / clean.value(at) - 1).max() < 0.05


def test_a_softmax_fits_what_no_sum_does():
    """Of the larger of two monomials, rounded at the corner."""
    rng = np.random.default_rng(0)
    n, k = np.exp(rng.uniform(0, 6, (2, 300)))
    y = ((3 * n) ** 4 + (0.2 * n * k) ** 4) ** 0.25
    data = {"n": n, "k": k, "y": y * np.exp(0.01 * rng.standard_normal(300))}
    made = fit_behaviour(data, "y", "n, k", form="softmax", terms=2)
    assert made.held.mean < 0.012
    assert made.fitted.sharpness == pytest.approx(4.0, rel=0.1)
    assert made.fitted.value({"n": 10.0, "k": 20.0}) == pytest.approx((30**4 + 40**4) ** 0.25, rel=0.01)


def test_a_written_maximum_comes_back_with_its_launch_time():
    data = runs(7, 300)
    m, n, k = (data[c] for c in "mnk")
    rng = np.random.default_rng(3)
    y = 5e-6 + np.maximum(5e-15 * m * n * k, 3e-12 * (m * k + k * n))
    data["latency [ms]"] = 1e3 * y * np.exp(0.02 * rng.standard_normal(300))
    made = fit_behaviour(data, "latency", "m, n, k", form="a + max(b * m * n * k, c * (m * k + k * n))")
    found_ones = {(t.group, len(t.exponents)): t.coefficient for t in made.fitted.terms}
    assert found_ones[0, 0] == pytest.approx(5e-6, rel=0.02)
    assert found_ones[1, 3] == pytest.approx(5e-15, rel=0.02)
    assert found_ones[2, 2] == pytest.approx(3e-12, rel=0.02)
    assert made.fitted.form == "max"


def test_whole_groups_are_held_out_and_the_interval_holds_there():
    """Groups that differ by 10 % each: runs alone say 3 %; nine tenths of the runs of new groups lie inside."""
    rng = np.random.default_rng(2)
    data = runs(2, 600)
    group = rng.integers(0, 60, 600)
    data["latency [ms]"] = data["latency [ms]"] * np.exp(0.1 * rng.standard_normal(60))[group]
    data["gpu"] = [f"card {g}" for g in group]
    seen = group < 40
    part = {c: np.asarray(v)[seen] for c, v in data.items()}
    made = fit_behaviour(part, "latency", "m, n, k", form=FORM, group="gpu")
    rest = {c: np.asarray(v)[~seen] for c, v in data.items()}
    ratio = 1e-3 * rest["latency [ms]"] / made.fitted.value({c: rest[c] for c in "mnk"})
    inside = (ratio >= made.held.low) & (ratio <= made.held.high)
    assert 0.82 <= inside.mean() <= 0.98
    assert "folds of whole values of gpu" in str(made)


def test_derivatives_of_the_form_are_right():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    for sharpness in (3.0, np.inf):
        form = form_of(rng.normal(size=4), rng.normal(size=(4, 2)), [0, 1, 2, 2], sharpness)
        free = Free(exponents=True, sharpness=np.isfinite(sharpness))
        better, cost = fitted(form, x, y, free, "squares", steps=200)
        worse = np.mean((log_value(form, x) - y) ** 2)
        assert cost <= worse
        assert np.mean((log_value(better, x) - y) ** 2) < worse


def test_coefficients_do_not_depend_on_units():
    data = runs(4)
    m, n, k = (data[c] for c in "mnk")
    y = data["latency [ms]"]
    terms = np.column_stack([np.ones_like(m), m * n * k, m * k])
    assert coefficients(terms, y) == pytest.approx(1e3 * coefficients(terms, 1e-3 * y), rel=1e-6)


# The command


def dse_(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def gemm_csv(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.csv"
    data = runs(0, 120)
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["m", "n", "k", "latency", "host"])
        table.writerows(zip(data["m"], data["n"], data["k"], data["latency [ms]"], ["a"] * 120, strict=True))
    return path


ASK = ("--model", "posynomial", "--target", "latency = ms", "--of", "m, n, k")


def test_from_measurements_to_an_answer(gemm_csv: Path, tmp_path: Path):
    out, picture = tmp_path / "mine.toml", tmp_path / "mine.png"
    also = "performance [flop/s] = 2 * m * n * k / latency"
    done = dse_("fit", gemm_csv, *ASK, "--form", FORM, "--also", also, "--hull", "-o", out, "--plot", picture)
    assert done.exit_code == 0, done.output
    assert "Wrote" in done.output
    assert "columns not used: host" in done.output
    assert "line " in done.output
    assert picture.stat().st_size > 10_000
    fit = fit_of(models.get(str(out)))
    assert fit is not None
    assert fit.hull
    assert len(fit.residuals) == 101
    answer = dse.solve(
        {
            "model": str(out),
            "given": {"n": 1024, "k": 1024},
            "decide": {"m": {}},
            "objective": {"maximize": "performance"},
            "limits": {"latency": {"max": "20 us"}},
        }
    )
    assert answer.status == "optimal"
    m = (20e-6 - 4e-6) / (5e-15 * 1024**2 + 2e-12 * 1024)
    assert answer.variables["m"] == pytest.approx(m, rel=0.05)
    again = dse_("fit", gemm_csv, *ASK, "-o", out)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    shown = dse_("models", out)
    assert shown.exit_code == 0
    assert "geometric program" in " ".join(shown.output.split())


def test_names_of_worst_runs_do_not_lie_on_each_other():
    """Twins far from the model are named together; no two names touch in the picture."""
    x = np.geomspace(1, 100, 60)
    y = 3e-3 * x
    y[[10, 11, 30]] *= [2.0, 2.02, 1.9]
    fit = fit_behaviour({"x": x, "time [s]": y}, "time", "x", form="a * x")
    figure = fit.plot()
    figure.draw_without_rendering()
    boxes = {t.get_text(): t.get_window_extent() for t in figure.axes[0].texts}
    assert any(n.startswith("runs 11, 12") for n in boxes)
    assert "run 31" in boxes
    assert not any(a.overlaps(b) for n, a in boxes.items() for m, b in boxes.items() if n < m)


def test_json_says_what_python_gets(gemm_csv: Path):
    told = json.loads(dse_("fit", gemm_csv, *ASK, "--form", FORM, "--json").stdout)
    assert told["held_out"]["mean"] == pytest.approx(NOISE * 0.8, rel=0.3)
    assert {t: told["coefficients"][t]["value"] for t in TRUE} == pytest.approx(TRUE, rel=0.1)
    assert told["worst"][0]["line"] >= 2
    assert len(told["held_out"]["deciles"]) == 10


def test_a_fit_that_describes_nothing_ends_in_3_and_writes_nothing(tmp_path: Path):
    rng = np.random.default_rng(0)
    path, out = tmp_path / "noise.csv", tmp_path / "noise.toml"
    lines = [
        f"{a},{b}" for a, b in zip(rng.uniform(1, 9, 50), np.exp(2 * rng.standard_normal(50)), strict=True)
    ]
    path.write_text("\n".join(["m,y", *lines]))
    ask = ("fit", path, "--model", "posynomial", "--target", "y", "--of", "m", "--form", "a * m", "-o", out)
    refused = dse_(*ask)
    assert refused.exit_code == 3
    assert "--force" in refused.stderr
    assert not out.exists()
    assert dse_(*ask, "--force").exit_code == 0
    assert out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target", "latency"), "needs --of"),
        (("--target", "latency", "--of", "m", "--absolute"), "not for --model posynomial"),
        (("--target", "latency", "--of", "m, q"), "column q is missing"),
        (("--target", "latency = parsec", "--of", "m"), "unknown unit"),
        (("--target", "latency", "--of", "m, m"), "named twice"),
        (("--target", "latency", "--of", "m", "--form", "splines"), "splines"),
        (("--target", "latency", "--of", "m", "--form", "a * m", "--terms", "3"), "forms that are found"),
        (("--target", "latency", "--of", "m", "--also", "x = y"), "there is no y"),
        (("--target", "latency", "--of", "m", "--group", "host"), "all runs are one group"),
        (("--target", "latency", "--of", "m/2"), "is not a column"),
    ],
)
def test_wrong_use_is_exit_code_2_with_one_clear_message(options: tuple[str, ...], said: str, gemm_csv: Path):
    done = dse_("fit", gemm_csv, "--model", "posynomial", *options)
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_options_of_models_are_not_for_machines(gemm_csv: Path):
    done = dse_("fit", gemm_csv, "--model", "roofline", "--target", "latency")
    assert done.exit_code == 2
    assert "--target is for --model posynomial" in done.stderr


def test_runs_that_show_nothing_are_refused():
    with pytest.raises(FittingError) as caught:
        fit_behaviour({"m": [1.0] * 5, "y": [2.0] * 5}, "y", "m")
    assert len(caught.value.problems) == 3


def test_columns_that_are_not_positive_are_named():
    with pytest.raises(FittingError, match="not a positive number"):
        fit_behaviour({"m": [0.0, *range(1, 20)], "y": list(range(1, 21))}, "y", "m")


def test_python_finds_it_where_fit_is():
    assert dse.fit_behaviour is fitting.fit_behaviour
