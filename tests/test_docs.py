"""What the README and the pages of docs/ tell a reader to type works, and prints what the page says.

``tests/oracle/pages.py`` says how a page is followed and how what it shows is compared.
``make docs`` (``PYTHONPATH=tests/oracle python tests/test_docs.py PAGE ...``) writes today's output into the blocks
that show some and leave out no lines.
"""

import contextlib
import os
import re
import runpy
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, WIDTH, as_made, as_shown, follow, printed, shortened, steps, words_as_shown

PAGES = sorted(
    page
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if not {"models", "machines", "examples", "auto_gallery"} & set(page.parts)
)
ELSEWHERE = {  # pages with a test of their own, which looks closer
    "exporting.md": "test_docs_out_and_in.py",
    "fitting.md": "fitting/test_fitting_page.py",
    "own_models.md": "test_docs_out_and_in.py",
    "searching.md": "test_searching_page.py",
}
NOISE = (  # what differs from run to run
    (r" in [\d.]+ (?:ms|s|µs)\b", " in …"),
    (
        r"(optimality gap ≤|missed by|gaps up to|within|gap of an optimum is at most|by) [\d.]+e-\d+",
        r"\1 …",
    ),
    (r"(optimal   +)\d[\d.]*e[-+]\d+", r"\1…"),
    (r"about (?:a second|[\d.e+]+ \w+) on \d+ cores?\b", "about …"),  # as many cores as there are
    (r"\([\d.]+ MB\)", "(… MB)"),
    (r"(identity ).*", r"\1…"),
    (r"\([0-9a-f]{12}…, asked [0-9a-f]{12}…\)", "(…, asked …)"),
)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from dse.models import registry

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p.name not in ELSEWHERE and steps(p.read_text(encoding="utf-8"))],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_the_page_can_be_followed_and_prints_what_it_shows(page: Path, empty: Path) -> None:
    text = page.read_text(encoding="utf-8")
    follow(shortened(text) if page.name == "README.md" else text)


def test_the_page_of_a_fit_says_which_intervals_hold_the_numbers_that_made_its_file() -> None:
    text = (ROOT / "docs" / "my_measurements.md").read_text(encoding="utf-8")
    made = re.search(r"seconds = (\S+) \+ (\S+) \* m \* n \* k \+ (\S+) \*", text)
    rows = re.findall(r"(?m)^(launch|work|traffic) +\S+ +(\S+) to (\S+)$", text)
    said = re.search(
        r"The intervals of (.*?) contain the numbers that made the file; that of (.*?) begins", text
    )
    assert made is not None
    assert said is not None
    for (name, low, high), value in zip(rows, map(float, made.groups()), strict=True):
        assert f"`{name}`" in said[1 if float(low) <= value <= float(high) else 2]


def test_tutorials_write_files_of_their_own() -> None:
    """Followed in one folder, none finds a scenario or a store of another one."""
    tutorials = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "questions").glob("*.md"))]
    tutorials += sorted((ROOT / "docs" / "how").glob("[!cs]*.md"))
    seen: dict[str, str] = {}
    for page in tutorials:
        text = page.read_text(encoding="utf-8")
        for name in set(re.findall(r"(?m)^# ([\w-]+\.toml)$|([\w-]+\.zarr)", text)):
            file = name[0] or name[1]
            assert seen.setdefault(file, page.name) == page.name, file


def test_formulas_are_no_latex() -> None:
    """The site does not read $…$."""
    for page in (ROOT / "docs").rglob("*.md"):
        if not {"machines", "examples", "auto_gallery"} & set(page.parts):
            text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            assert not re.search(r"\$[^$\n]+\$", text), page


def test_every_file_on_the_page_about_the_scenario_language_loads(tmp_path: Path) -> None:
    """A block without a model is put over the first one, as the page says."""
    import scenarios
    from scenarios.language.axis_slots import NO_AXIS, OF_FRESH, OF_FRONTS
    from scenarios.language.schema import Decide, Front, Goal, KernelEntry, Searching, Shape, Sweep
    from scenarios.language.toml_text import to_toml

    machine = (ROOT / "dse" / "machines" / "balanced.toml").read_text(encoding="utf-8")
    (tmp_path / "my_machine.toml").write_text(machine, encoding="utf-8")
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    table = re.search(r"```text\n(host,n,T .*?)```", page, re.DOTALL)
    assert table is not None
    (tmp_path / "runs.csv").write_text(table[1], encoding="utf-8")
    blocks = [tomllib.loads(step.text) for step in steps(page) if step.kind == "toml"]
    for block in blocks:
        whole = block if "model" in block or "kernels" in block else blocks[0] | block
        (tmp_path / "question.toml").write_text(to_toml(whole), encoding="utf-8")
        assert scenarios.grid(scenarios.load(tmp_path / "question.toml")).size, block
    keys = {
        k for part in (Shape, KernelEntry, Decide, Front, Goal, Searching, Sweep) for k in part.model_fields
    }
    assert not {k for k in keys | NO_AXIS | OF_FRESH | OF_FRONTS if not re.search(rf"\b{k}\b", page)}


def test_pages_that_are_not_followed_here_are_followed_elsewhere() -> None:
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / "tests" / test).read_text(encoding="utf-8")


def test_readme_shows_the_scenario_that_it_runs() -> None:
    """The README's example is the library's file, but for comments."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(step.text for step in steps(readme) if step.kind == "toml")
    shipped = (ROOT / "scenarios" / "library" / "nbody_deadline.toml").read_text(encoding="utf-8")
    assert tomllib.loads(shown) == tomllib.loads(shipped)


def test_readme_says_of_its_second_example_what_is_so() -> None:
    import dse

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    question = tomllib.loads([step.text for step in steps(readme) if step.kind == "toml"][1])
    answer = dse.solve(question)
    assert answer.status == "optimal"
    assert answer.variables["share.solver.cpu"] in {0, 1}  # the whole of it on one processor
    question["given"] |= {"share.assembly.cpu": 0, "share.solver.cpu": 0}
    assert dse.solve(question).status == "infeasible"  # too short for the GPU alone


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_options_in_the_text_exist(page: Path) -> None:
    """``dse solve --json`` in a sentence or a table is a command with that option."""
    from dse.cli import main

    text = page.read_text(encoding="utf-8")
    for said in re.findall(r"`dse ([a-z]+)([^`\n]*)`", text) + re.findall(
        r"^(?:    |\$ )dse (\w+)(.*)$", text, re.M
    ):
        command = main.commands.get(said[0])
        assert command, f"dse {said[0]}"
        options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", said[1].split(" | ")[0])) <= options, said


@pytest.mark.parametrize("page", ["engine.md", "glossary.md"])
def test_every_file_that_the_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|csv))`", text))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_folder_of_the_layout_in_the_readme_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    layout = re.search(r"## Repository layout\n+```\n(.*?)```", readme, re.S)
    assert layout
    top, named = "", 0
    for line in layout[1].splitlines():
        first, *others = re.findall(r"(?<!\S)([a-z_]+)/", line)
        if not line.startswith(" "):
            top = first
        for folder in [first, *others] if line.startswith(" ") else others:
            named += 1
            beside = [ROOT / folder, *(p / folder for p in (ROOT / top, *(ROOT / top).iterdir()))]
            assert any(p.is_dir() for p in beside), f"{top}: {folder}/"
    assert named > 25


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_extras_that_are_to_be_installed_exist(page: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"install [^`\n]*(?:dse|\.)\[(\w+)\]", page.read_text(encoding="utf-8"))
    assert set(named) <= set(project["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        # the gallery is there once the site is built
        assert "auto_gallery" in target or (page.parent / target).exists(), target


def test_the_picture_of_the_first_page_is_of_the_question_that_it_names() -> None:
    import dse

    picture = (ROOT / "docs" / "energy-against-time.svg").read_text(encoding="utf-8")
    assert dse.load("nbody_energy_time_front").hash in picture
    assert "dse front nbody_energy_time_front -o energy-against-time.svg" in (
        ROOT / "docs" / "index.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["commands.md", "keys.md", "machines.md"])
def test_pages_read_off_the_program_are_fresh(page: str) -> None:
    made = runpy.run_path(str(ROOT / "docs" / "reference" / "generate.py"))["PAGES"][page]()
    assert as_made((ROOT / "docs" / "reference" / page).read_text(encoding="utf-8"), made), "run `make docs`"


def test_every_machine_has_a_page_and_it_is_fresh() -> None:
    from dse.machines import catalogue, pages

    folder = ROOT / "docs" / "machines"
    assert {f.stem for f in folder.iterdir()} == set(catalogue.own_names())
    for name in catalogue.own_names():
        made = pages.page(catalogue.get(name))
        assert as_made((folder / f"{name}.md").read_text(encoding="utf-8"), made), f"{name}: run `make docs`"


def test_the_page_on_the_years_since_2014_is_fresh() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "since_2014.py"))
    made = script["page"](list(script["devices"]()))
    assert (ROOT / "docs" / "since-2014.md").read_text(encoding="utf-8") == made, "run `make docs`"
    drawn = (ROOT / "docs" / script["PICTURE"]).read_text(encoding="utf-8")
    assert all(f">{unit}<" in drawn for unit in ("Gflop/J", "GB/J", "W", "flop/byte", "year"))


@pytest.mark.parametrize(
    ("shown", "actual", "same"),
    [
        ("energy 42.96 J", "energy   42.9645 J", True),
        ("energy 42.97 J", "energy 42.9645 J", True),
        ("energy 42.98 J", "energy 42.9645 J", False),
        ("4 of 4 points", "4 of 5 points", False),
        ("optimality gap ≤ … in 3\nnodes", "optimality gap ≤ 4e-11 in 3\nnodes", True),
        ("first\n…\nlast", "first\nsecond\nthird\nlast", True),
        ("first\n…\nlast", "first\nsecond\nthird\n", False),
        ("e-12 1.5e-3", "e-12 1.504e-3", True),
        ("0.5,optimal,43.686660821562256", "0.5,optimal,43.68666082156225", True),  # two kinds of processors
        ("0.5,optimal,43.686660821562256", "0.5,optimal,43.6867", True),
        ("0.5,optimal,43.686660821562256", "0.5,optimal,43.687660821562256", False),
        ("0.5,optimal,43.686660821562256", "0.5,feasible,43.686660821562256", False),
        ("in 48017\n  nodes; 7 points", "in 48019 nodes; 7 points", True),
        ("in 48017\n  nodes; 7 points", "in 48019 nodes; 8 points", False),
    ],
)
def test_shown_output_is_held_to_the_digits_shown_and_to_six(shown: str, actual: str, same: bool) -> None:
    assert as_shown(shown, actual) is same


@pytest.mark.parametrize(
    ("actual", "same"),
    [
        ("0  1.2 kJ  17 ms  -0.31 %  feasible\nKnee at point 2: far", True),
        ("0  1.2 kJ  17 ms  -0.31 %  optimal\nKnee at point 2: far", False),
        ("0  1.2 kJ  17 ms  -0.31 %  feasible\nKnee at point 2: near", False),
    ],
)
def test_of_numbers_of_one_machine_the_words_are_compared(actual: str, same: bool) -> None:
    page = "<!-- numbers of one machine: chance -->\n```console\n$ dse x\n"
    page += "0  950 J  1.7 s  -5 %  feasible\nKnee at point 0: far\n```\n"
    (step,) = steps(page)
    assert step.loose
    assert words_as_shown(step.shown, actual) is same


def test_a_page_of_many_numbers_that_does_not_agree_is_told_so_at_once() -> None:
    shown = "\n".join(f"{i}  {i + 0.5} kJ  {i} ms  feasible" for i in range(200))
    assert words_as_shown(shown, shown.replace(".5", ".25"))
    assert not words_as_shown(shown, shown[: -len("feasible")] + "optimal")


@pytest.mark.parametrize(
    ("made", "same"),
    [
        ("# A page\n\n| 3.0000000001 | 7 |\n", True),
        ("# A page\n\n| 3.0001 | 7 |\n", False),
        ("# A page\n\n| 3.0 | 8 |\n", False),
        ("# A page\n| 3.0 | 7 |\n", False),
        ("# A page\n\n| 3.0 | 7 |\n| 1 | 2 |\n", False),
    ],
)
def test_generated_pages_are_held_to_their_text_and_to_six_digits(made: str, same: bool) -> None:
    assert as_made("# A page\n\n| 3.00000000 | 7 |\n", made) is same


def write(page: Path) -> None:
    """Put today's output into the blocks of a page that show some and leave out no lines."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    done = [(step, printed(step, names)) for step in steps(text)]
    for step, output in reversed(done):
        if step.shown and not re.search("^…$", step.shown, re.MULTILINE):
            told = output.rstrip().replace(str(Path.cwd()), "…") + "\n"
            for noise, instead in NOISE:
                told = re.sub(noise, instead, told)
            text = text[: step.place[0]] + told + text[step.place[1] :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.path.pop(0)  # tests/scenarios would be found in place of scenarios
    os.environ["COLUMNS"] = WIDTH
    pages = [Path(word).absolute() for word in sys.argv[1:]] or [p for p in PAGES if p.name not in ELSEWHERE]
    for each in pages:
        with tempfile.TemporaryDirectory() as empty_folder, contextlib.chdir(empty_folder):
            write(each)
