"""A model over lists of every kind, known while a test asks for it."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dse.models import registry
from dse.models.model import Model, Unknown
from dse.models.shared.structure import Column, Parts, Structure, Table
from dse.quantities import Quantity
from scenarios import Problem, ScenarioError, load
from scenarios.questions import grid
from scenarios.sweep.grids import Grid

JOBS = Table(
    "jobs",
    "job",
    "what is to be done",
    (
        Quantity("flops", "F", "flop", "flops of the job"),
        Quantity("bytes", "B", "byte", "bytes of the job", default=0.0),
        Quantity("times", "t", "s", "time on each lane", optional=True),
    ),
    (Column("whole", "whether it runs in one go", default=False),),
)
LINKS = Table(
    "links",
    "link",
    "what jobs pass on",
    (Quantity("words", "", "word", "words passed"),),
    (Column("from", "who sends", refers="jobs"), Column("to", "who gets", refers="jobs")),
    required=False,
)
MACHINE = (
    Quantity("time_per_flop", "", "s/flop", "time of a flop"),
    Quantity("energy_per_flop", "", "J/flop", "energy of a flop"),
    Quantity("usable_power", "", "W", "power it may use", optional=True),
)
LANES = ("slow", "fast")
MODE = Quantity("mode", "", "", "how work is shared", default="even", choices=("even", "free"))
COUNT = Quantity("count", "n", "", "how many are on", floor=0.0, ceiling=1e6)
RATE = Quantity("rate", "r", "flop/s", "speed of all of them", floor=0.0, ceiling=1e15, optional=True)
LANE = Quantity("lane", "", "", "lane of a job", minimum=1.0, maximum=2.0, menu=LANES, optional=True)
OVERHEAD = Quantity("overhead", "", "W", "power of all that is not a machine", default=0.0)
TIME = Quantity("time", "T", "s", "time of all")


def _equations(g: Any) -> Mapping[str, Any]:
    return {
        "time": 1.0,
        **{n.replace("count", "time", 1): v for n, v in vars(g).items() if n[:6] == "count."},
    }


def _expand(parts: Parts) -> Model:
    jobs = parts.rows["jobs"]
    if any(j.name == "forbidden" for j in jobs):
        raise ValueError("job forbidden cannot be done; call it otherwise")
    rows = [
        replace(q, name=f"{t.name}.{r.name}.{q.name}")
        for t in (JOBS, LINKS)
        for r in parts.rows[t.name]
        for q in t.numbers
        if not q.optional
    ]
    counts = [COUNT.at(worker=m) for m in parts.machines]
    rates = [RATE.at(worker=m) for m in parts.machines]
    lanes = [LANE.at(job=j.name) for j in jobs]
    return replace(
        TOY,
        machine=tuple(replace(q, name=f"{m}.{q.name}") for m in parts.machines for q in MACHINE),
        inputs=(MODE, OVERHEAD, LANE, *rows, *counts, *rates, *lanes),
        metrics=(TIME, *(TIME.at(worker=m) for m in parts.machines)),
        unknowns=(
            *(Unknown(q.name, integer=True) for q in counts),
            *(Unknown(q.name) for q in rates),
            *(Unknown(q.name, integer=True) for q in lanes),
        ),
        unused=lambda texts: {q.name for q in rates} if texts.get("mode", "even") == "even" else set(),
        structure=None,
        expand=None,
        notes=repr(parts),
    )


TOY = Model(
    name="toy",
    title="A toy",
    source="",
    machine=MACHINE,
    inputs=(MODE, OVERHEAD),
    metrics=(TIME,),
    limits=(),
    equations=_equations,
    structure=Structure((JOBS, LINKS), machines="worker", least=2),
    expand=_expand,
)
DATA: dict[str, Any] = {
    "model": "toy",
    "machine": {"cpu": "i7-2600k", "gpu": "gtx-titan-tang2017"},
    "given": {"jobs": [{"name": "a", "flops": 1e9}, {"name": "b", "flops": "2 Gflop", "bytes": 3}]},
    "objective": {"minimize": "time"},
}
Ask = Callable[..., Grid]
Complain = Callable[..., Problem]


def _data(changes: dict[str, Any]) -> dict[str, Any]:
    given = DATA["given"] | changes.pop("given", {})
    every = DATA | {"given": {k: v for k, v in given.items() if v is not None}} | changes
    return {k: v for k, v in every.items() if v is not None}


def _refused(data: dict[str, Any]) -> tuple[Problem, ...]:
    """What a scenario is refused for, in words of its own."""
    with pytest.raises(ScenarioError) as caught:
        load(data)
    assert "pydantic" not in str(caught.value)
    assert "http" not in str(caught.value)
    assert all(p.wrong and p.right for p in caught.value.problems)
    return caught.value.problems


def _single(found: tuple[Problem, ...]) -> Problem:
    assert len(found) == 1, found
    assert found[0].file == "scenario"
    return found[0]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Model:
    """The toy model, known for the length of a test."""
    monkeypatch.setitem(registry._registered, "toy", TOY)
    return TOY


@pytest.fixture
def ask(toy: Model) -> Ask:
    """The grid of the toy's question with some entries changed (None: left out; under given one by one)."""
    return lambda **changes: grid(load(_data(changes)))


@pytest.fixture
def complaints(toy: Model) -> Callable[..., tuple[Problem, ...]]:
    """All mistakes of the toy's question with some entries changed."""
    return lambda **changes: _refused(_data(changes))


@pytest.fixture
def complaint(complaints: Callable[..., tuple[Problem, ...]]) -> Complain:
    """The only mistake of the toy's question with some entries changed."""
    return lambda **changes: _single(complaints(**changes))


@pytest.fixture(scope="session")
def good() -> dict[str, Any]:
    """A scenario without a mistake; tests that spoil it make a copy."""
    return {
        "model": "nbody",
        "machine": "jaketown",
        "given": {"bodies": 1e6, "flops_per_pair": 20},
        "decide": {"processors": {"max": 64}, "memory": {"max": "16 GiB"}},
        "objective": {"minimize": "energy"},
        "limits": {"time": {"max": "10 s"}},
    }


@pytest.fixture
def problems(good: dict[str, Any]) -> Callable[..., tuple[Problem, ...]]:
    """All mistakes of the good scenario with some entries replaced (None: left out)."""

    def found(**changes: Any) -> tuple[Problem, ...]:
        data = copy.deepcopy(good) | changes
        return _refused({k: v for k, v in data.items() if v is not None})

    return found


@pytest.fixture
def only(problems: Callable[..., tuple[Problem, ...]]) -> Callable[..., Problem]:
    """The only mistake of the good scenario with some entries replaced."""
    return lambda **changes: _single(problems(**changes))
