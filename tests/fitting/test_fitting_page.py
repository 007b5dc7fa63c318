"""docs/fitting.md can be followed from top to bottom, and the fit finds what the page measures."""

from pathlib import Path

import pytest
from pages import ROOT, follow


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names = follow((ROOT / "docs" / "fitting.md").read_text(encoding="utf-8"))
    true = {"usable_power": 146, "constant_power": 122, "energy_per_byte": 513e-12}
    assert all(names["found"][k].holds(v) for k, v in true.items())
    written = {p.name for p in tmp_path.iterdir()}
    assert written >= {"my_gpu.toml", "my_gpu.png", "board.toml", "board.png", "kernel.toml", "link.toml"}
    assert names["best"].status.name == "OPTIMAL"
    assert names["best"].variables["core_frequency"] == pytest.approx(0.87e9, rel=0.05)
