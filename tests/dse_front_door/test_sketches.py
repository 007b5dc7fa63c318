"""Small plots: drawn on terminals that can show them, in signs that these have; never into a pipe."""

import os
import sys
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from dse.commands.terminal import sketch
from dse.commands.terminal.sketch import Series, Sketch, Terminal

TWO = Sketch(
    "time (µs) over energy (J)",
    (
        Series("cap: 1 µW", [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
        Series("cap: 2 µW", [1.0, 3.0], [1.0, 0.5], line=True),
    ),
    (False, False),
)
FULL = Terminal(60)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the program takes for standard output: here a terminal of 100 columns."""
    found = SimpleNamespace(encoding="utf-8", isatty=lambda: True)
    monkeypatch.setattr(sketch, "sys", SimpleNamespace(stdout=found))
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((100, 40)))
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_terminal_says_what_it_can_show(screen: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    assert sketch.terminal() == Terminal(72)
    monkeypatch.setenv("NO_COLOR", "1")
    screen.encoding = "ANSI_X3.4-1968"
    assert sketch.terminal() == Terminal(72, colours=False, unicode=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((66, 40)))
    assert sketch.terminal() == Terminal(50, colours=False, unicode=False)
    for small in ((50, 40), (100, 10)):
        monkeypatch.setattr("shutil.get_terminal_size", lambda small=small, **_: os.terminal_size(small))
        assert sketch.terminal() is None


def test_nothing_is_drawn_into_pipes_and_on_dumb_terminals(
    screen: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    sketch.show(sketch.front, front())
    assert "energy (J) over time (s)" in capsys.readouterr().out
    monkeypatch.setenv("TERM", "dumb")
    sketch.show(sketch.front, front())
    monkeypatch.delenv("TERM")
    screen.isatty = lambda: False
    sketch.show(sketch.front, front())
    assert capsys.readouterr().out == ""


def test_series_are_told_apart_by_colours_or_by_signs():
    coloured = sketch.draw(TWO, FULL)
    assert "\x1b[34m" in coloured
    assert "\x1b[31m" in coloured
    plain = sketch.draw(TWO, Terminal(60, colours=False))
    assert "\x1b" not in plain
    legend = plain.splitlines()[-1]
    assert "cap: 1 µW" in legend
    first, second = legend.strip()[0], legend.split("cap: 2")[0].split()[-1][0]
    body = [line for line in plain.splitlines() if line.startswith("│")]
    assert first != second
    assert sum(line.count(first) for line in body) == 3
    assert any(second in line for line in body)


def test_nothing_is_compiled_to_draw_a_few_lines():
    """With numba uniplot compiles for five seconds where it draws lines for the first time."""
    sketch.draw(TWO, FULL)
    assert isinstance(sys.modules["uniplot.pixel_matrix"]._render_batch_of_lines, FunctionType)
    import numba

    assert sys.modules["numba"] is numba


def test_what_has_no_characters_beyond_ascii_gets_none():
    drawn = sketch.draw(TWO, Terminal(60, unicode=False))
    assert drawn.isascii() or "\x1b" in drawn
    lines = sketch.draw(TWO, Terminal(60, colours=False, unicode=False)).splitlines()
    assert all(line.isascii() for line in lines)
    assert lines[0].strip() == "time (us) over energy (J)"
    assert lines[1] == "+" + "-" * 60 + "+"
    assert max(map(len, lines)) <= 60 + sketch.BESIDE


def front(machines: int = 0) -> xr.Dataset:
    energy, names = np.array([100.0, 40.0, 25.0]), np.array([f"m{i}" for i in range(machines)])
    scale = np.arange(1.0, machines + 1)[:, None] if machines else 1.0
    dims = ("machine", "front") if machines else ("front",)
    data = {
        "time": (dims, scale * np.array([1.0, 2.0, 3.0]), {"units": "s"}),
        "energy": (dims, scale * energy, {"units": "J"}),
    }
    found = xr.Dataset(data, {"machine": names} if machines else None)
    return found.assign(status=(dims, np.ones(found["time"].shape, "int8"))).assign_attrs(
        objectives='{"energy": "min", "time": "min"}'
    )


def test_fronts_are_series_of_points_while_they_can_be_told_apart():
    one = sketch.front(front())
    assert one is not None
    assert one.title == "energy (J) over time (s)"
    np.testing.assert_array_equal(one.series[0].y, [100.0, 40.0, 25.0])
    two = sketch.front(front(2))
    assert two is not None
    assert [s.label for s in two.series] == ["machine: m0", "machine: m1"]
    many = sketch.front(front(9))
    assert many is not None
    assert [len(s.x) for s in many.series] == [27]
    assert sketch.front(front().isel(front=[0])) is None, "one point is not a plot"


def swept(caps: int, sense: str = "min") -> xr.Dataset:
    """Energy rises with the cap and falls with the deadline, of which there are nine."""
    deadline, cap = np.geomspace(1e-3, 1.0, 9), np.arange(1.0, caps + 1)
    values = cap / deadline[:, None]
    dims = ("deadline", "cap")
    data = {"objective": (dims, values, {"units": "J"}), "status": (dims, np.ones(values.shape, "int8"))}
    coordinates = {"deadline": ("deadline", deadline, {"units": "s"}), "cap": ("cap", cap, {"units": "W"})}
    return xr.Dataset(data, coordinates, {"objectives": f'{{"energy": "{sense}"}}'})


def test_few_values_of_the_other_axes_are_lines():
    few = sketch.sweep(swept(2))
    assert few is not None
    assert few.title == "least energy (J) over deadline (s)"
    assert few.log == (True, True)
    assert [s.label for s in few.series] == ["cap: 1 W", "cap: 2 W"]


@pytest.mark.parametrize(("sense", "word", "best"), [("min", "least", 2.0), ("max", "greatest", 8.0)])
def test_of_many_values_of_the_other_axes_the_best_answer_is_taken(sense: str, word: str, best: float):
    many = swept(8, sense)
    many["status"].loc[{"cap": 1.0}] = 3  # no design: its number is not an answer
    planned = sketch.sweep(many.transpose())
    assert planned is not None
    assert planned.title == f"{word} energy (J) over deadline (s), the best of cap"
    (line,) = planned.series
    np.testing.assert_allclose(line.y, best / many["deadline"].values, rtol=1e-12)


def test_nothing_to_see_is_no_plot():
    assert sketch.sweep(swept(2).assign_attrs(objectives="{}")) is None
    assert sketch.sweep(swept(1).isel(deadline=[0])) is None
