"""What the README and the tutorial tell a newcomer to type works as it stands there."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: list[str], where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in {0, 3}, f"{command}: {done.stdout}{done.stderr}"


@pytest.mark.slow
def test_tutorial_runs_from_top_to_bottom(tmp_path: Path) -> None:
    code = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        if kind == "toml":
            (tmp_path / "step.toml").write_text(text, encoding="utf-8")
        elif kind == "python":
            code.append(text)
        else:
            for line in text.splitlines():
                words = shlex.split(line.removeprefix("$ "))
                assert words[0] == "dse"
                run([sys.executable, "-m", "dse", *words[1:]], tmp_path)
    (tmp_path / "tutorial.py").write_text("\n".join(code), encoding="utf-8")
    run([sys.executable, "tutorial.py"], tmp_path)


def test_every_file_on_the_page_about_the_scenario_language_loads(tmp_path: Path) -> None:
    """A block without a model is put over the first one, as the page says."""
    import scenarios
    from scenarios.axes import RESERVED
    from scenarios.schema import Decide, Front, Goal, Searching, Shape, Sweep
    from scenarios.toml_text import to_toml

    machine = (ROOT / "dse" / "machines" / "balanced.toml").read_text(encoding="utf-8")
    (tmp_path / "my_machine.toml").write_text(machine, encoding="utf-8")
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    blocks = [tomllib.loads(text) for kind, text in BLOCK.findall(page) if kind == "toml"]
    for block in blocks:
        whole = block if "model" in block else blocks[0] | block
        (tmp_path / "question.toml").write_text(to_toml(whole), encoding="utf-8")
        assert scenarios.grid(scenarios.load(tmp_path / "question.toml")).size, block
    keys = {k for part in (Shape, Decide, Front, Goal, Searching, Sweep) for k in part.model_fields}
    assert not {k for k in keys | RESERVED if not re.search(rf"\b{k}\b", page)}


def test_readme_shows_the_scenario_that_it_runs() -> None:
    """The README's example is the library's file, but for comments."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(text for kind, text in BLOCK.findall(readme) if kind == "toml")
    shipped = (ROOT / "scenarios" / "library" / "nbody_deadline.toml").read_text(encoding="utf-8")
    assert tomllib.loads(shown) == tomllib.loads(shipped)
    python = next(text for kind, text in BLOCK.findall(readme) if kind == "python")
    assert "dse.solve(scenario)" in python


def test_readme_python_runs(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    python = next(text for kind, text in BLOCK.findall(readme) if kind == "python")
    python = python.replace("nbody_deadline_sweep", "short.toml")
    text = (ROOT / "scenarios" / "library" / "nbody_deadline_sweep.toml").read_text(encoding="utf-8")
    (tmp_path / "short.toml").write_text(text.replace("num     = 41", "num     = 3"), encoding="utf-8")
    (tmp_path / "readme.py").write_text(python, encoding="utf-8")
    run([sys.executable, "readme.py"], tmp_path)
