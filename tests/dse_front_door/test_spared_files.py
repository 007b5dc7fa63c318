"""What a command reads is never what it writes: the question, its tables, machines and models stay as they are."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from results.stores.files.trouble import StoreError


def dse_(*arguments: Any) -> Any:
    return CliRunner().invoke(main, list(map(str, arguments)))


def _refused(found: Any, *words: str) -> None:
    assert found.exit_code == 2, found.output
    assert len(found.stderr.splitlines()) == 1
    for word in words:
        assert word in found.stderr


@pytest.mark.parametrize("form", ["nl", "gams"])
@pytest.mark.parametrize("name", ["deadline.toml", "precious.txt"])
def test_a_problem_is_written_only_to_a_name_of_its_format(deadline: Path, form: str, name: str):
    file = deadline.with_name(name)
    if not file.exists():
        file.write_text("precious")
    before = file.read_text()
    found = dse_("explain", deadline, "--format", form, "-o", file)
    _refused(found, f"a file of this format is named {file.stem}.{form}")
    assert file.read_text() == before
    assert {f.name for f in deadline.parent.iterdir()} == {deadline.name, name}


def test_a_problem_does_not_replace_its_question_whatever_that_is_called(deadline: Path):
    asked = deadline.rename(deadline.with_name("deadline.nl"))
    before = asked.read_text()
    _refused(dse_("explain", asked, "--format", "nl", "-o", asked), "is read for this answer")
    assert asked.read_text() == before
    assert dse_("explain", asked, "--format", "nl", "-o", asked.with_name("problem.nl")).exit_code == 0


RATES = (
    '[uncertain]\n"machine.time_per_flop" = { table = "TABLE", column = "t" }\nsampling = { samples = 8 }\n'
)
ROWS = '[sweep.work]\ntable = "TABLE"\ncolumns = { "given.bodies" = "n" }\n'
MEAN = '"energy"\nmeasure = "mean"'


@pytest.mark.parametrize(
    ("table", "measure", "command"),
    [
        (RATES, '["energy", "time"]\nmeasure = "mean"', ["front", "Q", "--points", 2, "-o", "t.csv"]),
        (ROWS, '["energy", "time"]', ["front", "Q", "--points", 2, "-o", "t.csv"]),
        (ROWS, '"energy"', ["export", "Q", "-o", "other.csv", "-o", "t.csv"]),
        (RATES, MEAN, ["compare", "Q", "Q", "-o", "t.csv"]),
        (RATES, MEAN, ["report", "Q", "-o", "t.html"]),
        (ROWS, '"energy"', ["sweep", "Q", "-o", "s.zarr", "--plot", "t.png"]),
        (RATES, '"energy"', ["uncertainty", "Q", "--plot", "t.png"]),
        (RATES, '"energy"', ["uncertainty", "Q", "--indices", "--plot", "t.png"]),
    ],
)
@pytest.mark.parametrize("linked", [False, True])
def test_results_do_not_replace_a_table_of_the_question(
    deadline: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    measure: str,
    command: list[Any],
    linked: bool,
):
    monkeypatch.chdir(deadline.parent)
    *_, output = command
    named = "named.csv" if linked else output
    text = deadline.read_text().replace('"energy"', measure).replace('"1 s"', '"1 h"')
    deadline.write_text(text + table.replace("TABLE", named))
    Path(output).write_text("t [ps/flop],n\n1,1e5\n2,2e5\n")
    if linked:
        Path(named).symlink_to(output)
    before = Path(output).read_text()
    _refused(dse_(*(deadline if word == "Q" else word for word in command)), output, "choose another name")
    assert Path(output).read_text() == before
    assert not {"other.csv", "s.zarr"} & {f.name for f in Path().iterdir()}


@pytest.mark.parametrize("kind", ["machine", "model"])
def test_a_problem_does_not_replace_a_file_that_the_question_names(
    deadline: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """Machine and model files are told by the end of their names; a link to one may have any."""
    monkeypatch.chdir(deadline.parent)
    if kind == "machine":
        assert dse_("new", "machine", "--like", "balanced", "-o", "named.toml").exit_code == 0
        text = deadline.read_text().replace('"balanced"', '"named.toml"')
    else:
        Path("runs.csv").write_text(
            "n,t [s]\n" + "".join(f"{n},{3e-3 * n * 1.0000001**n}\n" for n in range(10, 60))
        )
        fit = dse_(
            "fit", "runs.csv", "--model", "posynomial", "--target", "t", "--of", "n", "-o", "named.toml"
        )
        assert fit.exit_code == 0, fit.output
        text = 'model = "./named.toml"\n[decide]\nn = { min = 10, max = 60 }\n[objective]\nminimize = "t"\n'
    deadline.write_text(text)
    before = Path("named.toml").read_text()
    Path("named.nl").symlink_to("named.toml")
    _refused(dse_("explain", deadline, "--format", "nl", "-o", "named.nl"), "is read for this answer")
    assert Path("named.toml").read_text() == before


def test_python_spares_the_table_of_the_question_too(deadline: Path):
    table = deadline.with_name("t.csv")
    table.write_text("n\n1e5\n2e5\n")
    deadline.write_text(deadline.read_text() + ROWS.replace("TABLE", "t.csv"))
    for source in (deadline, dse.load(deadline)):
        with pytest.raises(StoreError, match="would replace it"):
            dse.export(source, table)
    assert table.read_text() == "n\n1e5\n2e5\n"
    dse.export(deadline, table.with_name("found.csv"))


def test_an_answer_is_not_written_over_itself(deadline: Path):
    first = deadline.with_name("found.nc")
    assert dse_("export", deadline, "-o", first).exit_code == 0
    before = first.read_bytes()
    _refused(dse_("export", first, "-o", first), "is read for this answer")
    assert first.read_bytes() == before


def test_a_fit_does_not_replace_its_measurements(tmp_path: Path):
    runs = tmp_path / "runs.toml"
    runs.write_text("size [B],time [s]\n1,1\n2,2\n3,3\n4,4\n")
    _refused(dse_("fit", runs, "--model", "network", "-o", runs, "--force"), "is read for this answer")
    assert runs.read_text().startswith("size")
