"""Where scenarios start from: the library of ready questions, a commented template, the JSON Schema."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from dse import machines, models
from dse.models.model import Model
from dse.quantities import Quantity, examples
from scenarios.schema import Shape

_EXAMPLES = {
    "flops": "1e10",
    "bytes": "4e10",
    "bodies": "1e5",
    "order": "8192",
    "points": "2e6",
    "flops_per_pair": "20",
}
# where a model's theory holds, for metrics that leave this range without it: as limits that count
_RANGES = {
    "node_copies": "min = 1",
    "node_replication": "max = 1",
    "core_replication": "max = 1",
}
# limits that a starter's own answer keeps, as comments to begin with; a metric without one is not listed
_LIMITS = {
    "time": 'max = "1 min"',
    "energy": 'max = "1 kJ"',
    "power": 'max = "5 kW"',
    "performance": 'min = "0.5 GFLOPS"',
    "efficiency": 'min = "0.1 GFLOPS/W"',
    "energy_delay": 'max = "1 kJ*s"',
    "power_per_processor": 'max = "200 W"',
    "flops": 'max = "1 Tflop"',
    "words": 'max = "100 Mword"',
    "messages": 'max = "1000 message"',
    "memory": 'max = "1 Gword"',
    "processors": "max = 1024",
    "node_words": 'max = "100 Mword"',
    "core_words": 'max = "100 Mword"',
    "bandwidth": 'min = "1 GB/s"',
    "peak_power": 'max = "1 kW"',
}
_FAVOURITE = "jaketown"


def library() -> dict[str, Traversable]:
    """Return the ready scenarios that come with the package: name -> file."""
    entries = files("scenarios").joinpath("library").iterdir()
    found = {e.name.removesuffix(".toml"): e for e in entries if e.name.endswith(".toml")}
    return dict(sorted(found.items()))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Shape.model_json_schema(),
        "title": "dse scenario",
        "description": "One question about a machine and an algorithm.",
    }


def template(model: str) -> str:
    """Return a commented scenario file to start from, which can be asked as it stands.

    Raises UnknownName (a KeyError) where there is no such model.
    """
    m = models.get(model)
    decided = [q for q in m.inputs if _is_resource(q)]
    given = [q for q in m.inputs if q not in decided]
    waived = ", ".join(f'"{x.name}"' for x in m.limits)
    lines = [
        f'title   = "Least {_objective(m)}: {m.title}"',
        _line(f'model   = "{m.name}"', m.source),
        *([_line(f"machine = {_machine(m)}", _about_machine(m))] if decided else []),
        *([_line(f"# waive = [{waived}]", "the model's own limits, to set aside")] if waived else []),
        "",
        "[given]   # SI numbers, or text with a unit",
        *(_input(m, q) for q in given),
        "",
        "[decide]  # bounds default to the quantity's own domain; also: integer, values, powers_of",
        *(_line(f"{q.name} = {_range(q)}", _about(q)) for q in decided),
        *([] if decided else [f"machine = {{ values = {_machines(m)} }}"]),
        '# "machine.energy_per_flop" = { max_halvings = 10 }',
        "",
        "[objective]  # or maximize; a list of metrics asks for a Pareto front",
        f'minimize = "{_objective(m)}"',
        "",
        "[limits]  # min or max of a metric or a decided quantity",
        *(_line(f"{q.name} = {{ {_RANGES[q.name]} }}", _about(q)) for q in m.metrics if q.name in _RANGES),
        *(_line(f"# {q.name} = {{ {_LIMITS[q.name]} }}", _about(q)) for q in m.metrics if q.name in _LIMITS),
        "",
        "# [sweep.deadline]  # an axis of a dataset, for `dse sweep`",
        '# path    = "limits.time.max"',
        '# start   = "1 s"',
        '# stop    = "100 s"',
        "# num     = 41",
        '# spacing = "log"',
    ]
    return "\n".join(lines) + "\n"


def _line(entry: str, comment: str) -> str:
    return f"{entry:<40}  # {comment}"


def _is_resource(q: Quantity) -> bool:
    return q.name.endswith(("processors", "memory", "nodes", "cores"))


def _range(q: Quantity) -> str:
    return "{ min = 1, max = 4096 }" if not q.unit else "{}"


def _about(q: Quantity) -> str:
    return f"{q.meaning} ({q.unit})" if q.unit else q.meaning


def _input(m: Model, q: Quantity) -> str:
    if q.choices:
        value = " or ".join(f'"{c}"' for c in q.choices)
        return _line(f'{q.name} = "{q.default or q.choices[0]}"', f"{value}: {q.meaning}")
    value = _EXAMPLES.get(q.name) or f"{q.default if q.default is not None else max(q.minimum, 1.0):g}"
    other = any(q.name in group[1:] for group in m.one_of)
    start = "# " if other or q.default is not None else ""
    return _line(f"{start}{q.name} = {value}", _about(q))


def _objective(m: Model) -> str:
    names = [q.name for q in m.metrics]
    return "energy" if "energy" in names else names[0]


def _needed(m: Model) -> list[Quantity]:
    """Return the machine parameters that the model needs with its inputs as the template has them."""
    choices = {q.name: str(q.default or q.choices[0]) for q in m.inputs if q.choices}
    chosen = m.needs(choices) if m.needs is not None else ()
    return [q for q in m.machine if q.name in chosen or (not q.optional and q.default is None)]


def _fitting(m: Model) -> list[str]:
    """Return the machines of the catalogue that have what the model needs, the favourite first."""
    names = dict.fromkeys((_FAVOURITE, *machines.names()))
    return [n for n in names if all(q.name in machines.get(n).parameters for q in _needed(m))]


def _machines(m: Model) -> str:
    return "[" + ", ".join(f'"{n}"' for n in _fitting(m)[:3]) + "]"


def _about_machine(m: Model) -> str:
    return "`dse machines` lists them" + ("" if _fitting(m) else "; the numbers here are placeholders")


def _machine(m: Model) -> str:
    needed, fitting = _needed(m), _fitting(m)
    if fitting:
        return f'"{fitting[0]}"'
    own = machines.get(_FAVOURITE).parameters
    lacking = ", ".join(f'{q.name} = "{examples(q.unit)[0]}"' for q in needed if q.name not in own)
    return f'{{ base = "{_FAVOURITE}", {lacking} }}'
