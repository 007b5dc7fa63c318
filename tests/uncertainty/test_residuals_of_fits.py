"""Residuals of a fitted model: whose are drawn, and of what they can be the distribution."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted_questions import GEMM

import dse
import scenarios
from scenarios.uncertain import draw, uncertain_of

NOISY = np.log(1.4) * np.linspace(-2, 2, 101)
EXACT = 1e-9 * np.linspace(1, 3, 101)
SLOWER = np.log(np.linspace(1.05, 1.25, 101))


def with_residuals(logs: np.ndarray) -> str:
    return f"{GEMM}residuals = {logs.tolist()}\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Three fits of different runs that all have the same name, as files called runs.csv give it, and one without."""
    texts = {"noisy": NOISY, "exact": EXACT, "slower": SLOWER}
    made = {name: with_residuals(logs) for name, logs in texts.items()} | {"none": GEMM}
    for name, text in made.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return {name: str(tmp_path / f"{name}.toml") for name in made}


def asked(models: dict[str, str], **more: Any) -> dict[str, Any]:
    """The first of these models is asked with an error, the others without."""
    first, *others = models
    define = {"took": f"{first}.time(20, 30, 1 ms) * error"}
    define |= {f"{name}_took": f"{name}.time(20, 30, 1 ms)" for name in others}
    return {
        "model": "roofline",
        "machine": "gtx-titan-choi2014",
        "models": models,
        "given": {"flops": 1e9, "intensity": 2, "error": 1},
        "define": define,
        "uncertain": {"error": {"from": "residuals"}},
    } | more


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(scenarios.ScenarioError) as caught:
        scenarios.load(data)
    assert len(caught.value.problems) == 1
    return str(caught.value)


def reach(data: dict[str, Any]) -> tuple[float, float]:
    found = uncertain_of(scenarios.load(data))
    assert found is not None
    drawn = draw(found, 1024)["error"]
    return float(drawn.min()), float(drawn.max())


@pytest.mark.parametrize("order", [("noisy", "exact"), ("exact", "noisy")])
def test_two_fits_of_one_name_are_two(files: dict[str, str], order: tuple[str, str]):
    said = refused(asked({f"of_{name}": files[name] for name in order}))
    assert f"nothing says whose are meant: of_{order[0]}, of_{order[1]}" in said


def test_a_fit_as_the_model_and_another_as_a_function_are_two(files: dict[str, str]):
    data = asked(
        {"gemm": files["noisy"]}, model=files["exact"], given={"m": 9, "n": 20, "wait": 1e-3, "error": 1}
    )
    del data["machine"]
    assert "nothing says whose are meant: exact.toml, gemm" in refused(data)


def test_a_fit_as_a_kernel_and_another_as_a_function_are_two(files: dict[str, str]):
    kernel = {"name": "product", "model": files["exact"], "given": {"m": 9, "n": 20, "wait": 1e-3}}
    data = asked({"gemm": files["noisy"]}, kernels=[kernel], given={"error": 1})
    del data["model"]
    assert "nothing says whose are meant: exact.toml, gemm" in refused(data)
    alone = {**data, "models": {}, "define": {"took": "product.time * error"}}
    assert reach(alone) == pytest.approx((1.0, 1.0), abs=1e-8)


@pytest.mark.parametrize("other", ["noisy", "none"])
def test_whose_is_plain_where_one_file_is_asked_twice_or_the_other_has_none(
    files: dict[str, str], other: str
):
    low, high = reach(asked({"one": files["noisy"], "two": files[other]}))
    assert 1.4**-2 <= low < 0.55
    assert 1.9 < high <= 1.4**2


def test_the_quantile_of_a_prediction_with_its_error_is_that_of_the_residuals(files: dict[str, str]):
    goal = {"minimize": "took", "quantile": 0.95}
    found = dse.solve(asked({"gemm": files["noisy"]}, objective=goal))
    once = dse.solve({**asked({"gemm": files["noisy"]}), "uncertain": None}).metrics["took"]
    # straight lines between the quantiles of the logarithm: 95 % lies below 1.4^1.8
    assert found.objective == pytest.approx(once * 1.4**1.8, rel=2e-3)


@pytest.mark.parametrize("argument", ["x", "2 * x"])
def test_what_a_fit_is_asked_at_has_no_residuals(files: dict[str, str], argument: str):
    data = asked({"gemm": files["noisy"]}, define={"took": f"gemm.time({argument}, 30, 1 ms)"})
    data |= {"given": {"flops": 1e9, "intensity": 2, "x": 20}, "uncertain": {"x": {"from": "residuals"}}}
    assert "x is what gemm is asked at, and residuals are a factor of what it predicts" in refused(data)


def test_a_column_of_the_model_has_no_residuals(files: dict[str, str]):
    given = {"m": 50, "n": 20, "wait": 1e-3}
    data = {"model": files["noisy"], "given": given, "uncertain": {"m": {"from": "residuals"}}}
    assert "m is what noisy.toml is asked at" in refused(data)


def test_a_prediction_times_its_error_may_be_asked_at(files: dict[str, str]):
    define = {"took": "gemm.time(20, 30, 1 ms) * error", "later": "gemm.time(20, 30, took)"}
    define["last"] = "gemm.time(20, 30, gemm.time(20, 30, 1 ms) * error)"
    low, high = reach(asked({"gemm": files["noisy"]}, define=define))
    assert low < 0.55
    assert high > 1.9


@pytest.mark.parametrize(
    ("fit", "error", "ends"),
    [("noisy", 50, "0.5102 to 1.96"), ("noisy", 0.1, "0.5102 to 1.96"), ("slower", 0.99, "1 to 1.25")],
)
def test_a_nominal_value_that_no_run_had_is_a_mistake(
    files: dict[str, str], fit: str, error: float, ends: str
):
    given = {"flops": 1e9, "intensity": 2, "error": error}
    said = refused(asked({"gemm": files[fit]}, given=given))
    assert f"error is given as {error}, and residuals of gemm go from {ends}" in said


@pytest.mark.parametrize("error", [1, 1.2])
def test_a_nominal_value_is_the_prediction_or_among_the_residuals(files: dict[str, str], error: float):
    given = {"flops": 1e9, "intensity": 2, "error": error}
    low, high = reach(asked({"gemm": files["slower"]}, given=given))
    assert 1.05 <= low < high <= 1.25
