"""What matters, through scenarios: indices of metrics and of the optimum, and what not knowing a number costs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from plain_roofline import RUN

import dse
from dse.commands.commandline import main
from results import plot
from results.pictures.canvas import svg
from results.uncertainty import matters_text
from scenarios import ScenarioError

G = (0.0, 1.0, 4.5)


def g_question() -> dict[str, Any]:
    """Sobol' g-function as definitions: the product of (|4 x - 2| + a) / (1 + a)."""
    names = [f"x{i}" for i in range(len(G))]
    factors = [
        f"(maximum(4 * {n} - 2, 2 - 4 * {n}) + {a!r}) / {1 + a!r}" for n, a in zip(names, G, strict=True)
    ]
    return {
        **RUN,
        "given": {**RUN["given"], **dict.fromkeys(names, 0.6)},
        "define": {"product": " * ".join(f"({f})" for f in factors)},
        "objective": {"minimize": "product"},
        "uncertain": {n: {"uniform": [0.0, 1.0]} for n in names},
    }


def test_the_g_function_defined_in_a_scenario():
    found = dse.what_matters(g_question(), rows=256, workers=1, progress=False)
    (g,) = found.indices
    partial = [1 / (3 * (1 + a) ** 2) for a in G]
    whole = math.prod(1 + p for p in partial) - 1
    assert g.deviation == pytest.approx(math.sqrt(whole), rel=0.05)
    for i, p in enumerate(partial):
        total = p * math.prod(1 + q for j, q in enumerate(partial) if j != i) / whole
        assert g.first[i].low <= p / whole <= g.first[i].high
        assert g.total[i].low <= total <= g.total[i].high
    assert found.losses is None  # nothing is decided
    assert found.still[:2] == ("time", "energy")
    assert "time, energy, power, performance and " in str(found)


SQUARE: dict[str, Any] = {
    **RUN,
    "given": {**RUN["given"], "rise": 1.0, "fall": 1.0},
    "decide": {"x": {"min": 0.01, "max": 100.0}},
    "define": {"price": "rise * x + fall / x"},
    "objective": {"minimize": "price", "measure": "mean"},
    "uncertain": {"rise": {"uniform": [0.2, 1.8]}, "fall": {"uniform": [0.8, 1.2]}},
}


def test_the_optimum_and_what_not_knowing_costs_in_closed_form():
    """min over x of E[a x + b / x] = 2 sqrt(E a E b); knowing a it is 2 sqrt(a E b)."""
    found = dse.what_matters(SQUARE, rows=128, progress=False)
    price = found.indices[0]
    assert price.name == "price"
    # the optimum of a world is 2 sqrt(a) sqrt(b): a product of independent factors
    variances, means = [], []
    for low, high in ((0.2, 1.8), (0.8, 1.2)):
        mean = (2 / 3) * (high**1.5 - low**1.5) / (high - low)
        means.append(mean)
        variances.append((low + high) / 2 - mean**2)
    whole = (variances[0] + means[0] ** 2) * (variances[1] + means[1] ** 2) - (means[0] * means[1]) ** 2
    for i in (0, 1):
        first = variances[i] * means[1 - i] ** 2 / whole
        assert price.first[i].low <= first <= price.first[i].high
    losses = found.losses
    assert losses is not None
    assert losses.objective == pytest.approx(2.0, rel=2e-3)
    for lost in losses.lost:
        low, high = (0.2, 1.8) if lost.name == "rise" else (0.8, 1.2)
        middles = low + (high - low) * (np.arange(8) + 0.5) / 8
        # eight parts of a uniform number, of each its middle; the samples are Sobol points
        assert lost.value == pytest.approx(2.0 - 2.0 * np.sqrt(middles).mean(), abs=3e-4)
    assert [x.name for x in losses.lost] == ["rise", "fall"]
    # parts by lot differ by the chance of 64 samples: the variance of a over 64, in 2 - 2 sqrt(mean a)
    assert losses.by_chance.value == pytest.approx(0.213 / 64 / 4, rel=0.6)


def test_a_fixed_design_has_indices_of_its_own():
    found = dse.what_matters(SQUARE, rows=256, design={"x": 2.0}, progress=False)
    (price,) = [one for one in found.indices if one.name == "price"]
    # 2 a + b / 2: the variances of the terms
    parts = np.array([4 * 1.6**2 / 12, 0.25 * 0.4**2 / 12])
    for estimate, share in zip(price.first, parts / parts.sum(), strict=True):
        assert estimate.low - 1e-9 <= share <= estimate.high + 1e-9
    assert found.losses is None


def test_worlds_without_a_design_are_left_out_and_told():
    data = {**SQUARE, "limits": {"price": {"max": 2.4}}}
    found = dse.what_matters(data, rows=128, progress=False)
    assert 0 < found.left_out < 128
    assert f"{100 * found.left_out / 128:.3g} % of the rows hold a sample without a design" in str(found)
    assert found.indices[0].rows == 128 - found.left_out


def test_the_command_and_its_picture(tmp_path: Path):
    file = tmp_path / "square.json"
    scenario = tmp_path / "square.toml"
    scenario.write_text(dse.Scenario(**SQUARE).text, encoding="utf-8")
    picture = tmp_path / "matters.svg"
    asked = ["uncertainty", str(scenario), "--indices", "--samples", "64", "--plot", str(picture), "--json"]
    run = CliRunner().invoke(main, asked)
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert set(told["indices"][0]["inputs"]) == {"rise", "fall"}
    assert list(told["losses"]["lost"]) == ["rise", "fall"]
    assert picture.read_text(encoding="utf-8").count("<svg") == 1
    assert not file.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sampling": {"correlation": [["rise", "fall", 0.5]]}},
            "indices say how much each number matters by itself, and these depend on one another",
        ),
        ({}, "100 rows of samples cannot be used for indices"),
    ],
)
def test_what_cannot_be_asked(change: dict[str, Any], message: str):
    data = {**SQUARE, "uncertain": {**SQUARE["uncertain"], **change}}
    with pytest.raises(ScenarioError, match=message):
        dse.what_matters(data, rows=100, progress=False)
    with pytest.raises(ScenarioError, match="nothing is uncertain"):
        dse.what_matters(RUN | {"objective": {"minimize": "energy"}}, progress=False)


def test_a_picture_needs_something_that_varies():
    still = {**SQUARE, "uncertain": {"fall": {"values": [1.0]}}}
    found = dse.what_matters(still, rows=16, progress=False)
    assert found.indices == ()
    with pytest.raises(ValueError, match="no number varies"):
        plot.matters(found)


def test_the_ticks_of_small_losses_have_no_common_factor_beside_the_axis(tmp_path: Path):
    sure = {**SQUARE, "uncertain": {"rise": {"uniform": [0.999, 1.001]}, "fall": {"uniform": [0.999, 1.001]}}}
    panel = plot.matters(dse.what_matters(sure, rows=64, progress=False)).axes[1]
    panel.figure.savefig(tmp_path / "matters.png")
    assert panel.xaxis.get_offset_text().get_text() == ""
    assert "e-" in panel.get_xticklabels()[1].get_text()


@pytest.mark.parametrize("narrow", [False, True])
def test_the_words_beside_the_longest_loss_stay_in_its_panel(narrow: bool):
    asked = {
        "model": "roofline",
        "given": {"flops": 1e12, "intensity": 4},
        "decide": {"machine": {"values": ["gtx-titan-choi2014", "arndale-gpu-choi2014"]}},
        "objective": {"maximize": "efficiency"},
        "uncertain": {"intensity": {"lognormal": [4.0, 4.0]}},
    }
    panel = plot.matters(dse.what_matters(asked, rows=64, progress=False), narrow=narrow).axes[1]
    svg(panel.figure)
    (beside,) = panel.texts
    assert beside.get_window_extent().x1 <= panel.bbox.x1
    assert panel.xaxis.label.get_size() == panel.figure.axes[0].xaxis.label.get_size()


def test_an_objective_that_does_not_vary_is_said_not_to():
    asked = {
        **SQUARE,
        "define": {"price": "x + 1 / x", "other": "rise * fall"},
        "objective": {"minimize": "price"},
    }
    found = dse.what_matters(asked, rows=32, progress=False)
    assert found.still[0] == "price"
    assert "price" in str(found).splitlines()[2]
    assert "do not vary: no uncertain number affects them" in str(found)
    assert found.record()["do_not_vary"][0] == "price"
    assert found.indices[0].name == "other"


def test_a_small_share_that_is_sure_is_not_told_as_none():
    """Shares of variance are 1 and 0.0004: 0 % would stand beside an interval that lies above 0."""
    source = {
        **RUN,
        "given": {**RUN["given"], "large": 0.5, "small": 0.5},
        "define": {"sum": "50 * large + small"},
        "objective": {"minimize": "sum"},
        "uncertain": {"large": {"uniform": [0, 1]}, "small": {"uniform": [0, 1]}},
    }
    (_, _, rows), *_ = matters_text.tables(dse.what_matters(source, rows=512, workers=1, progress=False))
    told = {name: total for name, _, _, total, _ in rows}
    assert float(told["small"].removesuffix(" %")) == pytest.approx(0.04, rel=0.2)
