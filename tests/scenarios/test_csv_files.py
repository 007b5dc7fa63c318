"""A file of plain rows is cut at once, with the cells and lines that it has line by line."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.system import csv_files

CELLS = st.text(" 0123456789.eE+-abé_", max_size=6)


@settings(deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from(["", "\n"]),
)
def test_cells_do_not_depend_on_a_comment_at_the_end(rows: list[list[str]], separator: str, end: str):
    """The comment has the same rows read line by line."""
    text = "\n".join(separator.join(row) for row in rows)
    with TemporaryDirectory() as folder:
        plain, told = Path(folder, "plain.csv"), Path(folder, "told.csv")
        plain.write_text(text + end, encoding="utf-8")
        told.write_text(text + "\n# the end\n", encoding="utf-8")
        a, b = csv_files.read(plain), csv_files.read(told)
    assert (a.heads, list(map(list, a.columns)), a.lines, a.faults) == (
        b.heads,
        list(map(list, b.columns)),
        b.lines,
        b.faults,
    )


@pytest.mark.parametrize("rows", [1, 3])
def test_a_regular_file_has_its_rows(rows: int, tmp_path: Path):
    file = tmp_path / "runs.csv"
    file.write_text("n, T [s]\n" + "".join(f"{i},{i}.5\n" for i in range(rows)))
    found = csv_files.read(file)
    assert found.heads == ["n", "T [s]"]
    assert found.columns == [[f"{i}" for i in range(rows)], [f"{i}.5" for i in range(rows)]]
    assert found.lines == tuple(range(2, rows + 2))
