"""docs/searching.md can be followed from top to bottom, and its search finds what one finds by hand."""

from pathlib import Path

import pytest
from pages import ROOT, follow

from dse.models import registry


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    names = follow((ROOT / "docs" / "searching.md").read_text(encoding="utf-8"))
    best = names["best"]
    # by hand: 16 GB, beyond which little is gained, and what 40 W leave: 6 W fan, 4 W a core
    assert best.variables["cores"] == 7
    assert best.metrics["power"] <= 40 * (1 + 1e-8)
    assert "compares a number that varies" in best.certificate or "plain numbers only" in best.certificate
    assert names["front"].sizes["front"] == 10
    assert (tmp_path / "study.db").exists()
