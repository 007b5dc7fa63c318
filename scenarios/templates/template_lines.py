"""Lines of a scenario to start from: an entry each, with a comment that says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from dse.models.model import Model
from dse.models.shared.economics import ACCOUNTS, SHARED, refusal
from dse.models.shared.starts import Start
from dse.quantities import Quantity, examples

EXAMPLES = {
    "flops": "1e10",
    "bytes": "4e10",
    "bodies": "1e5",
    "order": "4096",
    "points": "2e6",
    "flops_per_pair": "20",
    "distance": '"32 KiB"',
    "instructions": '"1e11 instruction"',
}
# of what a run costs and emits; a grid is an example among others
PRICES = {
    "electricity_price": '"0.2 USD/kWh"',
    "carbon_intensity": '"400 g/kWh"',
    "grid": '"world"',
    "lifetime": '"4 yr"',
}
# where a model's theory holds, for metrics that leave this range without it, and work to be done: limits that count
RANGES = {
    "throughput": 'min = "1e12 op/s"',
    "node_copies": "min = 1",
    "node_replication": "max = 1",
    "core_replication": "max = 1",
}
# what the limits below are counted in; a metric of that name in another unit has none
UNITS = {"performance": "flop/s", "efficiency": "flop/J", "memory": "word"}
# limits that a starter's own answer keeps, as comments to begin with; a metric without one is not listed
LIMITS = {
    "time": 'max = "1 min"',
    "energy": 'max = "1 kJ"',
    "power": 'max = "20 kW"',
    "performance": 'min = "0.5 GFLOPS"',
    "efficiency": 'min = "0.01 GFLOPS/W"',
    "energy_delay": 'max = "1 kJ*s"',
    "power_per_processor": 'max = "1 kW"',
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


UNCERTAIN = "# [uncertain]  # uncertain numbers: the best design in each sample, by `dse uncertainty`"


def shown_key(name: str) -> str:
    """Write a name as the key of a table: quoted where it has a dot."""
    return f'"{name}"' if "." in name else name


def line(entry: str, comment: str) -> str:
    """Write an entry with its comment."""
    return f"{entry:<40}  # {comment}"


def about(q: Quantity) -> str:
    """Say what a quantity is, and in which unit."""
    return f"{q.meaning} ({q.unit})" if q.unit else q.meaning


def given(m: Model, q: Quantity, stated: Mapping[str, str] | None = None) -> str:
    """Write a value of an input: the one ``stated``, else an example, commented out where it may be left out."""
    own = (stated or {}).get(q.name)
    if q.choices:
        return line(f"{q.name} = {own or json.dumps(q.default or q.choices[0])}", choices(q))
    if own is not None:
        return line(f"{q.name} = {own}", about(q))
    value = EXAMPLES.get(q.name) or example(q)
    first = any(q.name == group[0] for group in m.one_of)
    start = "# " if q.default is not None or (q.optional and not first) else ""
    return line(f"{start}{q.name} = {value}", about(q))


def choices(q: Quantity) -> str:
    """Say what a quantity is, and which texts it may be where it is a choice among such."""
    names = " or ".join(f'"{c}"' for c in q.choices)
    return f"{names}: {q.meaning}" if names else about(q)


def prices(m: Model) -> list[str]:
    """Write what asks for the cost and the carbon of a run, as comments; nothing for a model that has none of these."""
    if refusal(m):
        return []
    rates = [*(q for a in ACCOUNTS for q in a.rates), *SHARED]
    told = (
        "for `cost` and `carbon` among the metrics, with purchase_price and embodied_carbon of the machine:"
    )
    return [f"# {told}", *(line(f"# {q.name} = {PRICES.get(q.name) or example(q)}", about(q)) for q in rates)]


def ties(m: Model) -> str:
    """Write the order of ties, as a comment."""
    names = [q.name for q in m.metrics]
    first = [f'"{n}"' for n in dict.fromkeys(("time", "power", "cost", *names)) if n in names][:2]
    return line(f"# ties = [{', '.join(first)}]", "of equally good designs the one with the least of these")


def example(q: Quantity) -> str:
    """Write a value of a quantity: its default, or one that reads well."""
    if q.default is not None:
        return f"{q.default:g}"
    return f'"{examples(q.unit)[0]}"' if q.unit else f"{max(q.minimum, 1.0):g}"


def objective(m: Model) -> str:
    """Name the metric that a starter minimises."""
    names = [q.name for q in m.metrics]
    return next((n for n in ("energy", "cost") if n in names), names[0])


def limits(metrics: Iterable[Quantity]) -> list[str]:
    """Write the limits of a starter: those that keep it where its theory holds, and others as comments."""
    every = list(metrics)
    ranges = {q.name: f"{{ {RANGES[q.name]} }}" for q in every if q.name in RANGES}
    return bounded(every, ranges, {q.name: f"{{ {LIMITS[q.name]} }}" for q in every if _has_usual_limit(q)})


def bounded(metrics: Iterable[Quantity], held: Mapping[str, str], kept: Mapping[str, str]) -> list[str]:
    """Write limits on metrics: those ``held``, and as comments those that the answer keeps anyway."""
    of = {q.name: q for q in metrics}
    return [
        *(line(f"{name} = {bounds}", about(of[name])) for name, bounds in held.items()),
        *(line(f"# {name} = {bounds}", about(of[name])) for name, bounds in kept.items()),
    ]


def _has_usual_limit(q: Quantity) -> bool:
    return q.name in LIMITS and UNITS.get(q.name, q.unit) == q.unit


def axis(metrics: Iterable[Quantity], start: Start | None = None) -> list[str]:
    """Write an axis of a dataset as comments: over a limit on time, on power, or on the first metric of others."""
    units = {q.name: q.unit for q in metrics}
    usual = (("deadline", "time", " s"), ("budget", "power", " kW"))
    other = ("budget", next(iter(units)), f" {next(iter(units.values()))}".rstrip())
    name, what, unit = next((one for one in usual if one[1] in units), other)
    first, last = (f'"{n}{unit}"' if unit else n for n in ("1", "100"))
    path, count = f"limits.{what}.max", 41
    if start is not None and start.axis is not None:
        name, path, first, last, count = start.axis
    return [
        f"# [sweep.{name}]  # an axis of a dataset, for `dse sweep`",
        f'# path    = "{path}"',
        f"# start   = {first}",
        f"# stop    = {last}",
        f"# num     = {count}",
        '# spacing = "log"',
        "# in place of these, several that change together, or the rows of a file:",
        f'# paths = {{ "{path}" = [{first}, {last}] }}',
        '# table = "points.csv"',
        f'# columns = {{ "{path}" = "{name}" }}',
    ]


def uncertain(given: Iterable[Quantity], start: Start | None = None) -> list[str]:
    """Write the first given number of a starter that can be uncertain, as comments; nothing without one."""
    if start is not None:
        told = [f"# {shown_key(n)} = {spread}" for n, spread in start.uncertain.items()]
        return told and [UNCERTAIN, *told]
    first = next((q for q in given if q.name in EXAMPLES and EXAMPLES[q.name][:1] != '"'), None)
    if first is None:
        return []
    value = float(EXAMPLES[first.name])
    return [
        UNCERTAIN,
        line(
            f"# {first.name} = {{ uniform = [{0.8 * value:g}, {1.2 * value:g}] }}",
            "also: normal, lognormal, values",
        ),
    ]
