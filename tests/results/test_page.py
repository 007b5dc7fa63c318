"""The page as text: what is in it, and that nothing from a file becomes markup."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse.reporting import reports
from results import page, plot
from results.page import Insides, Page, Section, document
from results.page.insides import Sum

ALIEN = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class _Reader(HTMLParser):
    """Counts elements and attributes as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]


def front(title: str = "A front", points: int = 3) -> xr.Dataset:
    along = np.arange(points, dtype=float)
    return xr.Dataset(
        {
            "objective": ("front", along + 1, {"units": "J"}),
            "energy": ("front", along + 1, {"units": "J", "long_name": f"energy {title}"}),
            "time": ("front", 1 / (along + 1), {"units": "s"}),
            "status": ("front", np.ones(points, np.int8)),
            "gap": ("front", np.full(points, 1e-9)),
            "machine": (
                "front",
                np.zeros(points, np.int32),
                {
                    "flag_values": [-1, 0],
                    "flag_meanings": "not_decided alien",
                    "choices": json.dumps([title]),
                },
            ),
            "share": (("front", "region"), np.tile([0.25, 0.75], (points, 1)), {"units": "1"}),
            "binding": (("front", "limit"), np.tile([1, 0], (points, 1)).astype(np.int8)),
        },
        {"front": along, "region": ["a", "b"], "limit": ["power", title]},
        {"objectives": json.dumps({"energy": "min", "time": "min"})},
    )


def fronts(title: str = "Fronts") -> xr.Dataset:
    """Fronts over an axis: of three designs, of one that the first betters, and of none, with an enclosure."""
    axis = ("cap", [1.0, 2.0, 3.0], {"units": "W", "long_name": f"power {title}"})
    nan = np.nan
    return xr.Dataset(
        {
            "energy": (("cap", "front"), [[1.0, 2, 4], [3, nan, nan], [nan] * 3], {"units": "J"}),
            "time": (("cap", "front"), [[4.0, 2, 1], [3, nan, nan], [nan] * 3], {"units": "s"}),
            "status": (("cap", "front"), np.array([[1, 1, 1], [1, 0, 0], [0] * 3], np.int8)),
            "dominated": (
                ("cap", "front"),
                np.array([[0, 0, 0], [1, 0, 0], [0] * 3], np.int8),
                {"flag_values": [0, 1], "flag_meanings": "not_dominated dominated"},
            ),
            "enclosure_at": (("cap", "enclosure"), [[1.0, 2, 4], [nan] * 3, [nan] * 3]),
            "enclosure_lower": (
                ("cap", "enclosure"),
                [[3.9, 1.9, 0.9], [nan] * 3, [nan] * 3],
                {"long_name": "straight in logarithms from place to place"},
            ),
            "enclosure_upper": (("cap", "enclosure"), [[4.0, 2, 1], [nan] * 3, [nan] * 3]),
            "enclosure_width": ("cap", [0.1, nan, nan]),
            "enclosure_proof": ("cap", ["chords and tangents", "", ""]),
            "front_conflict": ("cap", ["", "", json.dumps({"power": None, title: 1.0})]),
        },
        {"cap": axis, "front": np.arange(3.0)},
        {"objectives": json.dumps({"energy": "min", "time": "min"}), "title": title},
    )


def numbers(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found.group(1))


def test_text_of_a_file_stays_text_everywhere():
    made = Page(
        ALIEN,
        answer=[(ALIEN, ALIEN)],
        question=ALIEN,
        table=page.of_dataset(front(ALIEN)),
        sections=[Section(ALIEN, [ALIEN], [(ALIEN, [ALIEN], [[ALIEN]])], ALIEN)],
        rates={ALIEN: 1.0},
        insides=Insides((Sum(ALIEN, ALIEN, {ALIEN: [1.0]}),)),
    )
    text = page.html(made)
    swept = page.html(Page(ALIEN, table=page.of_dataset(fronts(ALIEN))))
    assert "img" not in _Reader(swept).tags
    plain = page.html(Page("plain", table=page.of_dataset(front()), rates={"x": 1.0}))
    assert _Reader(text).tags.count("script") == _Reader(plain).tags.count("script")
    assert "img" not in _Reader(text).tags
    assert not [a for a in _Reader(text).attributes if a[1].startswith("on")]
    assert numbers(text)["title"] == ALIEN


def test_the_page_asks_for_no_other_file():
    read = _Reader(page.html(Page("a page", table=page.of_dataset(front()))))
    assert [a for a in read.attributes if a[1] in {"src", "href"} and a[2] != "data:,"] == []


def test_a_page_without_pictures_carries_no_plotting_library():
    assert len(page.html(Page("an answer", answer=[("status", "optimal")]))) < 20_000


def test_columns_have_roles_units_and_one_number_a_point():
    table = page.of_dataset(front(), decided=["share.a"])
    roles = {c.name: c.role for c in table.columns}
    assert roles["energy"] == roles["time"] == "objective"
    assert roles["share a"] == roles["share b"] == "decided"
    assert "objective" not in roles
    assert all(len(c.values) == 3 for c in table.columns)
    (time,) = (c for c in table.columns if c.name == "time")
    assert time.unit == "s"
    assert time.values == (1.0, 0.5, 0.333333)
    assert table.limits == (("power",),) * 3


def test_a_front_tells_its_exchange_rates_and_nothing_else_does():
    data = numbers(page.html(Page("a front", table=page.of_dataset(front()))))
    # time is 1/energy: one percent more energy brings 1/1.01 of the time; printed to three digits
    assert data["places"][0]["exchange"] == [[1.0, -0.99]] * 2 + [None]


def test_a_front_tells_its_width_as_its_picture_does_and_no_column_of_limits_is_empty():
    made = front().drop_vars("objective").assign_attrs(enclosure_width=1.36)
    told = page.html(reports.of_dataset(made))
    assert "the front is known to within 136 %" in told
    assert "binds at designs" in told
    assert "1 % more of it changes" not in told
    made["elasticity"] = (("front", "limit"), np.full((3, 2), -0.5))
    assert "1 % more of it changes" in page.html(reports.of_dataset(made))


def test_fronts_over_an_axis_lie_one_after_the_other_and_those_without_points_say_why():
    first, second, none = page.of_dataset(fronts()).places
    assert [(p.first, p.count) for p in (first, second, none)] == [(0, 3), (3, 1), (4, 0)]
    assert [p.at for p in (first, second, none)] == [("1 W",), ("2 W",), ("3 W",)]
    assert none.refusal == "no design: power and Fronts cannot hold together"
    table = page.of_dataset(fronts())
    columns = {c.name: c for c in table.columns}
    # what fills the fronts up to the longest is not a design
    assert columns["cap"].values == (1.0, 1.0, 1.0, 2.0)
    assert [columns["dominated"].labels[int(v)] for v in columns["dominated"].values] == [
        "not_dominated", "not_dominated", "not_dominated", "dominated",
    ]  # fmt: skip
    assert table.status == ("optimal",) * 4


def test_a_front_without_points_has_a_page_that_says_why():
    empty = front(points=0).assign_attrs(
        objectives='{"energy": "min", "time": "min"}', conflict='{"power": 2.0}'
    )
    text = page.html(Page("nothing", table=page.of_dataset(empty)))
    assert "no design: power cannot be met" in text
    assert 'id="designs"' not in text


def test_an_enclosure_bends_as_it_is_proved_and_holds_its_front():
    (place, *_) = page.of_dataset(fronts()).places
    ((x, y),) = place.band
    half = len(x) // 2
    lower, upper = np.array(y[:half]), np.array(y[half:])[::-1]
    # chords that are straight in logarithms: at the middle between 1 J and 2 J, 4 s and 2 s
    at = np.interp(np.log(np.sqrt(2)), np.log(x[:half]), np.log(upper))
    # the page rounds to six digits
    assert np.exp(at) == pytest.approx(np.sqrt(8), rel=1e-5)
    assert (lower <= upper).all()
    assert (place.width, place.proof) == (0.1, "chords and tangents")


@pytest.mark.parametrize("times", [(3.76, 0.3, 0.02, 0.015), (2e-4, 3e-5, 9e-6), (9e7, 4e5, 3e5, 1e5)])
def test_designs_lie_in_their_enclosure_in_whatever_unit_they_are_shown(times: tuple[float, ...]):
    """Over several prefixes the one of the largest number is not the one with which most are short."""
    made = front(points=len(times)).drop_vars("status")
    made["time"] = ("front", np.array(times), {"units": "s"})
    made["status"] = ("front", np.ones(len(times), np.int8))
    about = {"long_name": "straight in logarithms from place to place"}
    made["enclosure_at"] = ("enclosure", made["energy"].values)
    made["enclosure_lower"] = ("enclosure", 0.99 * made["time"].values, about)
    made["enclosure_upper"] = ("enclosure", 1.01 * made["time"].values)
    table = page.of_dataset(made)
    (shown,) = (c.values for c in table.columns if c.name == "time")
    (place,) = table.places
    ((_, band),) = place.band
    assert [min(band), max(band)] == pytest.approx([0.99 * min(shown), 1.01 * max(shown)], rel=1e-5)


def test_what_is_told_beside_an_objective_is_in_its_unit():
    """A page draws the spread over fresh samples round the objective, and puts its bound beside it."""
    times = np.array([0.01, 0.02, 0.4, 30.0])
    beside = {n: ("x", by * times, {"units": "s"}) for n, by in (("fresh_q05", 0.06), ("fresh_q95", 300.0))}
    made = xr.Dataset(
        {
            "status": ("x", np.ones(4, np.int8)),
            "time": ("x", times, {"units": "s"}),
            "bound": ("x", [1e-6, 1e-6, 1e-6, 30.0], {"units": "s"}),
            **beside,
        },
        {"x": np.arange(4.0)},
        {"objectives": json.dumps({"time": "min"})},
    )
    columns = {c.name: c for c in page.of_dataset(made).columns}
    assert {columns[n].unit for n in ("time", "bound", *beside)} == {columns["time"].unit}
    assert columns["fresh_q95"].values == pytest.approx([300 * v for v in columns["time"].values])


def test_numbers_that_have_no_room_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch):
    dataset = front(points=300)
    for i in range(9):
        dataset[f"other{i}"] = ("front", np.random.default_rng(i).random(300), {"units": "1"})
    whole = page.html(Page("all", table=page.of_dataset(dataset)))
    monkeypatch.setattr(document, "LARGEST_PAGE", len(whole) - 5000)
    data = numbers(page.html(Page("less", table=page.of_dataset(dataset))))
    names = [c["name"] for c in data["columns"]]
    assert names[:2] == ["energy", "time"]
    assert data["dropped"]
    assert set(data["dropped"]) <= {f"other{i}" for i in range(9)} | {"share a", "share b", "machine"}
    assert len(names) + len(data["dropped"]) == len(page.of_dataset(dataset).columns)


def test_of_too_many_points_the_ends_of_every_axis_stay():
    sizes = {"a": 40, "b": 30}
    status = np.ones((40, 30), np.int8)
    energy = np.arange(1200.0).reshape(40, 30) + 1
    found = xr.Dataset(
        {"status": (("a", "b"), status), "energy": (("a", "b"), energy, {"units": "J"})},
        {d: np.arange(float(n)) for d, n in sizes.items()},
        {"objectives": json.dumps({"energy": "min"})},
    )
    table = page.of_dataset(found, most=100)
    assert len(table.status) <= 100
    assert table.left_out == 1200 - len(table.status)
    (a, b) = (next(c for c in table.columns if c.name == d) for d in "ab")
    assert (min(a.values), max(a.values), min(b.values), max(b.values)) == (0.0, 39.0, 0.0, 29.0)


def test_axes_rise_whatever_the_order_in_the_file():
    """A heat map paints cells between its coordinates: of those that fall it paints them at wrong places."""
    time, power = [1.0, 0.1, 0.5, 0.01], [1000.0, 10.0, 100.0]
    energy = np.array(time)[:, None] * np.array(power)
    found = xr.Dataset(
        {"status": (("t", "p"), np.ones((4, 3), np.int8)), "energy": (("t", "p"), energy, {"units": "J"})},
        {"t": time, "p": power},
        {"objectives": json.dumps({"energy": "min"})},
    )
    columns = {c.name: np.reshape(c.values, (4, 3)) for c in page.of_dataset(found).columns}
    assert columns["t"][:, 0].tolist() == sorted(time)
    assert columns["p"][0].tolist() == sorted(power)
    assert np.allclose(columns["energy"], columns["t"] * columns["p"])


def test_missing_numbers_are_null_and_codes_are_names():
    found = front()
    found["energy"][1] = np.nan
    data = numbers(page.html(Page("gaps", table=page.of_dataset(found))))
    columns = {c["name"]: c for c in data["columns"]}
    assert columns["energy"]["values"][1] is None
    assert columns["machine"]["labels"][int(columns["machine"]["values"][0])] == "alien"
    # one number stands for all where they are the same
    assert columns["share a"]["values"] == [0.25]


@pytest.mark.parametrize("measure", ["worst", "mean"])
def test_what_is_optimised_over_samples_is_its_measure_not_the_metric(measure: str, tmp_path: Path):
    """The metric of that name is the mean over the samples, in a worst case the nominal value."""
    asked = dse.load(
        {
            "model": "matmul",
            "machine": "balanced",
            "given": {"order": 4096, "memory": 5e5},
            "decide": {"processors": {"values": [64, 128]}},
            "uncertain": {"machine.energy_per_word": {"uniform": [1e-6, 5e-6]}},
            "objective": {"minimize": "energy", "measure": measure},
            "sweep": {"order": {"path": "given.order", "values": [3500, 4096]}},
        }
    )
    swept = dse.sweep(asked, progress=False)
    table = page.of_dataset(swept, ["processors"])
    goal = next(c for c in table.columns if c.role == "objective")
    assert goal.label == f"{measure} of energy"
    found = np.array(goal.values)
    np.testing.assert_allclose(found / found[0], swept["objective"] / swept["objective"][0], rtol=1e-5)
    assert [c.role for c in table.columns if c.name == "energy"] == ["metric"]
    written = tmp_path / "told.md"
    dse.export(swept, written)
    assert "objective" in written.read_text(encoding="utf-8")


def test_a_measure_whose_level_is_swept_is_not_called_by_the_level_of_the_file():
    asked = dse.load("roofline_energy_by_quantile_sweep")
    swept = dse.sweep(asked, progress=False)
    goal = next(c for c in page.of_dataset(swept).columns if c.role == "objective")
    assert goal.label == "quantile of energy"


@pytest.mark.parametrize(
    ("places", "scale"),
    [
        (np.geomspace(0.3, 3.0, 30), "log"),
        (np.geomspace(1.1, 1.9, 4), "log"),
        (np.linspace(0.3, 3.0, 30), "linear"),
        (np.linspace(1.0, 1e4, 30), "linear"),
        (np.array([0.3, 0.5, 2.0, 3.0]), "linear"),
        (np.array([0.3, 0.5, 2e4, 3e4]), "log"),
        (np.geomspace(0.3, 3.0, 30)[::-1], "log"),
        # of so many a page has only some, whose ratios are not all alike
        (np.geomspace(0.3, 3.0, 50_000), "log"),
    ],
)
def test_an_axis_has_the_scale_of_its_steps_in_a_page_as_in_a_picture(places: np.ndarray, scale: str):
    data = {
        "energy": ("cap", 2 * places, {"units": "J"}),
        "status": ("cap", np.ones(places.size, np.int8)),
    }
    swept = xr.Dataset(data, {"cap": ("cap", places, {"units": "kW"})}, {"objectives": '{"energy": "min"}'})
    axis = next(c for c in page.of_dataset(swept).columns if c.name == "cap")
    assert ("log" if axis.log else "linear") == scale
    assert plot.sweep(swept).axes[0].get_xscale() == scale
