"""docs/fitting.md can be followed from top to bottom."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dse.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "fitting.md"


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
    true = {"usable_power": 146, "constant_power": 122, "energy_per_byte": 513e-12}
    assert all(names["found"][k].holds(v) for k, v in true.items())
    assert {p.name for p in tmp_path.iterdir()} >= {"my_gpu.toml", "my_gpu.png", "board.toml", "board.png"}
