"""Answers about lists: a row per region, a column per processor, settings by name, nothing lost."""

import dataclasses
import itertools
import math
from xml.etree import ElementTree as Tree

import pytest

import dse
from results.export.jsonable import to_json
from results.solution import Solution, Status
from results.telling.family_tables import decided, reported
from results.telling.parts import Part, cut
from results.telling.render import parts, to_html, to_text

PROCESSORS = ("cpu", "gpu")
SHARES = {"a": (0.25, 0.75), "b": (0.0, 1.0), "c": (1.0, 1e-17)}


def index(names: list[str], dims: tuple[str, ...]) -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    return {n: (n.split(".")[0], tuple(zip(dims, n.split(".")[1:], strict=True))) for n in names}


@pytest.fixture
def shared() -> Solution:
    shares = {f"share.{r}.{p}": x for r, of in SHARES.items() for p, x in zip(PROCESSORS, of, strict=True)}
    first = {n: x for n, x in shares.items() if n.endswith("cpu")}
    last = {n: x for n, x in shares.items() if n.endswith("gpu")}
    of_processors = {"time.cpu": 1.5, "time.gpu": 2e-3, "flops.cpu": 1e9, "flops.gpu": 2e9}
    return Solution(
        Status.OPTIMAL,
        objective=2.0,
        objective_name="time",
        variables=first,
        metrics={"time": 1.5, **last, **of_processors, "advice": 1.0, "kind": 1.0},
        ranges={"share.a.cpu": (0.0, 0.5)},
        units={"time": "s", "time.cpu": "s", "time.gpu": "s", "flops.cpu": "flop", "flops.gpu": "flop"},
        index=index(list(shares), ("region", "processor")) | index(list(of_processors), ("processor",)),
        flags={"advice": ("stay", "run as fast as you can"), "kind": ("slow", "fast")},
    )


def part(solution: Solution, heading: str) -> Part:
    return next(p for p in parts(solution) if p.heading == heading)


def test_shares_stand_by_region_and_processor_the_last_one_included(shared: Solution):
    table = part(shared, "share by region and processor")
    assert table.columns == ("region", "cpu", "gpu", "cpu: optimal range")
    # what rounding leaves of 1 less all others is nothing
    assert table.rows == (("a", "0.25", "0.75", "0 to 0.5"), ("b", "0", "1", ""), ("c", "1", "0", ""))


def test_every_number_of_an_answer_is_shown_once(shared: Solution):
    cells = [cell for p in parts(shared) for row in p.rows for cell in row]
    for shown in ("0.25", "0.75", "1.5 s", "2 ms", "1 Gflop", "2 Gflop"):
        assert shown in cells
    assert not any("." in row[0] for p in parts(shared) for row in p.rows)


def test_metrics_of_processors_are_one_table(shared: Solution):
    table = part(shared, "metrics by processor")
    assert table.columns == ("processor", "time", "flops")
    assert table.rows == (("cpu", "1.5 s", "1 Gflop"), ("gpu", "2 ms", "2 Gflop"))


def test_ranges_of_several_columns_are_marked_and_listed(shared: Solution):
    more = dataclasses.replace(shared, ranges={"share.a.cpu": (0.0, 0.5), "share.b.gpu": (0.9, 1.0)})
    assert part(more, "share by region and processor").rows[:2] == (
        ("a", "0.25 *", "0.75"),
        ("b", "0", "1 *"),
    )
    below = part(more, "optimal range (marked *)")
    assert below.rows == (("share.a.cpu", "0 to 0.5"), ("share.b.gpu", "0.9 to 1"))


def test_what_was_given_completes_its_row(shared: Solution):
    variables = {n: v for n, v in shared.variables.items() if n != "share.b.cpu"}
    partly = dataclasses.replace(shared, variables=variables, given={"share.b.cpu": 0.0})
    assert part(partly, "share by region and processor").rows[1] == ("b", "0 (given)", "1", "")


def test_families_of_the_same_dimensions_share_a_table(shared: Solution):
    apart = {"flops_share.d.cpu": 0.5, "bytes_share.d.cpu": 0.125}
    known = dict(shared.index) | index(list(apart), ("region", "processor"))
    both = dataclasses.replace(shared, variables={**shared.variables, **apart}, index=known)
    rows = part(both, "variables by region and processor").rows
    assert [row[:3] for row in rows[-2:]] == [("d", "flops_share", "0.5"), ("d", "bytes_share", "0.125")]
    assert rows[0] == ("a", "share", "0.25", "0.75", "0 to 0.5")


def test_settings_are_names_and_so_are_their_ranges():
    names = ["setting.fft", "setting.sort"]
    menu = ("fast", "slow", "852-924")
    solution = Solution(
        Status.OPTIMAL,
        variables={"setting.fft": 3.0, "setting.sort": 1.0, "setting": 2.0},
        metrics={"race_setting.fft": 2.0, "race_setting.sort": 1.0},
        ranges={"setting.fft": (1.0, 3.0)},
        index=index([*names, "race_setting.fft", "race_setting.sort"], ("phase",)),
        menus=dict.fromkeys([*names, "setting", "race_setting.fft", "race_setting.sort"], menu),
    )
    (table,) = decided(solution)
    assert table.rows == (("fft", "852-924", "fast, perhaps others"), ("sort", "fast", ""))
    assert reported(solution)[0].rows == (("fft", "slow"), ("sort", "fast"))
    assert part(solution, "variables").rows == (("setting", "slow"),)
    assert part(solution, "variables").columns == ("name", "value")
    record = to_json(solution)
    assert record["variables"] == {"setting.fft": 3.0, "setting.sort": 1.0, "setting": 2.0}
    assert record["names"]["setting.fft"] == "852-924"
    assert record["names"]["race_setting.fft"] == "slow"


@pytest.mark.parametrize(
    ("chosen", "ends", "told"),
    [
        (1.0, (1.0, 2.0), "b"),
        (2.0, (1.0, 3.0), "a, c"),
        (3.0, (1.0, 4.0), "a, d, perhaps others"),
        (1.0, (1.0, 4.0), "d, perhaps others"),
    ],
)
def test_entries_of_a_menu_that_are_as_good_are_named(chosen: float, ends: tuple[float, float], told: str):
    """Only the ends of a range of entries are known to be as good as the chosen one."""
    solution = Solution(
        Status.OPTIMAL,
        variables={"setting": chosen},
        ranges={"setting": ends},
        menus={"setting": ("a", "b", "c", "d")},
    )
    assert part(solution, "variables").rows == (("setting", "abcd"[round(chosen) - 1], told),)


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((2.0, math.inf), "2 and more"),
        ((-math.inf, 4.0), "up to 4"),
        ((-math.inf, math.inf), "any value"),
        ((2.0, 4.0), "2 to 4"),
    ],
)
def test_ranges_without_an_end_read_as_such(ends: tuple[float, float], told: str):
    solution = Solution(Status.OPTIMAL, variables={"processors": 3.0}, ranges={"processors": ends})
    assert part(solution, "variables").rows == (("processors", "3", told),)


def test_a_case_that_is_a_sentence_stands_alone(shared: Solution):
    assert part(shared, "in words").rows == (("advice", "run as fast as you can"),)
    assert ("kind", "fast") in part(shared, "metrics").rows
    assert to_json(shared)["names"] == {"advice": "run as fast as you can", "kind": "fast"}


def test_html_has_the_same_cells(shared: Solution):
    cells = [c.text or "" for c in Tree.fromstring(to_html(shared)).iter("td")]
    for row in part(shared, "share by region and processor").rows:
        assert any(cells[i : i + len(row)] == list(row) for i in range(len(cells)))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_many_processors_are_cut_into_readable_tables(width: int):
    processors = [f"processor{i}" for i in range(20)]
    places = itertools.product(["here", "there"], processors)
    numbers = {f"share.{r}.{p}": 0.001 * (i + 1) for i, (r, p) in enumerate(places)}
    wide = Solution(Status.OPTIMAL, variables=numbers, index=index(list(numbers), ("region", "processor")))
    lines = to_text(wide, width).splitlines()
    assert max(map(len, lines)) <= width
    words = [word for line in lines for word in line.split()]
    assert all(words.count(p) == 1 for p in processors)
    assert all(words.count(f"{x:.6g}") == 1 for x in numbers.values())
    assert "share by region and processor, continued" in lines
    pieces = list(cut(part(wide, "share by region and processor"), width))
    assert len(pieces) > 1
    assert all(p.columns[0] == "region" and [r[0] for r in p.rows] == ["here", "there"] for p in pieces)


def test_a_column_wider_than_the_page_is_still_a_table():
    table = Part("x", ("region", "a" * 50, "b"), (("r", "1", "2"),), leading=1)
    assert [p.columns for p in cut(table, 20)] == [("region", "a" * 50), ("region", "b")]


def test_a_solved_partition_reads_whole():
    """Each region's row sums up to one, and no number of the flat answer is lost."""
    machine = {"cpu": "i7-2600k-tang2017", "gpu": "gtx-titan-tang2017"}
    regions = [{"name": f"part {i}", "flops": 1e9 * i, "bytes": 3e8 * (9 - i)} for i in range(1, 9)]
    regions[2]["divisible"] = False
    regions[4]["independent"] = True
    asked = {
        "model": "partition",
        "machine": machine,
        "given": {"regions": regions},
        "objective": {"minimize": "time"},
    }
    solution = dse.solve(asked)
    table = part(solution, "variables by region and processor")
    assert table.columns[:4] == ("region", "", "cpu", "gpu")
    assert len(table.rows) == 9
    assert all(float(row[2]) + float(row[3]) == pytest.approx(1, abs=1e-5) for row in table.rows)
    assert [row[1] for row in table.rows if row[0] == "part 5"] == ["flops_share", "bytes_share"]
    text = to_text(solution)
    assert max(map(len, text.splitlines())) <= 100
    assert "share.part" not in text.partition("optimal range (marked")[0]
    advice = part(solution, "in words").rows
    assert [name for name, _ in advice] == ["performance_guideline", "energy_guideline"]
