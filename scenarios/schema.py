"""The scenario language: what a file may say (its shape; what the names mean is read in ``questions``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from dse.names import did_you_mean
from scenarios.question import SAMPLERS, Search

USUAL = Search()
MOST = 10_000_000
DATABASES = ("sqlite", "postgresql")
FILES = (".db", ".sqlite", ".sqlite3")
STORAGE_EXAMPLES = 'write a file such as "study.db", or "postgresql://user@host/database"'


def _wrong(wrong: str, right: str) -> PydanticCustomError:
    return PydanticCustomError("scenario", "{wrong}; {right}", {"wrong": wrong, "right": right})


def _bare(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong("this is not a number", "write a number such as 20 or 1e6")
    try:
        number = float(value)
    except OverflowError:
        raise _wrong("the number is too large", "write a number below 1e308") from None
    if not math.isfinite(number):
        raise _wrong(f"{number} is not a finite number", "write a finite number, or leave the key out")
    return number


def _number(value: Any) -> float | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _wrong("this is not a number", 'write a number, or text with a unit such as "10 kW"')
    return _bare(value)


def _count(value: Any) -> int:
    number = _bare(value)
    if not number.is_integer():
        raise _wrong(f"{number:g} is not a whole number", "write a whole number such as 8")
    return int(number)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong("this is neither true nor false", "write true or false")
    return value


def _idle(value: Any) -> bool | str:
    if not isinstance(value, bool) and value not in ("on", "off"):
        right = 'write true or false, or in a question of several kernels "on" or "off"'
        raise _wrong("this is neither true nor false", right)
    return bool(value) if isinstance(value, bool) else str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong("this is not text", 'write text in quotes, such as "nbody"')
    return value


def _definition(value: Any) -> str:
    if not isinstance(value, str):
        right = 'write it as text, such as "9000 USD * processors"; a plain number belongs under [given]'
        raise _wrong("this is no expression", right)
    return value


def _names(value: Any) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(v, str) for v in listed):
        raise _wrong("this is not a name or a list of names", 'write "energy" or ["energy", "time"]')
    return tuple(listed)


def _values(value: Any) -> tuple[float | str, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong("this is not a list", "write a list such as [1, 2, 4]")
    for i, v in enumerate(value):
        if not isinstance(v, str) and (isinstance(v, bool) or not isinstance(v, Real)):
            raise _wrong(f"entry {i + 1} is neither a number nor text", "write a list such as [1, 2, 4]")
    return tuple(_number(v) for v in value)


def _weights(value: Any) -> dict[str, float | str]:
    if not isinstance(value, Mapping):
        raise _wrong("this is no table of weights", 'write { energy = "1 1/J", time = "20 W/J" }')
    return {str(name): _number(v) for name, v in value.items()}


def _lists(value: Any) -> dict[str, tuple[float | str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise _wrong("this is no table of lists", "write { bodies = [1e5, 1e6], processors = [64, 512] }")
    found = {}
    for path, listed in leaves(value).items():
        try:
            found[path] = _values(listed)
        except PydanticCustomError as error:
            told = error.context or {}
            wrong = str(told["wrong"]).replace("this is", f"what stands for {path} is", 1)
            raise _wrong(wrong, str(told["right"])) from None
    return found


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not value:
        raise _wrong("this names no columns", 'write { bodies = "n", "limits.time.max" = "T" }')
    found = leaves(value)
    for path, head in found.items():
        if not isinstance(head, str):
            raise _wrong(f"what stands for {path} is no header of a column", 'write { bodies = "n" }')
    return found


def _factors(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong("this is not a list", "write a list such as [1, 0.5, 0.25]")
    if any(isinstance(v, str) for v in value):
        raise _wrong("a factor is a plain number", "write a list such as [1, 0.5, 0.25], or use values")
    return tuple(_bare(v) for v in value)


def _spacing(value: Any) -> str:
    if not isinstance(value, str) or value not in {"linear", "log"}:
        raise _wrong("this is no spacing", 'write "log" or "linear"')
    return value


def _sampler(value: Any) -> str:
    if not isinstance(value, str) or value not in SAMPLERS:
        hint = did_you_mean(value, SAMPLERS).removeprefix("; ") if isinstance(value, str) else ""
        raise _wrong("this is no sampler", f"{hint} " * bool(hint) + f"there are: {', '.join(SAMPLERS)}")
    return value


def _positive(value: Any) -> int:
    number = _count(value)
    if not 1 <= number <= MOST:
        raise _wrong(f"{number} is not possible", f"write a whole number from 1 to {MOST}")
    return number


def _seed(value: Any) -> int:
    number = _count(value)
    if not 0 <= number < 2**32:
        raise _wrong(f"{number} is no seed", "write a whole number from 0 to 4294967295")
    return number


def _storage(value: Any) -> str:
    text = _text(value)
    scheme, sign, rest = text.partition("://")
    known = scheme.partition("+")[0] in DATABASES and rest if sign else text.endswith(FILES)
    if not known:
        # nothing of a URL is repeated: it may hold a password
        wrong = f"no trials can be kept in a {scheme!r} database" if sign else "this is no place for trials"
        raise _wrong(wrong, STORAGE_EXAMPLES)
    if sign and _password(text):
        # the scenario's text stands in every result
        wrong = "a password does not belong into a question, which every result repeats"
        raise _wrong(wrong, "leave it out of the URL and put it into PGPASSWORD or ~/.pgpass")
    return text


def _password(url: str) -> bool:
    try:
        return urlsplit(url).password is not None
    except ValueError:
        return True


def _machine(value: Any) -> str | dict[str, Any]:
    if isinstance(value, str | dict):
        return value
    raise _wrong("this is no machine", 'write a name such as "jaketown", or a table { base = "jaketown", … }')


Cell = float | str
Settings = list[dict[str, Cell]]
Number = Annotated[float | str, PlainValidator(_number, json_schema_input_type=float | str)]
Bare = Annotated[float, PlainValidator(_bare, json_schema_input_type=float)]
Count = Annotated[int, PlainValidator(_count, json_schema_input_type=float)]
Flag = Annotated[bool, PlainValidator(_flag, json_schema_input_type=bool)]
Idle = Annotated[bool | str, PlainValidator(_idle, json_schema_input_type=bool | Literal["on", "off"])]
Text = Annotated[str, PlainValidator(_text, json_schema_input_type=str)]
Definition = Annotated[str, PlainValidator(_definition, json_schema_input_type=str)]
Names = Annotated[tuple[str, ...], PlainValidator(_names, json_schema_input_type=str | list[str])]
Values = Annotated[tuple[float | str, ...], PlainValidator(_values, json_schema_input_type=list[float | str])]
Factors = Annotated[tuple[float, ...], PlainValidator(_factors, json_schema_input_type=list[float])]
Lists = Annotated[
    dict[str, tuple[float | str, ...]],
    PlainValidator(_lists, json_schema_input_type=dict[str, list[float | str]]),
]
Headers = Annotated[dict[str, str], PlainValidator(_headers, json_schema_input_type=dict[str, str])]
Weights = Annotated[
    dict[str, float | str], PlainValidator(_weights, json_schema_input_type=dict[str, float | str])
]
Sampler = Annotated[
    str,
    PlainValidator(
        _sampler, json_schema_input_type=Literal["TPE", "NSGA-II", "NSGA-III", "CMA-ES", "random"]
    ),
]
Positive = Annotated[int, PlainValidator(_positive, json_schema_input_type=float)]
Seed = Annotated[int, PlainValidator(_seed, json_schema_input_type=float)]
Storage = Annotated[str, PlainValidator(_storage, json_schema_input_type=str)]
Spacing = Annotated[str, PlainValidator(_spacing, json_schema_input_type=str)]
MachineEntry = Annotated[
    str | dict[str, Any],
    PlainValidator(
        _machine, json_schema_input_type=str | dict[str, Cell | dict[str, Cell | Settings] | Settings]
    ),
]
GivenEntry = Annotated[
    Any,
    PlainValidator(
        lambda value: value,
        json_schema_input_type=Cell
        | dict[str, Cell | dict[str, Cell | dict[str, Cell]]]
        | list[dict[str, Cell | bool | list[Cell] | dict[str, Cell]]],
    ),
]


class Part(BaseModel):
    """A frozen piece of a scenario that takes no unknown key."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Decide(Part):
    """A decided quantity; without any key it ranges over the quantity's own domain."""

    min: Number | None = None
    """Least value: an SI number or text with a unit."""
    max: Number | None = None
    """Greatest value: an SI number or text with a unit."""
    integer: Flag = False
    """Whole numbers only; with max_halvings, whole halvings only."""
    values: Values | None = None
    """The only values allowed: numbers, or names where the quantity is a choice among names."""
    powers_of: Count | None = None
    """Only whole powers of this number."""
    max_halvings: Bare | None = None
    """A machine parameter may be halved up to so many times from its catalogue value."""


class Bounds(Part):
    """A limit on a metric or on a decided quantity."""

    min: Number | None = None
    """Least value allowed: an SI number or text with a unit."""
    max: Number | None = None
    """Greatest value allowed: an SI number or text with a unit."""
    within: Bare | None = None
    """Of a metric: at most so far (0.05: 5 %) from its own optimum under all limits without within."""


class Front(Part):
    """How finely a Pareto front is drawn."""

    points: Count | None = None
    """Number of points along the front."""
    tolerance: Bare | None = None
    """Instead: how narrowly the front must be enclosed everywhere, relative."""


class Goal(Part):
    """What is to be as small or as large as possible; several names ask for a Pareto front."""

    minimize: Names | None = None
    """Metric or decided quantity to minimise, or a list of them."""
    maximize: Names | None = None
    """Metric or decided quantity to maximise, or a list of them."""
    weights: Weights | None = None
    """Instead of minimize: the weight of each metric in a sum that is minimised, { energy = "1 1/J", time = "20 W/J" }.
    Each weight times its metric has the same unit. The sum is the metric "weighted"."""
    ties: Names | None = None
    """Which of several designs that are equally good is handed out: that with the least of these, one after the other;
    metrics or decided quantities. After them come time, energy and cost, then the decided quantities in file order."""
    front: Front | None = None
    """How finely the Pareto front of several objectives is drawn."""


class Sweep(Part):
    """An axis of a sweep; its name becomes a dimension of the dataset."""

    path: Text | None = None
    """What is swept: a given, machine parameter, "machine" (in a map of machines "machine.cpu"), limits.NAME.max
    (also min, within) or decide.NAME.max (also min)."""
    start: Number | None = None
    """First value: an SI number or text with a unit."""
    stop: Number | None = None
    """Last value: an SI number or text with a unit."""
    num: Count | None = None
    """Number of values from start to stop."""
    spacing: Spacing | None = None
    """How values are spaced from start to stop: linear (unless said otherwise) or log."""
    values: Values | None = None
    """The values themselves, instead of start, stop and num."""
    factors: Factors | None = None
    """Multiples of the value in the file or the machine catalogue, instead of values."""
    paths: Lists | None = None
    """Instead of path: several numbers or names that change together, each path with its list of values; the lists are
    equally long, and the axis counts their rows."""
    table: Text | None = None
    """Instead of path: a CSV file, from the scenario's folder; each of its rows is a value of the axis."""
    columns: Headers | None = None
    """With table: what each column of it changes, path = "column". The unit stands in the header, "T [ms]"; without
    one, numbers are SI."""

    @property
    def together(self) -> bool:
        """Whether the axis counts rows of several numbers that change together."""
        return self.path is None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.path is None and self.paths is None and self.table is None and self.columns is None:
            raise PydanticCustomError("no_path", "no path")
        return self


class Searching(Part):
    """Looking for good designs without proof."""

    sampler: Sampler = USUAL.sampler
    """Who proposes designs: TPE, NSGA-II (unless said otherwise), NSGA-III, CMA-ES (one objective only) or random."""
    trials: Positive = USUAL.trials
    """How many designs are tried (2000 unless set), those that the storage has already included."""
    seed: Seed = USUAL.seed
    """Where random numbers start (0 unless set); the same seed gives the same answer as long as one worker tries."""
    storage: Storage | None = None
    """Where trials are kept and continued: a file such as "study.db", or the URL of a PostgreSQL database."""
    study: Text = USUAL.study
    """Name of the study in the storage ("dse" unless set); a study holds the trials of one question."""
    workers: Positive = USUAL.workers
    """How many processes try designs at the same time (1 unless set)."""
    compare: Flag = USUAL.compare
    """Whether to answer with a certified method too, where there is one, and say how far apart the two are."""


class KernelEntry(Part):
    """One of several kernels that run on one machine."""

    name: Text = ""
    """What it is called; its own inputs and metrics are then NAME.input and NAME.metric."""
    model: Text = ""
    """Name of its model: any that is asked about single inputs on one machine."""
    workload: Text = ""
    """In place of a model and its inputs: a known kernel, counted (`dse workloads` lists them)."""
    size: Bare | None = None
    """How many units of the workload one run does (1 unless set)."""
    given: dict[str, GivenEntry] = {}
    """Inputs of its own with a fixed value: SI numbers or text with a unit."""
    repeat: Bare = 1
    """How many times it runs (1 unless set)."""


class Shape(Part):
    """A scenario's keys."""

    title: Text = ""
    """One line that says what is asked."""
    model: Text = ""
    """Name of the model: what is computed; or, in its place, [[kernels]]."""
    machine: MachineEntry | None = None
    """Name of a machine, a table with a base and what differs from it, or a whole machine as a table; for some
    models a table of several machines, each under a name of its own."""
    kernels: tuple[KernelEntry, ...] = ()
    """Several kernels on one machine, each with a model of its own, in place of model."""
    overlap: Flag = False
    """Whether the kernels run at the same time; one after the other unless set."""
    given: dict[str, GivenEntry] = {}
    """Inputs with a fixed value: SI numbers or text with a unit; and lists of tables such as [[given.regions]]."""
    models: dict[str, Text] = {}
    """Fitted models whose metrics [define] uses as functions, each under a name of the file's own: with
    gemm = "./gemm.toml" an expression may hold gemm.latency(m, n, k)."""
    define: dict[str, Definition] = {}
    """Quantities of the file's own as expressions: name = "9000 USD * processors + 0.2 USD/kWh * energy"; also of an
    input or a machine parameter of the model ("machine.time_per_flop"), which then has no other role. Such metrics
    are minimised, limited and reported like those of the model."""
    decide: dict[str, Decide] = {}
    """Quantities to be chosen, with their bounds; machine parameters as "machine.energy_per_flop". Some models
    decide more than is said here."""
    objective: Goal | None = None
    """What is minimised or maximised; without it any design within the limits is an answer."""
    limits: dict[str, Bounds] = {}
    """Limits on metrics and decided quantities."""
    search: Searching | None = None
    """Look for designs with a sampler, without proof, instead of with a method that proves its answer."""
    sweep: dict[str, Sweep] = {}
    """Axes over which the question is asked again and again."""
    waive: Names = ()
    """The model's own limits that are set aside."""
    valid: Flag = False
    """Whether to stay inside the range in which the model was derived: limits called valid.NAME."""
    idle: Idle = False
    """Whether processors may idle (power is then not simply energy/time of the run). Of several kernels: whether
    processors that a kernel does not use are "off" (unless set), or "on" and leak."""
    gap: Bare | None = None
    """Relative gap between answer and proved bound that is good enough (1e-6 unless set)."""

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: Any) -> Any:
        return flattened(data) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model and not self.kernels:
            raise PydanticCustomError("no_model", "no model is named")
        return self


def flattened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Write nested tables of decide, limits and define with dotted names ("machine.x"): both forms mean the same."""
    found = dict(data)
    define = found.get("define")
    if isinstance(define, dict):
        found["define"] = leaves(define)
    for section, part in (("decide", Decide), ("limits", Bounds)):
        entries = found.get(section)
        if isinstance(entries, dict):
            found[section] = _flat(entries, part)
    return found


def leaves(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Write the entries of nested tables with dotted names."""
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        inner = leaves(entry) if isinstance(entry, dict) else {}
        dotted = {f"{name}.{k}": v for k, v in inner.items()}
        # what stands there twice stays nested, where it is refused
        twice = any(k in entries or k in found for k in dotted)
        found |= dotted if inner and not twice else {name: entry}
    return found


def _flat(entries: Mapping[str, Any], part: type[Part]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        table = entry if isinstance(entry, dict) else {}
        inner = {k: v for k, v in table.items() if isinstance(v, dict) and k not in part.model_fields}
        dotted = {f"{name}.{k}": v for k, v in _flat(inner, part).items()}
        # what stands there twice stays nested, where it is refused
        twice = any(k in entries or k in found for k in dotted)
        if not inner or twice:
            found[name] = entry
            continue
        rest = {k: v for k, v in table.items() if k not in inner}
        found |= ({name: rest} if rest else {}) | dotted
    return found


# keys that a row, an entry of a map or a setting cannot be called, since they have a meaning of their own
OWN_KEYS = frozenset({"base", "settings", *Decide.model_fields, *Bounds.model_fields})
