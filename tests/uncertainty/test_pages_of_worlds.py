"""Pictures and pages of worlds, and of designs that are decided before the worlds are known."""

from __future__ import annotations

import base64
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from plain_roofline import PRICE

import dse
from dse.cli import main
from dse.reporting import reports
from dse.uncertain import indices
from results import page, plot
from results.differing import drawn_worlds
from results.telling import render, words
from results.telling.fresh import Estimate
from results.uncertainty import worlds_text
from results.uncertainty.worlds import number, summarised

LATER: dict[str, Any] = {
    "title": "Price of x",
    **PRICE,
    "objective": {"minimize": "price"},
    "uncertain": {
        "rise": {"uniform": [0.2, 1.8]},
        "fall": {"uniform": [0.8, 1.2]},
        "sampling": {"samples": 64},
    },
}
NOW = {
    **LATER,
    "objective": {"minimize": "price", "measure": "mean"},
    "sweep": {"least": {"path": "decide.x.min", "values": [0.5, 2.0, 4.0]}},
}
FRONT = {
    **LATER,
    "objective": {
        "minimize": ["mean", "tail"],
        "measures": {"mean": {"of": "price", "measure": "mean"}, "tail": {"of": "price", "cvar": 0.9}},
    },
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = str(tmp_path_factory.mktemp("worlds") / "w.zarr")
    dse.uncertainty(LATER, store, progress=False)
    return store


@pytest.fixture(scope="module")
def swept() -> xr.Dataset:
    return dse.sweep(NOW, progress=False)


def test_the_page_of_worlds_has_their_pictures_and_a_column_for_each_axis(worlds: str):
    """The script of a page looks for the column of each axis; of rows it also draws over what stands in them."""
    made = reports.of_dataset(dse.open(worlds))
    assert made.table is not None
    axes = {c.name for c in made.table.columns if c.role == "axis"}
    assert axes == {"sample", "rise", "fall"}
    assert made.table.rows == {"sample": ("rise", "fall")}
    text = page.html(made)
    (drawn,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="[^"]+">', text)
    svg = base64.b64decode(drawn).decode()
    assert svg.lstrip().startswith("<?xml")
    assert "<script" not in svg
    assert text.index("<img") < text.index("Over the grid")
    assert dict(made.answer)["question"].startswith("Least price of roofline")


def test_a_page_made_from_the_file_has_the_fixed_design_too():
    made = reports.of_scenario(dse.load(LATER), progress=False)
    (section,) = [s for s in made.first if s.heading == "Samples"]
    assert any(name.startswith("A fixed design") for name, _, _ in section.tables)


def test_a_page_shows_the_indices_as_bars_with_their_intervals(monkeypatch: pytest.MonkeyPatch):
    """The indices on the page are those that ``dse.what_matters`` tells."""
    found = dse.what_matters(LATER, rows=16, workers=1, progress=False)
    asked: list[Any] = []
    monkeypatch.setattr(indices, "matters", lambda _, rows: asked.append(rows) or found)
    made = reports.with_indices(dse.load(LATER), rows=16)
    assert [s.heading for s in made.first] == ["Samples", "What matters"]
    told = made.first[1]
    ((svg, narrow, _),) = told.pictures
    assert svg.lstrip().startswith("<?xml")
    # drawn once more for a telephone, where panels stand below each other
    width, other = (float(re.search(r'width="([\d.]+)pt"', s).group(1)) for s in (svg, narrow))  # type: ignore[union-attr]
    assert other < width / 1.5
    assert page.html(made).count('media="screen and (max-width: 40rem)"') == 2
    name, head, rows = told.tables[0]
    assert name.startswith("What moves price")
    assert head[1:] == ("first order", "95 % interval", "total", "95 % interval")
    price, *_ = found.indices
    assert [r[0] for r in rows] == ["rise", "fall"]
    assert float(rows[0][1].split()[0]) == pytest.approx(100 * price.first[0].value, rel=5e-3)
    low, high = re.fullmatch(r"(\S+) to (\S+) %", rows[0][4]).groups()  # type: ignore[union-attr]
    assert (float(low), float(high)) == pytest.approx([100 * e for e in price.total[0].interval], rel=5e-3)
    assert page.html(made).count("<img") == 2
    assert asked == [16]


def test_indices_of_an_answer_are_refused_by_the_page(worlds: str, tmp_path: Path):
    """Each mistake has one message and exit code 2, and no page is written."""
    target = str(tmp_path / "w.html")
    for options, wrong in (
        ([worlds, "--indices"], "give the scenario in place of"),
        (["nbody_deadline", "--samples", "64"], "add --indices"),
        (["nbody_deadline", "--indices"], "nothing is uncertain"),
    ):
        ran = CliRunner().invoke(main, ["report", *options, "-o", target])
        assert ran.exit_code == 2, ran.output
        assert wrong in " ".join(ran.output.split())
        assert not Path(target).exists()
    with pytest.raises(ValueError, match="give the scenario"):
        dse.report(worlds, target, indices=True)


def test_the_difference_of_two_studies_names_the_draws_or_the_distribution(worlds: str, tmp_path: Path):
    def told(**changes: Any) -> list[tuple[str, str, str, str]]:
        other = tmp_path / f"{len(list(tmp_path.iterdir()))}.zarr"
        asked = {**LATER, "uncertain": {**LATER["uncertain"], **changes}}
        dse.uncertainty(asked, str(other), workers=1, progress=False)
        rows = drawn_worlds.differences(dse.open(worlds), dse.open(other), "question")
        return [(r.name, r.first, r.second, r.note) for r in rows]

    ((what, first, second, note),) = told(rise={"uniform": [0.4, 1.8]})
    assert (what, note) == ("uncertain rise", "another distribution: the draws are the same")
    assert first.startswith("median 1")
    assert second.startswith("median 1.1")
    draws, *numbers = told(sampling={"samples": 64, "seed": 5})
    assert draws[:3] == ("how samples were drawn", "sobol, seed 0", "sobol, seed 5")
    assert [(n[0], n[3]) for n in numbers] == [
        (f"uncertain {n}", "the draws differ") for n in ("rise", "fall")
    ]
    # hypercubes of unlike sizes have no draws in common, so that nothing is said of distributions
    many, few = (
        dse.uncertainty(
            {**LATER, "uncertain": {**LATER["uncertain"], "sampling": {"samples": n, "method": "latin"}}},
            workers=1,
            progress=False,
        ).samples
        for n in (16, 8)
    )
    notes = [r.note for r in drawn_worlds.differences(many, few, "question")]
    assert notes == ["the draws differ"] * 2
    # fewer worlds of the same sequence: their number is told by the grid
    assert told(sampling={"samples": 32}) == []


def test_an_exported_picture_of_worlds_is_that_of_their_distributions(
    worlds: str, tmp_path: Path, monkeypatch: Any
):
    drawn = []
    monkeypatch.setattr(
        plot, "worlds", lambda found, real=plot.worlds: drawn.append(found.count) or real(found)
    )
    ran = CliRunner().invoke(main, ["export", worlds, "-o", str(tmp_path / "w.png")])
    assert ran.exit_code == 0, ran.output
    assert drawn == [64]


def test_a_sweep_of_designs_decided_now_shows_ninety_percent_of_fresh_samples(swept: xr.Dataset):
    panel = plot.sweep(swept).axes[0]
    assert "90 % of fresh samples" in [c.get_label() for c in panel.collections]
    low, high = panel.get_ylim()
    assert low <= swept["fresh_q05"].min() < swept["fresh_q95"].max() <= high


def test_the_page_says_measure_and_what_is_uncertain(swept: xr.Dataset):
    told = dict(reports.of_dataset(swept).answer)["question"]
    assert told.startswith("Least mean of price of roofline")
    assert "uncertain: rise, fall (64 samples)" in told
    columns = {c.name for c in page.of_dataset(swept).columns}
    assert {"fresh_mean", "fresh_q05", "fresh_q95"} <= columns
    assert not {"fresh_mean_low", "promised"} & columns


def test_a_front_shows_fresh_samples_with_intervals():
    found = dse.front(FRONT, points=3, progress=False)
    panel = plot.front(found).axes[0]
    labels = panel.get_legend_handles_labels()[1]
    assert "in fresh samples, 95 % interval" in labels
    assert any(label.startswith("least mean of price: ") for label in labels)
    told = dict(reports.of_dataset(found).answer)["question"]
    assert told.startswith(
        "Least mean (mean of price) and least tail (mean of the worst 10 % of price) of roofline"
    )


def test_an_end_that_few_worlds_do_not_tell_is_not_written_as_infinite():
    few = dse.uncertainty(
        {**LATER, "uncertain": {**LATER["uncertain"], "sampling": {"samples": 16}}}, progress=False
    )
    assert "inf " not in str(few)
    assert "at least" in str(few)
    assert worlds_text.between(Estimate(0.2, -math.inf, 0.3)) == "at most 30 %"
    assert worlds_text.between(Estimate(0.2, -math.inf, math.inf)) == "too few samples to say"
    assert worlds_text.between(Estimate(0.2, 0.1, 0.3)) == "10 to 30 %"


def _worst(**limits: Any) -> Any:
    return dse.solve(
        {
            "model": "nbody",
            "machine": "dgx-h100",
            "given": {"bodies": 1e8, "flops_per_pair": 20},
            "decide": {"processors": {"max": 4096}, "memory": {}},
            "uncertain": {"machine.energy_per_flop": {"uniform": ["1 pJ/flop", "10 pJ/flop"]}},
            "objective": {"minimize": "energy", "measure": "worst"},
            "limits": {"time": {"max": "2 s"}, **limits},
        }
    )


def test_an_answer_at_one_vertex_tells_nominal_metrics_from_those_at_the_worst():
    answer = _worst()
    assert answer.worlds == 1
    told = next(p for p in render.parts(answer) if p.heading.startswith("metrics"))
    assert told.columns == ("name", "nominal", "at the vertex")
    rows = {name: beside for name, _, beside in told.rows}
    assert rows["energy"] == words.objective(answer)
    assert rows["time"] == ""
    assert answer.metrics["energy"] < answer.objective


def test_the_page_of_a_worst_case_says_so_and_of_no_samples():
    answer = _worst()
    made = reports.of_solution(answer)
    assert made.headline.startswith("Least worst of energy over all values of 1 number: ")
    assert "samples" not in dict(made.answer)["question"]
    assert all(s.title.endswith(" (nominal)") for s in made.insides.sums)
    assert made.insides.sums


def test_the_headline_of_a_mean_says_that_it_is_one():
    asked = {k: v for k, v in NOW.items() if k != "sweep"}
    found = reports.of_solution(dse.solve(asked))
    assert found.headline.startswith("Least mean of price over 64 samples: ")
    assert "(64 samples)" in dict(found.answer)["question"]


def test_a_metric_that_is_infinite_in_all_or_some_samples_is_told_as_such(worlds: str):
    answered = dse.open(worlds).load()
    sample = answered["sample"]
    every = xr.full_like(answered["objective"], math.inf)
    some = sample.astype(float).where(sample <= 48, math.inf)
    found = summarised(answered.assign(never=every.drop_attrs(), rarely=some.drop_attrs()))
    told = {n.name: n for n in found.numbers}
    never, rarely = told["never"], told["rarely"]
    assert {never.mean.value, never.median.value, never.least, *never.ninety, *never.mean.interval} == {
        math.inf
    }
    assert rarely.mean.value == math.inf
    assert rarely.median.value == pytest.approx(32.5)
    assert rarely.ninety == (pytest.approx(4.15), math.inf)
    rows = {row[0]: row[1:] for row in worlds_text.tables(found)[0][2]}
    assert rows["never"] == ["inf", "inf", "inf", "inf"]
    assert "nan" not in str(found)
    plot.worlds(replace(found, numbers=(never, rarely), winners={}, binding=(), fixed=None))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1, -math.inf, math.inf, 3], ["2 s", "-inf to inf s", "–", "–"]),
        ([1, 2, 3, math.inf], ["2.5 s", "1.15 to inf s", "inf s", "inf s"]),
        ([1, 2, 3, -math.inf], ["1.5 s", "-inf to 2.85 s", "-inf s", "-inf s"]),
        ([1, *[-math.inf] * 3, *[math.inf] * 3], ["1 s", "-inf to inf s", "–", "–"]),
        ([*[-math.inf] * 3, *[math.inf] * 3], ["–", "-inf to inf s", "–", "–"]),
        ([4.0], ["4 s", "4 s", "4 s", "too few samples to say"]),
    ],
)
def test_ends_of_samples_are_no_bounds_that_are_unknown(worlds: str, values: list[float], told: list[str]):
    found = summarised(dse.open(worlds))
    of = number("x", "metric", "s", np.array(values, float))
    assert list(worlds_text.tables(replace(found, numbers=(of,)))[0][2][0][1:]) == told


@pytest.mark.parametrize(("last", "median"), [(48, True), (24, False)])
def test_a_histogram_has_shares_of_all_samples_also_where_some_are_infinite(
    worlds: str, last: int, median: bool
):
    answered = dse.open(worlds).load()
    sample = answered["sample"]
    some = sample.astype(float).where(sample <= last, math.inf)
    found = summarised(answered.assign(rarely=some.drop_attrs()))
    drawn = tuple(n for n in found.numbers if n.name == "rarely")
    figure = plot.worlds(replace(found, numbers=drawn, winners={}, binding=(), fixed=None))
    panel = figure.axes[0]
    count = int((sample <= last).sum())
    bars = [p for p in panel.patches if p.get_alpha() is None]
    assert sum(p.get_height() for p in bars) == pytest.approx(100 * count / 64)
    assert f"infinite in {64 - count} of 64 samples" in panel.get_xlabel()
    assert ("so is the median" in panel.get_xlabel()) != median
    legends = [t.get_text() for box in figure.legends for t in box.get_texts()]
    assert ("median" in legends) == median
    (band,) = (p for p in panel.patches if p.get_alpha() is not None)
    assert band.get_x() + band.get_width() == pytest.approx(panel.get_xlim()[1])


def test_what_is_picked_from_a_list_is_drawn_once_and_at_its_values():
    """Two lists have panels of which value wins; a third one has a bar at each of its values, and nothing between."""
    menu = {"values": [300, 500, 3000, 8000]}
    asked = {
        "model": "nbody",
        "machine": "balanced",
        "given": {"bodies": 6e4, "flops_per_pair": 12},
        "decide": {"processors": {"powers_of": 2, "max": 4096}, "memory": menu},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "1 s"}},
        "uncertain": {
            "machine.time_per_flop": {"uniform": ["0.1 ns/flop", "10 ns/flop"]},
            "machine.energy_per_word": {"uniform": ["1 nJ/word", "900 nJ/word"]},
            "sampling": {"samples": 16},
        },
    }
    found = dse.uncertainty(asked, workers=1, progress=False)
    drawn = {n for n in found.winners if len(found.winners[n]) > 1}
    assert drawn == {"processors", "memory"}
    panels = plot.worlds(found).axes
    titles = [a.get_xlabel() for a in panels]
    assert {a.get_xlim() for a in panels if a.get_xlabel().endswith("(% of samples)")} == {(0.0, 100.0)}
    assert titles[1:3] == ["which processors wins (% of samples)", "which memory wins (% of samples)"]
    assert not [t for t in titles if t.startswith(("processors", "memory"))]
    one = replace(
        found, winners={"other": found.winners["memory"], "next": found.winners["memory"]} | found.winners
    )
    (panel,) = (a for a in plot.worlds(one).axes if a.get_xlabel().startswith("memory"))
    bars = [(p.get_x(), p.get_width(), p.get_height()) for p in panel.patches if p.get_height() > 1]
    assert len(bars) == len(found.winners["memory"])
    assert sum(h for *_, h in bars) == pytest.approx(100.0)
    assert all((b[0] - a[0]) > a[1] for a, b in itertools.pairwise(bars))
