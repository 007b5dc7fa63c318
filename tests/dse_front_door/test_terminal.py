"""What a terminal is sent: of a file's own control characters their names only; how an interrupted sweep ends."""

import io
import sys
from pathlib import Path

import click
import pytest

from dse.commands.terminal import door
from dse.commands.terminal.printing import say
from dse.system.streams import visible

TITLE = "\x1b[1mbold\x1b[0m \x1b]0;window\x07 back\x08 \x9b31m \u202eturned"


def test_control_characters_are_told_and_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    say(TITLE)
    told = "\\u001b[1mbold\\u001b[0m \\u001b]0;window\\u0007 back\\u0008 \\u009b31m \\u202eturned\n"
    assert out.getvalue() == told


def test_letters_of_all_languages_pass() -> None:
    text = "Größe 3 µs ≤ 5 Ω\n\t日本語 ─ ● é"
    assert visible(text) == text


@pytest.mark.parametrize("made", [True, False])
def test_an_interrupted_sweep_says_whether_there_is_a_store_yet(
    made: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "study.zarr"
    if made:
        store.mkdir()
    with pytest.raises(click.exceptions.Exit) as ended, door.filling(str(store)):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert ("keeps what is done" if made else "is not made yet") in capsys.readouterr().err
