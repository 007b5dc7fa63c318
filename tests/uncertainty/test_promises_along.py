"""Sweeps and fronts with a probability: each point in fresh samples, what these contradict, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from click.testing import CliRunner
from plain_roofline import RUN
from scipy.stats import binomtest

import dse
from dse.cli import main
from scenarios import load

PLAIN: dict[str, Any] = {
    "title": "Least x that covers a uniform demand",
    **RUN,
    "given": {**RUN["given"], "demand": 1.5},
    "decide": {"x": {"min": 1.0, "max": 4.0}},
    "define": {"short": "demand / x", "paid": "x + demand"},
    "uncertain": {"demand": {"uniform": [1.0, 2.0]}, "sampling": {"samples": 100, "seed": 3}},
    "objective": {"minimize": "x", "measure": "mean"},
    "limits": {"short": {"max": 1.0, "probability": 0.9, "confidence": 0}},
    "sweep": {"sure": {"path": "limits.short.probability", "values": [0.6, 0.9]}},
}


def asked(folder: Path, **more: Any) -> str:
    file = folder / "asked.toml"
    file.write_text(load({**PLAIN, **more}).text)
    return str(file)


def test_a_sweep_holds_what_each_design_comes_to_in_fresh_samples():
    swept = dse.sweep(PLAIN, progress=False)
    assert swept["promised"].sel(promise="short").values.tolist() == [0.6, 0.9]
    for x, share, low, high in zip(
        swept["x"].values,
        *(swept[n].sel(promise="short").values for n in ("kept", "kept_low", "kept_high")),
        strict=True,
    ):
        # demand is at most x with probability x - 1, and 10 000 samples tell that to five standard errors
        true = x - 1.0
        assert share == pytest.approx(true, abs=5 * np.sqrt(true * (1 - true) / 10_000))
        ends = binomtest(round(share * 10_000), 10_000).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((ends.low, ends.high), abs=1e-9)
    alone = dse.solve({k: v for k, v in PLAIN.items() if k != "sweep"})
    assert swept["kept"].values[1, 0] == alone.fresh.limits[0].held.value
    assert swept.attrs["fresh_samples"] == alone.fresh.count
    assert swept.attrs["fresh_seed"] == alone.fresh.seed


def test_the_objective_in_fresh_samples_stands_beside_the_one_in_the_samples():
    swept = dse.sweep({**PLAIN, "objective": {"minimize": "paid", "measure": "mean"}}, progress=False)
    for x, *told in zip(
        swept["x"].values, *(swept[n].values for n in ("fresh_mean", "fresh_q05", "fresh_q95")), strict=True
    ):
        assert told == pytest.approx([x + 1.5, x + 1.05, x + 1.95], abs=0.02)
    assert (swept["fresh_mean_low"] < swept["fresh_mean"]).all()
    assert swept["fresh_mean"].attrs["units"] == "1"


def test_a_sweep_whose_promise_is_not_kept_ends_with_3_and_names_the_worst(tmp_path: Path):
    store = str(tmp_path / "s.zarr")
    ran = CliRunner().invoke(main, ["sweep", asked(tmp_path), "-o", store])
    swept = dse.open(store)
    missed = swept["promised"].values[:, 0] - swept["kept_high"].values[:, 0]
    count, worst = int((missed > 0).sum()), int(missed.argmax())
    assert count
    assert ran.exit_code == 3, ran.output
    assert (
        f"At {count} of 2 points a limit holds less often in 10000 fresh samples than was asked" in ran.stderr
    )
    assert f"the worst: at sure {swept['sure'].values[worst]:g} short holds in" in ran.stderr
    assert "Estimated in 10000 fresh samples (random, seed 271831)" in ran.stdout
    assert ran.stdout.count("fewer than asked") == count
    again = CliRunner().invoke(main, ["sweep", "-o", store, "--summary", "--json"])
    assert again.exit_code == 3
    told = json.loads(again.stdout)["broken_promises"]
    assert len(told) == count
    assert told[0]["held"]["high"] < told[0]["asked"]
    page = tmp_path / "s.html"
    assert CliRunner().invoke(main, ["report", store, "-o", str(page)]).exit_code == 0
    assert f"At {count} of 2 points a limit holds less often" in page.read_text()


def test_a_sweep_whose_promises_are_kept_ends_with_0(tmp_path: Path):
    sampling = {"demand": {"uniform": [1.0, 2.0]}, "sampling": {"samples": 512}}
    sure = {"short": {"max": 1.0, "probability": 0.9}}
    file = asked(tmp_path, uncertain=sampling, limits=sure)
    ran = CliRunner().invoke(main, ["sweep", file, "-o", str(tmp_path / "s.zarr"), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["broken_promises"] == []


def test_fronts_alone_and_over_an_axis_end_with_3_too(tmp_path: Path):
    goal = {"minimize": ["x", "mean_paid"], "measures": {"mean_paid": {"of": "tie", "measure": "mean"}}}
    more = {"objective": goal, "define": {**PLAIN["define"], "tie": "demand / x ** 2"}}
    for sweep in ({}, {"sure": {"path": "limits.short.probability", "values": [0.6, 0.9]}}):
        file, out = asked(tmp_path, sweep=sweep, **more), str(tmp_path / f"{len(sweep)}.zarr")
        ran = CliRunner().invoke(main, ["front", file, "--points", "2", "-o", out])
        assert ran.exit_code == 3, ran.output
        assert (
            "points a limit holds less often in 10000 fresh samples than was asked; the worst: at"
            in ran.stderr
        )
        found = dse.open(out)
        assert found["kept"].dims == (*sweep, "front", "promise")


def test_limits_that_hold_together_have_a_share_of_their_own():
    together = {
        "short": {"max": 1.0},
        "paid": {"max": 3.75},
        "joint": {"of": ["short", "paid"], "probability": 0.8, "confidence": 0},
    }
    swept = dse.sweep(
        {**PLAIN, "limits": together, "sweep": {"most": {"path": "limits.paid.max", "values": [3.75, 5.0]}}},
        progress=False,
    )
    both, *each = (swept["kept"].sel(promise=n).values for n in ("short and paid", "short", "paid"))
    assert (both <= np.minimum(*each)).all()
    assert (both >= each[0] + each[1] - 1.0 - 1e-12).all()
    assert np.isnan(swept["promised"].sel(promise="short").values).all()


def test_the_audit_counts_again(tmp_path: Path):
    store = tmp_path / "s.zarr"
    dse.sweep(PLAIN, store, progress=False)
    assert dse.verify(store).passed
    group = zarr.open_group(store)
    group["kept"][0, 0] = 0.97
    assert not dse.verify(store).passed


def test_where_nothing_is_promised_no_table_is_shown(tmp_path: Path):
    worst = {"short": {"max": 1.0}}
    axis = {"least": {"path": "decide.x.min", "values": [1.0, 2.5]}}
    ran = CliRunner().invoke(
        main, ["sweep", asked(tmp_path, limits=worst, sweep=axis), "-o", str(tmp_path / "s.zarr")]
    )
    assert ran.exit_code == 0, ran.output
    assert "fresh samples" not in ran.stdout
