"""What commands print about structured questions: grids of several classes, codes by name, pictures refused in time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from dse import models
from dse.cli import main


def dse_(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """A partition over execution models and two prices of a link: of evaluations and of programs."""
    file = tmp_path / "swept.toml"
    file.write_text(
        """model = "partition"
[[given.regions]]
name = "a"
flops = "1 Gflop"
bytes = "1 GB"
[[given.regions]]
name = "b"
flops = "9 Gflop"
bytes = "1 GB"
[machine]
cpu = "i7-2600k-tang2017"
gpu = "gtx-titan-tang2017"
[objective]
minimize = "time"
[sweep.execution]
path = "given.execution"
values = ["CO", "CP"]
"""
    )
    return file


def test_check_counts_the_limits_of_a_family() -> None:
    """A station of several types has four limits of the model's own for each kind of socket and card."""
    told = dse_("check", "station_cheapest_mix_in_10_kw").output
    (line,) = (x for x in told.splitlines() if x.startswith("  limits"))
    assert line.split(None, 1)[1].startswith(
        "throughput, power, types, housed (28 limits), needed (28 limits), "
    )
    assert len(line) < 200
    every = json.loads(dse_("check", "station_cheapest_mix_in_10_kw", "--json").output)["limits"]
    assert len(every) > 90


def test_check_tells_all_classes_of_a_grid(swept: Path):
    shown = dse_("check", swept).stdout
    assert "evaluation or LP" in shown
    assert "nothing; at some points only: share.a.cpu, share.b.cpu" in shown
    told = json.loads(dse_("check", swept, "--json").stdout)
    assert told["decide"] == told["decide_at_some"] == ["share.a.cpu", "share.b.cpu"]


def test_a_summary_names_what_codes_stand_for(swept: Path, tmp_path: Path):
    lines = dse_("sweep", swept, "-o", tmp_path / "s.zarr", "--summary").stdout.splitlines()
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert "CPU_MEM-GPU_COMP" in rows["performance_category"]
    assert "optimal, evaluated" in rows["status"]


def test_a_picture_of_too_many_axes_is_refused_before_anything_is_solved(swept: Path, tmp_path: Path):
    grid = ", ".join(map(str, range(1, 15)))
    axes = [f'[sweep.{n}]\npath = "given.{n}"\nvalues = [{grid}]\n' for n in ("link_latency",)]
    axes += [f'[sweep.{c}]\npath = "given.regions.{c}.flops"\nvalues = [{grid}]\n' for c in "ab"]
    text = swept.read_text().partition("[sweep.execution]")[0]
    swept.write_text(text + "".join(axes))
    store = tmp_path / "s.zarr"
    found = dse_("sweep", swept, "-o", store, "--plot", tmp_path / "x.png")
    assert found.exit_code == 2
    assert "14 link_latency × 14 a × 14 b would need 14 panels" in " ".join(found.stderr.split())
    assert not store.exists()


def test_explain_leaves_out_rows_only_until_all_is_asked_for():
    short, whole = dse_("explain", "dvfs_deadline").stdout, dse_("explain", "dvfs_deadline", "--full").stdout
    assert max(map(len, (short + whole).splitlines())) <= 100
    assert "machine: 16 rows of numbers" in short
    assert "energy_per_byte" not in short
    assert whole.count("energy_per_byte") == 16
    assert "… 16 in all" in short
    assert "…" not in whole


@pytest.mark.parametrize("name", [n for n in models.names() if models.get(n).structure is not None])
def test_the_page_of_a_model_over_lists_shows_them_without_breaking_words(name: str):
    model = models.get(name)
    shown = dse_("models", name).stdout
    assert max(map(cell_len, shown.splitlines())) <= 100
    words = set(shown.split())
    assert model.structure is not None
    for rows in model.structure.tables:
        assert f"[[given.{rows.name}]]," in words
        assert {q.name for q in (*rows.numbers, *rows.columns)} <= words
    assert (f"[machine.<{model.structure.machines}>]:" in words) == bool(model.structure.machines)
    # no word of a meaning is cut in two
    assert {w for q in (*model.inputs, *model.machine, *model.metrics) for w in q.meaning.split()} <= words
    told = json.loads(dse_("models", name, "--json").stdout)
    keys = {k["key"] for part in told["lists"] for k in part["keys"]}
    assert keys >= {q.name for rows in model.structure.tables for q in rows.numbers}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sweep nbody_deadline_sweep", "name the STORE to fill: dse sweep nbody_deadline_sweep"),
        ("evaluate nbody_deadline --extend", "--extend is for a store"),
        ("solve", "Missing argument"),
        ("solve nbody_deadline --sead 3", "No such option"),
    ],
)
def test_a_command_that_is_called_wrongly_says_so_as_json_where_answers_are(words: str, told: str):
    found = CliRunner().invoke(main, [*words.split(), "--json"])
    (problem,) = json.loads(found.stdout)["problems"]
    assert (found.exit_code, found.stderr, told in problem["wrong"]) == (2, "", True)
    # what prints no JSON refuses the option in words
    other = CliRunner().invoke(main, ["report", "nbody_deadline", "--json"])
    assert (other.exit_code, other.stdout, "No such option" in other.stderr) == (2, "", True)
