"""What a command reads is never what it writes: the question, its tables, machines and models stay as they are."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dse.cli import main


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
