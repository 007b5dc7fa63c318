"""The pages about exports and models of one's own say what the code does."""

import re
from pathlib import Path

import pytest
from pages import ROOT, follow, shortened

EXAMPLE = ROOT / "docs" / "examples" / "multicore"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_what_the_page_shows_of_the_example_is_in_it():
    files = [f for f in EXAMPLE.rglob("*") if f.suffix in {".py", ".toml"}]
    texts = {str(f.relative_to(EXAMPLE)): f.read_text(encoding="utf-8") for f in files}
    for kind, text in blocks("own_models.md"):
        if kind in {"python", "toml"}:
            assert any(text.strip() in t for t in texts.values()), text
        if kind == "text":
            named = re.findall(r"[\w.-]+\.(?:toml|py)", text)
            assert set(named) == {Path(name).name for name in texts}


def test_the_page_names_what_the_contract_can_be_told():
    from dse.testing import ModelContract

    page = (ROOT / "docs" / "own_models.md").read_text(encoding="utf-8")
    for name in ("typical", "numbers", "not_symbolic", "tries", "seed", "plain"):
        assert hasattr(ModelContract, name)
        assert f"`{name}" in page


def test_the_page_on_exports_names_every_ending_and_section():
    from dse.commands.diff_command import SECTIONS
    from results.export import formats

    page = (ROOT / "docs" / "exporting.md").read_text(encoding="utf-8")
    assert all(f"`{ending}`" in page for ending in formats.WRITTEN - {".nc4"})
    assert all(f"`{section}`" in page for section in SECTIONS)


@pytest.mark.slow
def test_the_page_on_exports_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    follow(shortened((ROOT / "docs" / "exporting.md").read_text(encoding="utf-8")))
    for _, text in (block for block in blocks("exporting.md") if block[0] == "sql"):
        for query in text.strip().split("\n"):
            assert duckdb.sql(query.replace("study.parquet", str(tmp_path / "study.parquet"))).fetchall()
