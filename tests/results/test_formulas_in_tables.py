"""Names that a spreadsheet would take for formulas stand as texts in CSV, and are names again where dse reads them."""

import csv
from pathlib import Path

import pyarrow.parquet
import pytest

import dse
from dse.system import csv_files

QUESTION = """
model = "dvfs"
[given]
phases = [
  { name = "sort",  times = { "=1+1" = "3 s", "-O3" = "2 s", "plain" = "9 s" } },
  { name = "merge", times = { "=1+1" = "1 s", "-O3" = "0.9 s", "plain" = "9 s" } },
]
WHERE
[[machine.settings]]
name           = "=1+1"
constant_power = "5 W"
[[machine.settings]]
name           = "-O3"
constant_power = "8 W"
[[machine.settings]]
name           = "plain"
constant_power = "1 W"
[objective]
minimize = "energy"
"""
OF_SETTINGS = '[sweep.row]\ntable = "points.csv"\ncolumns = { "given.setting" = "setting" }\n'


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    text = QUESTION.replace("WHERE", "")
    (tmp_path / "q.toml").write_text(text + '[limits]\ntime = { max = "3.5 s" }\n')
    return tmp_path / "q.toml"


def cells(file: Path) -> dict[str, str]:
    with file.open(newline="", encoding="utf-8") as opened:
        (row,) = csv.DictReader(opened)
    return row


def test_no_cell_of_a_csv_file_is_a_formula_and_numbers_stay_numbers(asked: Path):
    found = dse.solve(asked)
    chosen = {str(found.variables[n]) for n in found.variables if n.startswith("setting")}
    row = cells(dse.export(found, asked.with_name("made.csv")))
    for cell in (*row, *row.values()):
        assert cell[:1] not in {*"=+-@"} or float(cell) < 0, cell
    told = {c for n, c in row.items() if n.startswith("setting")}
    assert told <= {"'=1+1", "'-O3", "plain"}
    assert any(c.startswith("'") for c in told), chosen
    lines = dse.export(found, asked.with_name("made.jsonl")).read_text(encoding="utf-8")
    assert "'" not in lines.partition('"setting')[2][:60]
    frame = pyarrow.parquet.read_table(dse.export(found, asked.with_name("made.parquet"))).to_pylist()[0]
    assert {f"{v}" for n, v in frame.items() if n.startswith("setting")} == {
        c.removeprefix("'") for c in told
    }


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-O3", "'-O3"),
        ("+simd", "'+simd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("-1.5e3", "-1.5e3"),
        ("-inf", "-inf"),
        ("a=b", "a=b"),
        ("'a", "'a"),
        ("", ""),
    ],
)
def test_a_text_is_quoted_where_it_would_be_run_and_read_back_as_it_was(text: str, cell: str):
    assert csv_files.inert(text) == cell
    assert csv_files.named(cell) == text


def test_a_table_that_dse_wrote_names_settings_again(tmp_path: Path):
    (tmp_path / "points.csv").write_text("period,setting\n1,'-O3\n2,plain\n")
    text = QUESTION.replace("WHERE", 'setting = "plain"') + OF_SETTINGS
    (tmp_path / "q.toml").write_text(text)
    found = dse.sweep(tmp_path / "q.toml", progress=False)
    assert found["time"].values.tolist() == [2.9, 18.0]
