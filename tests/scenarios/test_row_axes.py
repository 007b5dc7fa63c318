"""Axes along which several numbers change together: lists in the file, or the rows of a table beside it."""

from pathlib import Path
from typing import Any

import pytest

import dse
import results.asked
import scenarios
from dse.system.files import MOST_NUMBERS
from scenarios import Grid, ScenarioError, grid, load
from scenarios.language.toml_text import to_toml

QUESTION: dict[str, Any] = {
    "model": "nbody",
    "machine": "balanced",
    "given": {"flops_per_pair": 10, "bodies": 1e5},
    "decide": {"processors": {"max": 4096}, "memory": {}},
    "objective": {"minimize": "energy"},
}
TEXT = """
model = "nbody"
machine = "balanced"
given = { flops_per_pair = 10 }
decide = { processors = { max = 4096 }, memory = {} }
objective = { minimize = "energy" }
[sweep.sample]
table = "points.csv"
columns = { bodies = "n", "limits.time.max" = "T" }
"""


def along(axis: dict[str, Any], **changes: Any) -> Grid:
    return grid(load(QUESTION | changes | {"sweep": {"x": axis}}))


def of_table(folder: Path, table: str, **changes: str) -> scenarios.Scenario:
    (folder / "points.csv").write_bytes(table.encode("utf-8"))
    text = TEXT
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "question.toml").write_text(text)
    return load(folder / "question.toml")


def wrong(axis: Any) -> str:
    with pytest.raises(ScenarioError) as told:
        along(axis)
    return str(told.value)


def faults(folder: Path, table: str) -> str:
    with pytest.raises(ScenarioError) as told:
        of_table(folder, table)
    return str(told.value)


def test_the_paths_of_an_axis_change_together():
    found = along({"paths": {"bodies": [1e5, 1e6], "limits.time.max": ["1 s", "10 ms"]}})
    assert found.shape == (2,)
    second = found.question((1,))
    assert (second.given["bodies"], second.limits[0].maximum) == (1e6, 0.01)
    (axis,) = found.axes
    assert [(c.name, c.unit, tuple(c.values)) for c in axis.columns] == [
        ("bodies", "", (1e5, 1e6)),
        ("limits.time.max", "s", (1.0, 0.01)),
    ]
    assert tuple(axis.values) == (1, 2)


def test_rows_and_plain_axes_make_a_product_and_machines_may_stand_in_rows():
    question = {k: v for k, v in QUESTION.items() if k != "machine"}
    rows = {"paths": {"machine": ["jaketown", "balanced", "jaketown"], "bodies": [1e4, 1e5, 1e4]}}
    size = {"path": "flops_per_pair", "values": [10, 20]}
    found = grid(load(question | {"sweep": {"job": rows, "pair": size}}))
    assert found.shape == (3, 2)
    assert len(found.bases) == 2
    assert found.question((2, 1)) == found.question((0, 1))
    single = grid(load(question | {"machine": "balanced", "given": {"bodies": 1e5, "flops_per_pair": 20}}))
    assert found.question((1, 1)).given == single.question(()).given


def test_a_table_is_read_with_the_units_of_its_header(tmp_path: Path):
    # the mark that other programs put first, comments, an unused column, texts in quotes
    asked = of_table(tmp_path, '\ufeff# a log\nwho,n,T [ms]\n"a, b",1e5,5\nc,2e5,250\n')
    lists = along({"paths": {"bodies": [1e5, 2e5], "limits.time.max": ["5 ms", "250 ms"]}})
    found = grid(asked)
    for i in range(2):
        assert found.question((i,)).given == lists.question((i,)).given
        assert found.question((i,)).limits == lists.question((i,)).limits


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_do(tmp_path: Path, separator: str):
    found = grid(of_table(tmp_path, "n,T\n1e5,5\n".replace(",", separator)))
    assert found.question((0,)).limits[0].maximum == 5.0


def test_a_table_is_known_by_what_stands_in_the_columns_used(tmp_path: Path):
    first = of_table(tmp_path, "n,T [ms],who\n1e5,5,a\n2e5,6,b\n")
    assert "points" not in first.text
    (tmp_path / "elsewhere").mkdir()
    other = of_table(tmp_path / "elsewhere", "T [ms],n,when\n5.0,100000,x\n6,2e5,y\n")
    assert (first.hash, first) == (other.hash, other)
    assert of_table(tmp_path, "n,T [ms]\n1e5,5\n2e5,7\n").hash != first.hash
    again = scenarios.from_text(first.text, "stored", first.tables.values())
    assert grid(again).question((1,)) == grid(first).question((1,))
    with pytest.raises(ScenarioError, match="the rows of this table are not here"):
        scenarios.from_text(first.text)


def test_all_faults_of_a_table_are_told_at_once_with_their_lines(tmp_path: Path):
    told = faults(tmp_path, "n,T [ms]\n1e5,5,6\n,7\n1e5,nan\nx,5\n1_0,1e999\n")
    for text in (
        "line 2 has 3 cells",
        "line 3: the cell is empty",
        'line 4: "nan"',
        'line 5: "x"',
        'line 6: "1_0"',
        'line 6: "1e999"',
    ):
        assert text in told
    told = faults(tmp_path, "n,T [parsec]\n1e5,5\n-1,6\n1e400,7\n")
    assert "1e400" in told
    told = faults(tmp_path, "n,T [parsec]\n1e5,5\n-1,6\n")
    assert "the unit of the column: unknown unit" in told
    assert "line 3: -1 is negative" in told
    assert "has no column" in faults(tmp_path, "n,time\n1,2\n")
    assert "2 columns" in faults(tmp_path, "n,T [s],T [ms]\n1,2,3\n")
    assert "has no rows" in faults(tmp_path, "n,T\n")
    # nothing is said of the columns of a file without any
    assert "1 mistake in" in faults(tmp_path, "")
    assert "has no rows" in faults(tmp_path, "")
    assert "not UTF-8" in faults_of_bytes(tmp_path, b"n,T\n1,\xff\n")


@pytest.mark.parametrize(
    ("table", "count"),
    [
        # what cannot be read in one cell hides nothing in others
        ("n,T [ms]\n1e4,10\n-5,20\n0,\n1e5,-1\n", 4),
        ("n,T [ms]\n1e4,10\n-5,x\n0,3\n,-1\n", 5),
        ("n,U [ms]\n1e4,10\n-5,20\n,3\n", 3),
        ("n,T [ms]\n1e4,10,7\n-5,20\n1,-2\n", 3),
    ],
)
def test_there_is_no_second_round_of_faults(tmp_path: Path, table: str, count: int):
    told = faults(tmp_path, table)
    assert f"{count} mistakes" in told
    assert "line 3: -5 is negative" in told


def faults_of_bytes(folder: Path, table: bytes) -> str:
    (folder / "points.csv").write_bytes(table)
    (folder / "question.toml").write_text(TEXT)
    with pytest.raises(ScenarioError) as told:
        load(folder / "question.toml")
    return str(told.value)


def test_a_file_that_is_not_there_or_too_large_is_one_mistake(tmp_path: Path):
    (tmp_path / "question.toml").write_text(TEXT)
    with pytest.raises(ScenarioError, match=r"(?s)1 mistake.*cannot be read: No such file"):
        load(tmp_path / "question.toml")
    with (tmp_path / "points.csv").open("wb") as large:
        large.truncate(MOST_NUMBERS + 1)
    with pytest.raises(ScenarioError, match=r"(?s)1 mistake.*larger than 200 MB"):
        load(tmp_path / "question.toml")


def test_many_bad_cells_are_counted_not_listed(tmp_path: Path):
    told = faults(tmp_path, "n,T\n" + "oops,1\n" * 20_000)
    assert len(told) < 5_000
    assert "19980 more" in told


@pytest.mark.parametrize("cell", ["1e-310", "9" * 400, "=1+1", "0x10", "1,5e3", "١٠", "1 000", "True"])
def test_odd_cells_are_refused_in_one_message(tmp_path: Path, cell: str):
    assert "line 4" in faults(tmp_path, f'n,T\n1e5,1\n1e5,2\n"{cell}",3\n')


def test_a_column_of_endless_numbers_is_no_column_of_names(tmp_path: Path):
    assert "line 2" in faults(tmp_path, f"n,T\n{'9' * 400},1\n")


@pytest.mark.parametrize(
    ("cell", "told", "right"),
    [("nan", '"nan" is not a finite number', "a number"), ("-inf", '"-inf" is not a finite number', "a number"),
     ("", "the cell is empty", "a number or name")],
)  # fmt: skip
def test_a_column_without_any_number_is_told_what_it_needs(
    tmp_path: Path, cell: str, told: str, right: str
) -> None:
    """A name is asked for where there are names."""
    found = faults(tmp_path, f"n,T [ms]\n{cell},5\n")
    assert told in found
    assert f'column "n" needs {right} in every row' in found


@pytest.mark.parametrize("cell", ["", "nan", "inf", "250 ms", '"2,5"'])
def test_a_bad_cell_beside_machines_is_one_mistake_and_bad_cells_of_other_columns_are_told_too(
    tmp_path: Path, cell: str
):
    """What could not be read does not differ between the machines; each mistake names the file."""
    columns = '{ machine = "m", bodies = "n", "limits.time.max" = "T" }'
    text = {'machine = "balanced"': "", '{ bodies = "n", "limits.time.max" = "T" }': columns}

    def told(bodies: str, machine: str) -> list[str]:
        rows = f"m,n,T [ms]\njaketown,1e4,{cell}\n{machine},{bodies},90\n"
        with pytest.raises(ScenarioError) as found:
            of_table(tmp_path, rows, **text)
        return [f"{p.key}: {p.wrong}" for p in found.value.problems]

    (own,) = told("1e5", "balanced")
    assert own.startswith('sweep.sample.columns."limits.time.max": points.csv line 2: ')
    assert told("many", "blanced") == [
        own,
        'sweep.sample.columns.machine, points.csv line 3: there is no machine "blanced"',
        'sweep.sample.columns.bodies, points.csv line 3: "many" is not a finite number',
    ]


def test_machines_in_a_table_are_those_of_the_catalogue(tmp_path: Path):
    columns = '{ machine = "m", bodies = "n" }'
    text = {'machine = "balanced"': "", '{ bodies = "n", "limits.time.max" = "T" }': columns}
    found = grid(of_table(tmp_path, "m,n\njaketown,1e4\nbalanced,1e5\n", **text))
    assert [found.question((i,)).given["bodies"] for i in range(2)] == [1e4, 1e5]
    with pytest.raises(ScenarioError, match='line 3: there is no machine "jaketwon"'):
        of_table(tmp_path, "m,n\njaketown,1e4\njaketwon,1e5\n", **text)
    (tmp_path / "own.toml").write_text("")
    with pytest.raises(ScenarioError, match="machine files can stand in values and paths"):
        of_table(tmp_path, "m,n\njaketown,1e4\n./own.toml,1e5\n", **text)
    with pytest.raises(ScenarioError) as told:
        of_table(tmp_path, "m,n\nbalanced,1e5\n,1e5\njaketwon,1e5\n", **text)
    first, second = told.value.problems
    assert (first.wrong, first.right) == (
        "points.csv line 3: the cell is empty",
        'column "m" needs a name in every row',
    )
    assert 'there is no machine "jaketwon"' in second.wrong


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (
            {"paths": {"bodies": [1, 2], "limits.time.max": [1]}},
            "the lists differ in length: 2 of bodies, 1 of",
        ),
        ({"paths": {"bodies": []}}, "the axis is empty"),
        ({"paths": {}}, "not a table of lists"),
        ({"paths": {"bodies": 3}}, "the entry for bodies is not a list"),
        ({"paths": {"bodies": [1e5]}, "num": 3}, "paths and num exclude each other"),
        ({"paths": {"bodies": [1e5]}, "table": "x.csv"}, "exclude each other"),
        ({"path": "bodies", "paths": {"flops_per_pair": [1]}}, "paths and path exclude each other"),
        ({"table": "x.csv"}, "columns is missing"),
        ({"columns": {"bodies": "n"}}, "table is missing"),
        ({"paths": {"bodys": [1]}}, "names nothing in this question"),
        ({"paths": {"bodies": ["3 s"]}}, "paths.bodies[0]"),
        ({"paths": {"bodies": [1e5], "given.bodies": [1e5]}}, "are the same"),
        ({"paths": {"processors": [4]}}, "is decided, so it cannot be swept"),
        ({"paths": {"limits.time.max": [-1]}}, "is negative"),
        ({}, "the axis has no path"),
    ],
)
def test_wrong_axes_of_rows_are_refused(axis: dict[str, Any], words: str):
    assert words in wrong(axis)


def test_an_axis_is_not_called_like_its_own_column():
    with pytest.raises(ScenarioError, match="give the axis another name"):
        load(QUESTION | {"sweep": {"bodies": {"paths": {"bodies": [1e5]}}}})


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (("2", "1"), ("1", "2", "2")),
        (("1", "01"), ("01", "1", "01")),
        (("low", "1e3"), ("1e3", "low", "1e3")),
    ],
)
def test_cells_that_are_names_of_a_menu_are_names_whatever_they_look_like(
    tmp_path: Path, names: tuple[str, str], rows: tuple[str, ...]
) -> None:
    """Cells that all are numbers were the places of names on the menu, so that "2" was the second one."""
    (tmp_path / "settings.csv").write_text("s,x\n" + "".join(f"{n},\n" for n in rows))
    asked = f"""
    model = "dvfs"
    given = {{ phases = [{{ name = "a", times = {{ "{names[0]}" = "10 s", "{names[1]}" = "9 s" }} }}] }}
    [machine]
    settings = [{{ name = "{names[0]}", constant_power = 1 }}, {{ name = "{names[1]}", constant_power = 2 }}]
    [objective]
    minimize = "energy"
    [sweep.r]
    table = "settings.csv"
    columns = {{ "setting.a" = "s" }}
    """
    (tmp_path / "q.toml").write_text(asked)
    energy = {names[0]: 10.0, names[1]: 18.0}
    found = dse.sweep(tmp_path / "q.toml", store=tmp_path / "q.zarr", progress=False)
    assert found["energy"].values.tolist() == [energy[n] for n in rows]
    # what is stored are places on the menu
    again = dse.sweep(tmp_path / "q.toml", store=tmp_path / "q.zarr", progress=False)
    assert again["energy"].values.tolist() == found["energy"].values.tolist()
    stored = scenarios.grid(results.asked.question(found))
    assert stored.question((0,)).given["setting.a"] == names.index(rows[0]) + 1.0


@pytest.mark.parametrize("named", ["machine", "machine.base"])
@pytest.mark.parametrize("by_table", [True, False])
def test_a_row_needs_what_its_own_names_need(tmp_path: Path, named: str, by_table: bool) -> None:
    """The product of machines and precisions was asked for, with a number that no row needs."""
    rows = [("arndale-gpu-choi2014", "single"), ("gtx-titan-choi2014", "double")]
    asked = {"model": "roofline", "given": {"flops": 1e12, "bytes": 1e12}}
    if named != "machine":
        asked["machine"] = {"base": "gtx-titan-choi2014", "usable_power": 300}

    def grid_of(rows: list[tuple[str, str]]) -> Any:
        columns = {named: [m for m, _ in rows], "precision": [p for _, p in rows]}
        if not by_table:
            return grid(load({**asked, "sweep": {"run": {"paths": columns}}}))
        (tmp_path / "rows.csv").write_text("m,p\n" + "".join(f"{m},{p}\n" for m, p in rows))
        axis = {"table": "rows.csv", "columns": {named: "m", "precision": "p"}}
        (tmp_path / "q.toml").write_text(to_toml({**asked, "sweep": {"run": axis}}))
        return grid(load(tmp_path / "q.toml"))

    found = grid_of(rows)
    assert [found.question((i,)).given["precision"] for i in range(2)] == ["single", "double"]
    with pytest.raises(ScenarioError, match=r'time_per_flop_double.* for precision = "double"') as told:
        grid_of([*rows, ("arndale-gpu-choi2014", "double")])
    assert "take it out" in str(told.value)


@pytest.mark.parametrize(
    ("cell", "right"),
    [
        ('"90,5"', "write decimals with a point: 90.5"),
        ("90 ms", "a unit stands in the header"),
        ("soon", 'column "T" needs a number in every row'),
    ],
)
def test_what_is_no_number_is_told_with_what_would_be_right(tmp_path: Path, cell: str, right: str) -> None:
    assert right in faults(tmp_path, f"n,T [ms]\n1e5,{cell}\n")
