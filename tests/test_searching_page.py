"""docs/searching.md can be followed from top to bottom."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dse.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "searching.md"


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), names)
            continue
        for line in block.splitlines():
            done = CliRunner().invoke(main, shlex.split(line.removeprefix("$ dse")))
            assert done.exit_code == 0, (line, done.stderr)
            assert "feasible" in done.output
    best = names["best"]
    # by hand: 16 GB, beyond which little is gained, and what 40 W leave: 6 W fan, 4 W a core
    assert best.variables["cores"] == 7
    assert best.metrics["power"] <= 40 * (1 + 1e-8)
    assert "compares a number that varies" in best.certificate or "plain numbers only" in best.certificate
    assert names["front"].sizes["front"] == 10
    assert (tmp_path / "study.db").exists()
