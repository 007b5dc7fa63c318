"""Measurements are read with their units, and bad ones are refused with everything that is wrong."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dse.fitting import FittingError
from dse.fitting.reading import Column, Measurements, read

COLUMNS = (
    Column("flops", "flop", ("W",), required=True),
    Column("time", "s", required=True, positive=True),
    Column("core_voltage", "V", positive=True),
    Column("role", text=True),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.csv"


def of(text: str, file: Path) -> Measurements:
    file.write_text(text, encoding="utf-8")
    return read(file, COLUMNS)


def refusal(text: str, file: Path) -> str:
    with pytest.raises(FittingError) as caught:
        of(text, file)
    assert str(caught.value).startswith(f"{file} cannot be fitted:")
    return str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff", "# a remark\n\n"])
def test_headers_carry_units(separator: str, start: str, file: Path):
    text = "flops [Gflop],Time (ms),core voltage [mV],role,room\n1,2.5,900, T,a\n\n3e1,4,1e3,V,b\n"
    found = of(start + text.replace(",", separator), file)
    assert found.numbers["flops"] == pytest.approx([1e9, 3e10], rel=1e-15)
    assert found.numbers["time"] == pytest.approx([2.5e-3, 4e-3], rel=1e-15)
    assert found.numbers["core_voltage"] == pytest.approx([0.9, 1.0], rel=1e-15)
    assert found.texts["role"] == ("T", "V")
    assert (found.runs, found.unused, len(found.digest)) == (2, ("room",), 64)


def test_a_frame_and_a_mapping_are_read_like_a_file(file: Path):
    from_file = of("W [flop],time [ms]\n1,2\n3,4\n", file)
    columns = {"W [flop]": [1.0, 3.0], "time [ms]": np.array([2.0, 4.0])}
    for data in (columns, pd.DataFrame(columns)):
        found = read(data, COLUMNS)
        assert {k: v.tolist() for k, v in found.numbers.items()} == {
            k: v.tolist() for k, v in from_file.numbers.items()
        }
        assert found.digest == read(dict(columns), COLUMNS).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["empty"]),
        ("flops,time\n", ["no runs"]),
        ("flop,tme [s]\n1,2\n", ["column flops [flop] is missing; is it 'flop'?", "is it 'tme'?"]),
        ("a,b\n1,2\n", ["flops [flop] is missing; there are: a, b"]),
        ("flops,W,time\n1,1,1\n", ["flops is there 2 times"]),
        ("flops,time [J]\n1,1\n", ["'time [J]'", "an energy (J), but a time (s)"]),
        ("flops,time [sek]\n1,1\n", ["unknown unit 'sek'"]),
        ("flops [flops],time\n1,1\n", ["ambiguous"]),
        ("flops,time\n1,-1\n", ["'time' of run 1 (line 2) is -1, not a positive number"]),
        ("flops,time\n1,0\n", ["is 0, not a positive number"]),
        ("flops,time\n-1,1\n", ["is -1, not a number, 0 or more"]),
        ("flops,time\n1,1\n# x\n1,nan\n", ["run 2 (line 4) is nan"]),
        ("flops,time\n1,inf\n", ["is inf"]),
        ("flops,time\n1,\n", ["is empty"]),
        ("flops,time\n1,3 s\n", ["is 3 s, not"]),
        ("flops,time\n1,1e999\n", ["is 1e999, not"]),
        ("flops,time\n" + "1,-1\n" * 9, ["run 3", "run 9 (line 10)"]),
        ("flops,time\n" + "1,-1\n" * 130, ["run 100 (line 101)", "… and 30 more"]),
        ("flops,time\n1_000,1\n", ["is 1_000, not"]),
        ('flops,time\n1,"2\n', ["line 2 is not CSV: a quote is not closed"]),
        ("1,2\n3,4\n", ["the first line has numbers only"]),
        ("flops,time_J\n1,1\n", ["an energy (J), but a time (s)"]),
        ("flops,time\n1\n1,x\n1,2,3\n1,2\n", ["line 2 has 1", "(line 3) is x", "line 4 has 3"]),
        ("flops,time\n1\n", ["line 2 has 1 cell, the header has 2"]),
    ],
)
def test_bad_files_are_refused_with_what_is_wrong(text: str, said: list[str], file: Path):
    told = refusal(text, file)
    for words in said:
        assert words in told, told


def test_all_that_is_wrong_is_told_at_once(file: Path):
    told = refusal("tim,flops [W]\n-1,2\n", file)
    assert "time [s] is missing" in told
    assert "a power (W)" in told
    assert "'tim' of run 1 (line 2) is -1, not a positive number" in told


@pytest.mark.parametrize(
    "data",
    [{"flops": [1], "time": [1, 2]}, {"flops": 3, "time": 1}, {"flops": "ab", "time": "cd"}, {}],
)
def test_wrong_shapes_in_python_are_refused(data: dict[str, Any]):
    with pytest.raises(FittingError):
        read(data, COLUMNS)


@pytest.mark.parametrize("data", [3, None, [1, 2]])
def test_what_is_no_table_is_a_type_error(data: Any):
    with pytest.raises(TypeError, match="a path, a DataFrame or a mapping"):
        read(data, COLUMNS)


def test_a_binary_file_is_refused(file: Path):
    file.write_bytes(b"flops,time\n\xff\xfe,1\n")
    with pytest.raises(FittingError, match="UTF-8"):
        read(file, COLUMNS)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from('flopstime,[]() \n\t;"1-e.V#\x00é'), max_size=60))
@example(text='flops,time\n"1,2\n')
@example(text="flops [,time\n1,1\n")
def test_any_text_is_read_or_refused(text: str, file: Path):
    try:
        found = of(text, file)
    except FittingError:
        return
    assert all(np.isfinite(v).all() for v in found.numbers.values())


def test_columns_are_mapped_and_units_stand_behind_an_underscore(file: Path):
    file.write_text("work,duration_ms,time,W_Gflop\n1e9,2,9,4\n")
    found = read(file, COLUMNS, {"flops": "work", "time": "duration_ms"})
    assert found.numbers["flops"] == pytest.approx([1e9])
    assert found.numbers["time"] == pytest.approx([2e-3])
    assert found.notes == ("column 'duration_ms' is read as time in ms",)
    assert found.unused == ("time", "W_Gflop")
    assert read(file, COLUMNS, {"flops": "work [Mflop]"}).numbers["flops"] == pytest.approx([1e15])
    assert read(file, COLUMNS).numbers["flops"] == pytest.approx([4e9])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"time": "duraton"}, "column time: there is no column called 'duraton'; did you mean 'duration_ms'"),
        ({"time": "draw_W"}, "a power (W), but a time (s)"),
        ({"time": "same"}, "2 columns are called 'same'"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(names: dict[str, str], said: str, file: Path):
    file.write_text("flops,duration_ms,draw_W,same,same\n1e9,2,9,4,4\n")
    with pytest.raises(FittingError, match=re.escape(said)):
        read(file, COLUMNS, names)


def test_a_mapping_of_an_unknown_column_is_told_what_was_meant(file: Path):
    file.write_text("flops,time\n1,1\n")
    with pytest.raises(KeyError, match="did you mean 'time'"):
        read(file, COLUMNS, {"tme": "time"})
