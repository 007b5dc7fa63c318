"""Files that are huge, endless, deep or full of mistakes are refused in a few lines, and none is waited for."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.system import files
from results.stores.store import StoreError
from scenarios import Scenario, ScenarioError
from scenarios.language.errors import MOST_MISTAKES
from solvers.sampling import databases

HEAD = 'model = "nbody"\nmachine = "jaketown"\n[given]\nflops_per_pair = 20\nprocessors = 100\nmemory = 1e6\n'


def refused(file: Path) -> str:
    with pytest.raises(ScenarioError) as told:
        dse.load(file)
    assert str(file) in str(told.value)
    return str(told.value)


def write(folder: Path, text: str) -> Path:
    file = folder / "question.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("digits", ["9" * 5000, "0x" + "9" * 5000])
def test_a_number_of_thousands_of_digits_is_refused_with_its_line(tmp_path: Path, digits: str):
    told = refused(write(tmp_path, f"{HEAD}bodies = {digits}\n"))
    assert "line 7: a whole number has thousands of digits" in told


@pytest.mark.parametrize(
    "text", ["a" + ".a" * 20_000 + " = 1", "[given" + ".a" * 20_000 + "]", "a = " + "[" * 60 + "]" * 60]
)
def test_deep_nesting_is_refused(tmp_path: Path, text: str):
    assert "nests lists or tables too deeply" in refused(write(tmp_path, f'model = "nbody"\n{text}\n'))


def test_dots_in_numbers_and_texts_are_no_nesting(tmp_path: Path):
    listed = ", ".join(f"{i}.5" for i in range(1, 300))
    text = f'title = "{"and so on ... " * 50}"\n{HEAD}[sweep.x]\npath = "given.bodies"\nvalues = [{listed}]\n'
    assert len(dse.load(write(tmp_path, text)).sweep["x"].values) == 299


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    file = write(tmp_path, HEAD)
    os.truncate(file, files.MOST_BYTES + 1)
    assert "larger than 16 MB" in refused(file)


def test_a_pipe_that_is_silent_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.1)
    read, write = os.pipe()
    try:
        assert "nothing came through this pipe" in refused(Path(f"/dev/fd/{read}"))
    finally:
        os.close(read)
        os.close(write)


MACHINE = """machine = "./{name}"
[given]
bodies = 1e6
flops_per_pair = 20
processors = 100
memory = 1e6
"""
POINTS = HEAD + '[sweep.case]\ntable = "{name}"\ncolumns = {{ "given.bodies" = "n" }}\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pipe.toml", f'model = "nbody"\n{MACHINE}'),
        ("pipe.toml", f'model = "./{{name}}"\n{HEAD.partition(chr(10))[2]}bodies = 1e6\n'),
        ("pipe.csv", POINTS),
    ],
    ids=["machine", "model", "table"],
)
def test_a_pipe_with_a_name_that_a_scenario_names_is_refused_at_once(tmp_path: Path, name: str, text: str):
    os.mkfifo(tmp_path / name)
    assert "it is no regular file" in refused(write(tmp_path, text.format(name=name)))


@pytest.mark.parametrize("name", ["pipe.toml", "/dev/zero", "/dev/null"])
def test_a_pipe_with_a_name_or_a_device_is_no_scenario(tmp_path: Path, name: str):
    if not name.startswith("/"):
        os.mkfifo(tmp_path / name)
    assert "the file cannot be read: it is no regular file" in refused(tmp_path / name)


@pytest.mark.parametrize("way", ["cat {file} | {dse} check /dev/stdin", "{dse} check <(cat {file})"])
def test_what_a_shell_pipes_is_read(tmp_path: Path, way: str):
    file = write(tmp_path, HEAD + "bodies = 1e6\n")
    words = ["bash", "-c", way.format(file=file, dse=f"{sys.executable} -m dse")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "no mistakes" in done.stdout


def test_a_pipe_is_no_answer_and_no_study(tmp_path: Path):
    for name in ("pipe.json", "pipe.db"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(StoreError, match=r"cannot read .*pipe\.json: it is no regular file"):
        dse.export(tmp_path / "pipe.json", tmp_path / "out.csv")
    with pytest.raises(StoreError, match=r"pipe\.db: no study can be kept there: it is no regular file"):
        databases.connected(str(tmp_path / "pipe.db"))


def test_a_pipe_that_is_written_to_is_read(tmp_path: Path):
    read, written = os.pipe()
    os.write(written, f"{HEAD}bodies = 1e6\n".encode())
    os.close(written)
    try:
        assert isinstance(dse.load(f"/dev/fd/{read}"), Scenario)
    finally:
        os.close(read)


@pytest.mark.parametrize("wrong", ["[given]\nbodies = 1e6\n", ""])
def test_a_machine_file_that_cannot_be_read_is_one_mistake(tmp_path: Path, wrong: str):
    (tmp_path / "here.toml").mkdir()
    told = refused(write(tmp_path, f'model = "nbody"\nmachine = "./here.toml"\n{wrong}'))
    assert told.count("cannot be read: Is a directory") == 1


def test_a_hundred_mistakes_are_told_in_full_and_the_rest_counted(tmp_path: Path):
    told = refused(write(tmp_path, HEAD + "bodies = 1e6\n" + "".join(f"w{i} = 1\n" for i in range(130))))
    assert told.startswith("130 mistakes")
    assert (
        told.count("there is no input of nbody called") + told.count("there is no input of nbody")
        >= MOST_MISTAKES
    )
    assert "given.w99:" in told
    assert "given.w100:" not in told
    assert told.endswith("… and 30 more")


def regions(count: int) -> dict[str, Any]:
    rows = [{"name": f"r{i}", "flops": 1e9 + i, "bytes": 4e8} for i in range(count)]
    machine = {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"}
    return {"model": "partition", "machine": machine, "given": {"regions": rows}}


def test_many_regions_are_read_in_proportion():
    """Calls are counted, not seconds: four times the regions take about four times the calls, not sixteen."""
    calls = [_work(count) for count in (200, 800)]
    assert calls[1] / calls[0] < 6


def _work(count: int) -> int:
    import sys

    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    asked = regions(count)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        dse.load(asked)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("text", ["a\x1b[31mb", "bell\x07", "c1 \x9b31m"])
def test_control_characters_are_refused(text: str):
    asked = regions(2)
    with pytest.raises(ScenarioError, match=r"title: control characters stand in .*\\u00"):
        dse.load({**asked, "title": text})
    with pytest.raises(ScenarioError, match="control characters") as told:
        dse.load({**asked, "given": {**asked["given"], text: 1}})
    assert text not in str(told.value)
    assert dse.load({**asked, "title": "two\nlines, and a\ttab"}).title.startswith("two")
