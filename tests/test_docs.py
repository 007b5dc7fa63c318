"""What the README and the pages of docs/ tell a reader to type works, and prints what the page says.

Every page is followed from top to bottom in an empty folder:

- ```console: lines after ``$`` are commands; what follows one, if anything, is what it prints,
- ```python: run in one namespace for the page; a ```text block right after it is what it prints,
- ```toml that begins with the comment ``# name.toml``: written to that file.

Of a shown number the digits that are shown must be right; ``…`` stands for whatever differs from run to run or is
left out. A comment ``<!-- not run here: why -->`` before a block leaves it out.
``make docs`` (``python tests/test_docs.py PAGE ...``) writes today's output into the blocks that show some and leave
out no lines.
"""

import contextlib
import difflib
import io
import itertools
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if not {"models", "examples", "auto_gallery"} & set(page.parts)
)
ELSEWHERE = {  # pages with a test of their own, which looks closer
    "exporting.md": "test_docs_out_and_in.py",
    "fitting.md": "fitting/test_fitting_page.py",
    "own_models.md": "test_docs_out_and_in.py",
    "searching.md": "test_searching_page.py",
}
FENCE = re.compile(
    r"^(?P<aside><!-- not run here: [^\n]*-->\n\n?)?"
    r"^```(?P<kind>console|python|toml|text)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NOISE = (  # what differs from run to run
    (r" in [\d.]+ (?:ms|s|µs)\b", " in …"),
    (
        r"(better by more than|missed by|gaps up to|within|gap of an optimum is at most|by) [\d.]+e-\d+",
        r"\1 …",
    ),
    (r"(optimal   +)\d[\d.]*e[-+]\d+", r"\1…"),
    (r"\([\d.]+ MB\)", "(… MB)"),
    (r"(identity ).*", r"\1…"),
    (r"\([0-9a-f]{12}…, asked [0-9a-f]{12}…\)", "(…, asked …)"),
)
WIDTH = "100"


@dataclass
class Step:
    """Something to type, and what the page shows that it prints."""

    kind: str
    text: str
    shown: str
    place: tuple[int, int]  # where in the page the shown output stands


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    end = 0
    for fence in FENCE.finditer(page):
        kind, text, start = fence["kind"], fence["text"], fence.start("text")
        if fence["aside"]:
            continue
        if kind == "text" and found and found[-1].kind == "python" and not page[end : fence.start()].strip():
            found[-1].shown, found[-1].place = text, (start, fence.end("text"))
        elif kind == "console":
            for part in re.finditer(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                place = (start + part.start(2), start + part.end(2))
                found.append(Step(kind, part[1].replace("\\\n", " "), part[2], place))
        elif kind != "text":
            found.append(Step(kind, text, "", (0, 0)))
        end = fence.end()
    return found


def typed(command: str) -> tuple[str, int]:
    """Run a command; ``dse`` in this process, since starting it 50 times would take most of the time."""
    command = re.sub(r"\s+# .*", "", command)
    if command.startswith("dse ") and not re.search(r"[|<>&;*$]", command):
        from dse.cli import main

        done = CliRunner().invoke(main, shlex.split(command)[1:])
        return (done.stdout if done.exit_code in {0, 3} else done.output), done.exit_code
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        command, shell=True, env=here, capture_output=True, text=True, timeout=240, check=False
    )
    return ran.stdout if ran.returncode in {0, 3} else ran.stdout + ran.stderr, ran.returncode


def printed(step: Step, names: dict[str, Any]) -> str:
    """Do one step, and return what it printed."""
    if step.kind == "toml":
        name = re.match(r"# (\S+\.toml)$", step.text, re.MULTILINE)
        if name:
            Path(name[1]).write_text(step.text, encoding="utf-8")
        return ""
    if step.kind == "python":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(step.text, "page", "exec"), names)
        return out.getvalue()
    if step.text.startswith("make "):
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert step.text.split()[1] in targets  # .ci/run runs them
        return ""
    output, code = typed(step.text)
    # a question may be wrong where the page shows how; only a comparison and a check end with 1 when all is well
    expected = {0, 3, 2 if step.shown else 0, 1 if re.match("dse (diff|verify) ", step.text) else 0}
    assert code in expected, f"{step.text} ended with {code}:\n{output}"
    return output


def as_shown(shown: str, actual: str) -> bool:
    """Tell whether the output is what the page shows, numbers to the digits shown there."""

    def token(text: str) -> str:
        if re.fullmatch("─+", text):
            return "─+"
        ends = [0, *(x for m in NUMBER.finditer(text) for x in m.span()), len(text)]
        pieces = [text[a:b] for a, b in itertools.pairwise(ends)]
        return "".join(
            r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)" if i % 2 else re.escape(p).replace("…", ".*?")
            for i, p in enumerate(pieces)
        )

    words = shown.split()
    match = re.fullmatch(
        r"\s+".join(map(token, words)).replace(r"\s+.*?\s+", r"\s.*?\s"), actual.strip(), re.S
    )
    if match is None:
        return False
    numbers = [m[0] for word in words for m in NUMBER.finditer(word)]
    return all(near(a, b) for a, b in zip(numbers, match.groups(), strict=True))


def near(shown: str, actual: str) -> bool:
    if "." not in shown and "e" not in shown:
        return int(shown) == float(actual)
    mantissa, _, power = shown.partition("e")
    last = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(float(shown) - float(actual)) <= 1.01 * last  # rounding may go either way


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
    names: dict[str, Any] = {"__name__": "page"}
    text = page.read_text(encoding="utf-8")
    if page.name == "README.md":  # its sweep has 287 points
        library = (ROOT / "scenarios" / "library" / "nbody_deadline_sweep.toml").read_text(encoding="utf-8")
        (empty / "short.toml").write_text(library.replace("num     = 41", "num     = 3"), encoding="utf-8")
        text = text.replace("nbody_deadline_sweep", "short.toml")
    for step in steps(text):
        output = printed(step, names)
        if step.shown and not as_shown(step.shown, output):
            lines = difflib.unified_diff(
                step.shown.splitlines(), output.splitlines(), "page", "now", lineterm=""
            )
            pytest.fail(f"{step.text}\n" + "\n".join(lines), pytrace=False)


def test_every_file_on_the_page_about_the_scenario_language_loads(tmp_path: Path) -> None:
    """A block without a model is put over the first one, as the page says."""
    import scenarios
    from scenarios.axes import RESERVED
    from scenarios.schema import Decide, Front, Goal, Searching, Shape, Sweep
    from scenarios.toml_text import to_toml

    machine = (ROOT / "dse" / "machines" / "balanced.toml").read_text(encoding="utf-8")
    (tmp_path / "my_machine.toml").write_text(machine, encoding="utf-8")
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    blocks = [tomllib.loads(step.text) for step in steps(page) if step.kind == "toml"]
    for block in blocks:
        whole = block if "model" in block else blocks[0] | block
        (tmp_path / "question.toml").write_text(to_toml(whole), encoding="utf-8")
        assert scenarios.grid(scenarios.load(tmp_path / "question.toml")).size, block
    keys = {k for part in (Shape, Decide, Front, Goal, Searching, Sweep) for k in part.model_fields}
    assert not {k for k in keys | RESERVED if not re.search(rf"\b{k}\b", page)}


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


@pytest.mark.parametrize("page", ["commands.md", "keys.md"])
def test_pages_read_off_the_program_are_fresh(page: str) -> None:
    made = runpy.run_path(str(ROOT / "docs" / "reference" / "generate.py"))["PAGES"][page]()
    assert (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8") == made, "run `make docs`"


@pytest.mark.parametrize(
    ("shown", "actual", "same"),
    [
        ("energy 42.96 J", "energy   42.9645 J", True),
        ("energy 42.97 J", "energy 42.9645 J", True),
        ("energy 42.98 J", "energy 42.9645 J", False),
        ("4 of 4 points", "4 of 5 points", False),
        ("by more than … %\nin 3 nodes", "by more than 4e-11 %\nin 3 nodes", True),
        ("first\n…\nlast", "first\nsecond\nthird\nlast", True),
        ("first\n…\nlast", "first\nsecond\nthird\n", False),
        ("e-12 1.5e-3", "e-12 1.504e-3", True),
    ],
)
def test_shown_output_is_held_to_the_digits_shown(shown: str, actual: str, same: bool) -> None:
    assert as_shown(shown, actual) is same


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
