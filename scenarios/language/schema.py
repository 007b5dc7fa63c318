"""The scenario language: what a file may say (its shape; what the names mean is read in ``questions``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.distributions import Sampling
from scenarios.language.cells import (
    USUAL,
    Bare,
    Confidence,
    Correlations,
    Count,
    Definition,
    Factors,
    Flag,
    GivenEntry,
    Headers,
    Idle,
    LeftOut,
    Level,
    Line,
    Lists,
    MachineEntry,
    MeasureName,
    Method,
    ModelFile,
    ModelName,
    Names,
    Number,
    Positive,
    Sampler,
    Seed,
    Shares,
    Spacing,
    Storage,
    Text,
    Times,
    Values,
    Weights,
    leaves,
)
from scenarios.language.parts import Part, Wrong


class Decide(Part):
    """A decided quantity; without any key it ranges over the quantity's own domain."""

    min: Number | None = None
    """Least value: an SI number or text with a unit."""
    max: Number | None = None
    """Greatest value: an SI number or text with a unit."""
    integer: Flag = False
    """Whole numbers only; with max_halvings, whole halvings only. Unless set, whole for what the model says is a
    count."""
    values: Values | None = None
    """The only values allowed: numbers, or names where the quantity is a choice among names."""
    powers_of: Count | None = None
    """Only whole powers of this number."""
    divides: Names | None = None
    """Only whole numbers that divide this given number, or each of a list: "heads", or ["heads", "layers"]. Names of
    inputs, machine parameters ("machine.NAME"), or definitions of such."""
    max_halvings: Bare | None = None
    """How many times a machine parameter may be halved from its catalogue value."""


class Bounds(Part):
    """A limit on a metric or on a decided quantity."""

    _least = 1

    min: Number | None = None
    """Least value allowed: an SI number or text with a unit."""
    max: Number | None = None
    """Greatest value allowed: an SI number or text with a unit."""
    within: Bare | None = None
    """For a metric: greatest distance from its own optimum under all limits without within (0.05: 5 %)."""
    probability: Level | None = None
    """With [uncertain]: the probability with which the limit holds; without it, it holds in every sample."""
    confidence: Confidence | None = None
    """With a probability: the confidence that the design keeps it (0.99 unless set); 0: in the samples only."""
    worst: Flag = False
    """With [uncertain]: the limit holds for all values of the uncertain numbers within their ends."""
    of: Names | None = None
    """Of [limits.joint] only: which limits hold together with its probability."""


class Judging(Part):
    """A measure of a metric's distribution, under a name of its own."""

    of: Text = ""
    """The metric."""
    measure: MeasureName | None = None
    """The measure: "mean" or "worst"."""
    quantile: Level | None = None
    """Instead of measure: the value that it stays within with this probability."""
    cvar: LeftOut | None = None
    """Instead of measure: the mean of the worst, 0.9 of the worst tenth, 0 of all."""


class Front(Part):
    """The resolution of a Pareto front."""

    points: Count | None = None
    """Number of points along the front."""
    tolerance: Bare | None = None
    """Instead: the greatest relative width of the enclosure of the front."""


class Goal(Part):
    """What is minimised or maximised; several names ask for a Pareto front."""

    _least = 1

    minimize: Names | None = None
    """Metric or decided quantity to minimise, or a list of them."""
    maximize: Names | None = None
    """Metric or decided quantity to maximise, or a list of them."""
    weights: Weights | None = None
    """Instead of minimize: the weight of each metric in a sum that is minimised, { energy = "1 1/J", time = "20 W/J" }.
    Each weight times its metric has the same unit. The sum is the metric "weighted"."""
    ties: Names | None = None
    """Which of several equally good designs is the answer: that with the least values of these, one after the other;
    metrics or decided quantities. After them come time, energy and cost, then the decided quantities in file order."""
    measure: MeasureName | None = None
    """With [uncertain]: the measure of the objective that is optimised, "mean" or "worst"."""
    quantile: Level | None = None
    """Instead of measure: the value that the objective stays within with this probability."""
    cvar: LeftOut | None = None
    """Instead of measure: the mean of the worst, 0.9 of the worst tenth, 0 of all."""
    measures: dict[str, Judging] = {}
    """With [uncertain]: measures of metrics, each under a name of the file's own, which is
    minimised or limited: tail_energy = { of = "energy", cvar = 0.9 }."""
    front: Front | None = None
    """The resolution of the Pareto front of several objectives."""


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

    def complete(self) -> None:
        """Something must say what is swept."""
        if self.path is None and self.paths is None and self.table is None and self.columns is None:
            raise Wrong("no path", kind="no_path")


class Searching(Part):
    """A search for good designs, without proof."""

    sampler: Sampler = USUAL.sampler
    """Proposes designs: TPE, NSGA-II (the default), NSGA-III, CMA-ES (one objective only) or random."""
    trials: Positive = USUAL.trials
    """How many designs are tried (2000 unless set), those that the storage has already included."""
    seed: Seed = USUAL.seed
    """Seed of the random numbers (0 unless set); with one worker the same seed gives the same answer."""
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
    """Its name; its own inputs and metrics are then NAME.input and NAME.metric."""
    model: ModelName = ""
    """Name of its model: any that is asked about single inputs on one machine."""
    workload: Text = ""
    """In place of a model and its inputs: a known kernel, counted (`dse workloads` lists them)."""
    size: Bare | None = None
    """How many units of the workload one run does (1 unless set)."""
    given: dict[str, GivenEntry] = {}
    """Inputs of its own with a fixed value: SI numbers or text with a unit."""
    repeat: Times = 1
    """How many times it runs (1 unless set)."""


class Spread(Part):
    """The distribution of an uncertain number, in one way; numbers as the quantity itself is written."""

    normal: Values | None = None
    """Mean and standard deviation."""
    lognormal: Values | None = None
    """Median and geometric standard deviation, a plain number above 1."""
    uniform: Values | None = None
    """Least and greatest value."""
    loguniform: Values | None = None
    """Least and greatest value; the logarithm is uniform between."""
    triangular: Values | None = None
    """Least, most probable and greatest value."""
    beta: Values | None = None
    """Both shapes, then the least and the greatest value (of a plain number 0 and 1 unless said otherwise)."""
    values: Values | None = None
    """The only values that it can have."""
    weights: Shares | None = None
    """With values: how probable each is, relative to the others; equally unless set."""
    table: Text | None = None
    """A CSV file, from the scenario's folder: each of its rows is as probable as any other. Numbers from one table are
    from one row."""
    column: Text | None = None
    """With table: which column; the unit stands in the header, "T [ms]"."""
    from_: Text | None = None
    """What is known already: "machine", the interval of the machine file; or "residuals", the errors of the fitted
    model, for a plain number that a definition multiplies with."""


class Drawing(Part):
    """How samples are drawn from what is uncertain."""

    samples: Positive = Sampling().samples
    """How many (1024 unless set)."""
    method: Method | None = None
    """sobol: a scrambled Sobol sequence; random: independent; latin: a Latin hypercube. Unless set, sobol, and random
    where a limit has a probability."""
    seed: Seed = Sampling().seed
    """Seed of the random numbers (0 unless set)."""
    correlation: Correlations | None = None
    """Pairs of uncertain numbers with the correlation of the normal variables behind them (a Gaussian copula). Unless
    set, those that a machine file states; an empty list: none."""


class Uncertainty(Part):
    """What is uncertain: a distribution for each number, by the name of an input or "machine.NAME"."""

    _others = "spreads"

    sampling: Drawing = Drawing()
    """How samples are drawn."""
    spreads: dict[str, Spread] = {}
    """The distributions by name."""


class Shape(Part):
    """A scenario's keys."""

    title: Line = ""
    """One line that describes the question; of more lines it becomes one."""
    model: ModelName = ""
    """Name of the model: what is computed; or, in its place, [[kernels]]."""
    machine: MachineEntry | None = None
    """Name of a machine, a table with a base and changes to it, or a whole machine as a table; for some
    models a table of several machines, each under a name of its own."""
    kernels: tuple[KernelEntry, ...] = ()
    """Several kernels on one machine, each with a model of its own, in place of model."""
    overlap: Flag = False
    """Whether the kernels run at the same time; one after the other unless set."""
    given: dict[str, GivenEntry] = {}
    """Inputs with a fixed value: SI numbers or text with a unit; and lists of tables such as [[given.regions]]."""
    models: dict[str, ModelFile] = {}
    """Fitted models whose metrics [define] uses as functions, each under a name of the file's own: with
    gemm = "./gemm.toml" an expression may hold gemm.latency(m, n, k)."""
    define: dict[str, Definition] = {}
    """Quantities of the file's own as expressions: name = "9000 USD * processors + 0.2 USD/kWh * energy"; also of an
    input or a machine parameter of the model ("machine.time_per_flop"), which then needs no value. Such metrics
    are minimised, limited and reported like those of the model."""
    decide: dict[str, Decide] = {}
    """Quantities to be chosen, with their bounds; machine parameters as "machine.energy_per_flop". Some models
    decide more than is said here."""
    objective: Goal | None = None
    """What is minimised or maximised; without it any design within the limits is an answer."""
    limits: dict[str, Bounds] = {}
    """Limits on metrics and decided quantities."""
    uncertain: Uncertainty | None = None
    """Uncertain numbers: their distributions, and how samples are drawn from them."""
    search: Searching | None = None
    """Look for designs with a sampler, without proof, instead of with a method that proves its answer."""
    sweep: dict[str, Sweep] = {}
    """Axes: the question is solved at each of their values."""
    waive: Names = ()
    """The model's own limits that are set aside."""
    valid: Flag = False
    """Whether to stay inside the range in which the model was derived: limits called valid.NAME."""
    idle: Idle = False
    """Whether processors may idle (power is then not simply energy/time of the run). Of several kernels: whether
    processors that a kernel does not use are "off" (unless set), or "on" and leak."""
    gap: Bare | None = None
    """Relative gap between answer and proved bound at which a search may stop (1e-6 unless set)."""

    @property
    def goals(self) -> tuple[str, ...]:
        """The names of what is minimised or maximised."""
        goal = self.objective
        return () if goal is None else (goal.minimize or ()) + (goal.maximize or ())

    @classmethod
    def prepared(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the entries with dotted names in place of nested tables."""
        return flattened(data)

    def complete(self) -> None:
        """Something must say what is computed."""
        if not self.model and not self.kernels:
            raise Wrong(
                "no model is named", kind="no_kernels" if "kernels" in self.model_fields_set else "no_model"
            )


def flattened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Write nested tables of decide, limits and define with dotted names ("machine.x"): both forms mean the same."""
    found = dict(data)
    define = found.get("define")
    if isinstance(define, dict):
        found["define"] = leaves(define)
    for section, part in (("decide", Decide), ("limits", Bounds)):
        entries = found.get(section)
        if isinstance(entries, dict):
            found[section] = _flat_entries(entries, part)
    uncertain = found.get("uncertain")
    if isinstance(uncertain, dict):
        sampling = {k: v for k, v in uncertain.items() if k == "sampling"}
        found["uncertain"] = sampling | spread_entries(uncertain)
    return found


def spread_entries(uncertain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of [uncertain] that are distributions, those of nested tables with dotted names."""
    return _flat_entries({k: v for k, v in uncertain.items() if k != "sampling"}, Spread)


def _flat_entries(entries: Mapping[str, Any], part: type[Part]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        table = entry if isinstance(entry, dict) else {}
        inner = {k: v for k, v in table.items() if isinstance(v, dict) and k not in part.model_fields}
        dotted = {f"{name}.{k}": v for k, v in _flat_entries(inner, part).items()}
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
