"""Models by name, and what a declaration must hold."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pages import as_made

from dse import machines, models
from dse.models import registry
from dse.models.described.pages import documented, page
from dse.quantities import Quantity, kind

ROOT = Path(__file__).parents[2]


def test_the_names_to_rely_on_are_there():
    demmel = {"nbody", "matmul", "strassen", "lu", "fft", "matmul_two_level", "nbody_two_level"}
    assert demmel <= set(models.names())
    wanted = {
        "nbody": {"bodies", "flops_per_pair", "processors", "memory"},
        "matmul": {"order", "processors", "memory"},
        "strassen": {"order", "exponent", "processors", "memory"},
        "lu": {"order", "processors", "memory"},
        "fft": {"points", "all_to_all", "processors"},
    }
    for name, inputs in wanted.items():
        assert {q.name for q in models.get(name).inputs} == inputs


@pytest.mark.parametrize("name", ["nbody", "matmul", "strassen", "lu"])
def test_limits_have_the_names_to_rely_on(name: str):
    assert [x.name for x in models.get(name).limits] == ["one_copy", "replication", "memory_capacity"]


def test_an_unknown_model_is_told_what_was_meant():
    with pytest.raises(models.UnknownName, match="no model is called 'nbdy'; did you mean 'nbody'"):
        models.get("nbdy")
    with pytest.raises(KeyError, match="there are nbody, matmul"):
        models.get("weather")


def test_of_many_names_a_message_has_the_first_ones():
    with pytest.raises(KeyError, match=r"there are a100-pcie-40gb, .*, … \(\d+ in all\)") as told:
        machines.get("weather")
    assert len(str(told.value)) < 1000


def test_every_quantity_declares_a_readable_unit_a_meaning_and_a_source():
    for name in models.names():
        model = models.get(name)
        for q in (*model.inputs, *model.machine, *model.metrics):
            assert kind(q.unit), q
            assert q.meaning, q
            assert q.source, q
            assert q.minimum <= q.floor < q.ceiling <= max(q.maximum, 1e30), q
        assert len(model.parameters()) == len(model.inputs) + len(model.machine)


def test_a_machine_parameter_means_the_same_in_every_model():
    units: dict[str, str] = {}
    for name in models.names():
        for q in models.get(name).machine:
            assert units.setdefault(q.name, q.unit) == q.unit


def test_a_model_of_ones_own_can_be_registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    mine = replace(models.get("nbody"), name="mine")
    models.register(mine)
    assert models.get("mine") is mine
    assert "mine" in models.names()


def test_registration_refuses_what_would_contradict():
    nbody = models.get("nbody")
    with pytest.raises(ValueError, match="already a model called 'nbody'"):
        models.register(replace(nbody, title="another"))
    with pytest.raises(ValueError, match="declares memory more than once"):
        models.register(replace(nbody, name="twice", inputs=(*nbody.inputs, nbody.inputs[-1])))
    other = Quantity("time_per_flop", "γ", "s", "a time")
    with pytest.raises(ValueError, match=r"machine\.time_per_flop in 's', others in 's/flop'"):
        models.register(replace(nbody, name="odd", machine=(other,)))
    unknown = Quantity("time", "T", "sekunde", "a time")
    with pytest.raises(ValueError, match="'odd' declares time in 'sekunde': unknown unit 'sekunde'"):
        models.register(replace(nbody, name="odd", metrics=(unknown,)))
    with pytest.raises(ValueError, match="'odd' declares time in None"):
        models.register(replace(nbody, name="odd", metrics=(replace(unknown, unit=None),)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "-a", "mine.toml", "a\nb", 3])
def test_what_cannot_stand_in_a_scenario_is_not_the_name_of_a_model(name: object):
    with pytest.raises(ValueError, match="is not a name of a model; write letters, digits"):
        models.register(replace(models.get("nbody"), name=name))


@pytest.mark.parametrize("name", models.names())
def test_the_committed_page_is_current(name: str):
    """Run ``python -m dse.models`` where this fails."""
    committed = (ROOT / "docs" / "models" / f"{name}.md").read_text(encoding="utf-8")
    assert as_made(committed, documented(models.get(name), ROOT / "docs"))
    of_a_paper = not models.get(name).source.startswith("our addition")
    parts = ("Metrics", "Assumptions", *(("Errata",) if of_a_paper else ()))
    assert all(f"\n## {part}\n" in committed for part in parts)


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("blocks", {"`count.<block>`": True, "`busy.<block>`": False}),
        ("dvfs", {"`setting.<phase>`": True}),
        (
            "partition",
            dict.fromkeys((f"`{k}share.<region>.<processor>`" for k in ("", "flops_", "bytes_")), False)
            | {"`share.<processor>`": False},
        ),
        (
            "sockets",
            dict.fromkeys(("`sockets.<type>.<level>.<card>`", "`cards.<type>.<level>.<card>`"), True)
            | {"`power_steps`": True},
        ),
        ("nbody", {}),
    ],
)
def test_a_page_says_what_is_decided_unless_given(name: str, marked: dict[str, bool]):
    """And whether in whole numbers."""
    cells = [line.split(" | ") for line in page(models.get(name)).splitlines() if "decided unless" in line]
    assert {row[0].removeprefix("| "): "in whole numbers" in row[3] for row in cells} == marked


def test_pages_are_written_by_one_command(tmp_path: Path):
    subprocess.run([sys.executable, "-m", "dse.models", str(tmp_path)], check=True, cwd=ROOT)
    assert {p.stem for p in tmp_path.iterdir()} == set(models.names())


def test_asking_for_names_imports_nothing_heavy():
    code = "import sys, dse.models, dse.machines; dse.models.names(); dse.machines.names()\n"
    code += "print([m for m in ('numpy', 'pint', 'pydantic', 'pyomo', 'xarray') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", models.names())
def test_a_page_is_read_without_the_code(name: str):
    """What it needs stands on it; a module of the program is no place to send a reader to."""
    assert not re.search(r"\bdse\.\w+\.\w+", page(models.get(name)))


@pytest.mark.parametrize(
    "name", ["nbody", "matmul", "strassen", "lu", "fft", "matmul_two_level", "nbody_two_level"]
)
def test_the_page_of_a_distributed_model_says_what_a_network_costs(name: str):
    text = page(models.get(name))
    assert "h = (d/4) p^(1/d)" in text
    assert "h = 2 log_a p" in text
    assert "fat tree    h W and h S in the energy, W and h S in the time" in text
    assert "``hops``" in text


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("transformer_training", "P      = M/t β + α + A(t, M)/2,  or M/t β + α with sequence parallelism"),
        ("transformer_training", "logits = 3 times a product b s x V/t x h, and 26 values moved"),
        ("transformer_training", "2048   2     0.99    1.344    0.975    0.855"),
        ("transformer_training", "w = h (2 a d/t + z) + 2 h f/t, or 3 h f/t where gated"),
        ("transformer_inference", "launch_time + max(W τf/ηf, Q τm/ηm, (W εf + Q εm) k/Δπ)"),
        ("transformer_inference", "queries, keys, values   m x (a d/t + z) x h"),
        ("transformer_inference", "halving and doubling   log₂t α + (t - 1)/t n β"),
        ("transformer_inference", "E = D/(B O) C_flops + N (C_bytes + C_links) + n π1 T"),
        ("transformer_inference", "bw (L/P (w + 2 h/t) + V h/t)"),
        ("exabounds", "n_core: transistors of one core, the metric ``transistors_per_core``"),
        ("partition", "transfer between regions whose shares differ costs one latency"),
    ],
)
def test_a_page_has_the_formulas_by_which_its_numbers_are_computed(name: str, printed: str):
    assert printed in page(models.get(name))
