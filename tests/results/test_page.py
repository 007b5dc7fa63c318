"""The page as text: what is in it, and that nothing from a file becomes markup."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import xarray as xr

from results import page
from results.page import Page, Section

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
    )
    text = page.html(made)
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
    # time is 1/energy: one percent more energy brings one percent less time; printed to four digits
    assert data["exchange"] == [pytest.approx(-1.0, abs=1e-4)] * 2 + [None]


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


def test_missing_numbers_are_null_and_codes_are_names():
    found = front()
    found["energy"][1] = np.nan
    data = numbers(page.html(Page("gaps", table=page.of_dataset(found))))
    columns = {c["name"]: c for c in data["columns"]}
    assert columns["energy"]["values"][1] is None
    assert columns["machine"]["labels"][int(columns["machine"]["values"][0])] == "alien"
