"""One question with every name resolved and every number in SI: what formulations start from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from dse.models.model import MACHINE_PREFIX, Model
from dse.quantities import Quantity
from dse.system.records import dataclass
from scenarios.distributions import PROMISE_CONFIDENCE, Joint, Measure, Uncertain

OPTIMAL_GAP = 1e-6
"""An answer is optimal where the proved bound is this near to its objective, relative; a file may ask for less."""

FARTHEST_ENDS = 1e25
"""How much farther than the range of a quantity a search goes whose proof could rest on an end, and lists of powers."""

TIES = ("time", "energy", "cost")
"""What ties go to unless a file says otherwise: the least of each, before the decided quantities in file order."""

HALVINGS = Quantity(
    "halvings", "h", "", "total log2 reduction of all decided machine parameters from their catalogue values"
)

STRETCH = Quantity(
    "stretch",
    "s",
    "",
    "elapsed time over the time of the run: what exceeds 1 is spent idling, which costs no energy",
    minimum=1.0,
    ceiling=1e15,
)


Menu = Callable[[Mapping[str, float | str]], tuple[float, ...] | None]
"""What returns the values that given numbers allow; None while one of these is not known."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The menu of a number that the user lists: its values, whatever is given."""

    values: tuple[float, ...]

    def __call__(self, given: Mapping[str, float | str]) -> tuple[float, ...]:
        """Return the values."""
        return self.values


@dataclass(frozen=True, slots=True)
class Decision:
    """A decided variable.

    ``minimum`` and ``maximum`` are the user's own bounds (None: not set); ``integer``: whole numbers;
    ``values``: the only values allowed, ascending (also for ``powers_of`` and whole halvings; these fill the
    domain, since bounds are limits of their own); ``choices``: names of categorical values; ``base``: the
    machine's own value that halvings count from (machine parameters only); ``endless``: the values go on beyond
    the domain's box (powers); ``menu``: of values that are nobody's limit, since they hang on given numbers
    (``scenarios.define.divisors``) or have to divide others (``with_menus``), what returns them, by which ``values``
    follow once a machine is chosen (None before). ``count``: it counts things, so that it is whole by what it is; that
    is nobody's limit.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    values: tuple[float, ...] | None = None
    choices: tuple[str, ...] | None = None
    base: float | None = None
    endless: bool = False
    menu: Menu | None = None
    count: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on a metric or a decided variable, SI; None: no limit on that side.

    ``within``: on the worse side it lies so far (as a share) from the metric's own optimum, which is not known yet; its
    number there is infinite until it is (see ``solvers.anchors``). ``probability``: with which it holds where numbers
    are uncertain, kept with a ``confidence`` (0: in the samples only); ``worst``: it holds whatever they are. With
    neither it holds in every sample.
    """

    name: str
    minimum: float | None = None
    maximum: float | None = None
    within: float | None = None
    probability: float | None = None
    confidence: float = PROMISE_CONFIDENCE
    worst: bool = False


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric or decided variable to minimise (or maximise)."""

    name: str
    maximize: bool = False


SAMPLERS = ("TPE", "NSGA-II", "NSGA-III", "CMA-ES", "random")
ONE_OBJECTIVE = ("CMA-ES",)


@dataclass(frozen=True, slots=True)
class Search:
    """How to look for designs without proof, instead of by a method that proves its answer.

    ``sampler``: one of SAMPLERS; ``trials``: designs to try, those of earlier runs on the same study included;
    ``storage``: file or URL of a database that keeps them (empty: nothing is kept) and ``study`` its name there;
    ``workers``: processes that try at the same time; ``compare``: whether to say how far the best one is from what
    a certified method finds, where one applies.
    """

    sampler: str = "NSGA-II"
    trials: int = 2000
    seed: int = 0
    storage: str = ""
    study: str = "dse"
    workers: int = 1
    compare: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario at one grid point.

    ``given`` holds every fixed parameter by the names of ``model.parameters()`` ("bodies",
    "machine.energy_per_flop"); decided ones are absent from it. ``objectives``: none (any feasible point),
    one, or several (a front). ``machines``: for a categorical choice of whole machines, each choice's
    parameters by name, under ``machine_key``. ``search``: None where it is answered with a proof if possible.
    ``ties``: the names that the file's order of ties begins with (see ``tie_order``).
    ``reach``: how many times farther than the model's own ends a search goes where neither the user nor
    mathematics ends a decided quantity (see ``formulations.evaluation.box``).
    ``uncertain``: the numbers of ``given`` that have a distribution; what stands in ``given`` is then their nominal
    value. ``measure``: by what of the objective's distribution a design is judged; ``joint``: limits that hold
    together. ``measures``: metrics that stand for a measure of another one: limits on them are on that measure.
    ``sources``: where the machine's numbers come from, a kind by parameter; under "", or the ``machine_key`` of each
    machine to be chosen. ``bytes_per_word``: by name, for amounts of words that the file states in bytes; it says how
    they are shown, and makes no difference to what is asked.
    """

    model: Model
    given: Mapping[str, float | str]
    decide: tuple[Decision, ...] = ()
    objectives: tuple[Objective, ...] = ()
    limits: tuple[Limit, ...] = ()
    waive: frozenset[str] = frozenset()
    idle: bool = False
    gap: float = OPTIMAL_GAP
    machines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    title: str = ""
    scenario_text: str = ""
    search: Search | None = None
    reach: float = 1.0
    ties: tuple[str, ...] = ()
    uncertain: Uncertain | None = None
    measure: Measure | None = None
    joint: Joint | None = None
    measures: Mapping[str, Measure] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bytes_per_word: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sign(self) -> float:
        """-1 where the first objective is made greatest, else 1: what is made least is that times the objective."""
        return -1.0 if self.objectives and self.objectives[0].maximize else 1.0

    @property
    def uncertainty(self) -> Uncertain:
        """The uncertain numbers of a question that has any: only what is uncertain has samples."""
        assert self.uncertain is not None, "only what is uncertain has samples"
        return self.uncertain

    @property
    def scenario_hash(self) -> str:
        """The SHA-256 of the scenario's text, as hexadecimal digits; "" where there is none."""
        import hashlib  # loads OpenSSL

        return hashlib.sha256(self.scenario_text.encode()).hexdigest() if self.scenario_text else ""

    @property
    def tie_order(self) -> tuple[str, ...]:
        """What ties go to, each to its least value: what the file names, then the rest of TIES.

        After them come the decided quantities, in file order. Every method that hands out one of several designs that
        are equally good goes by this.
        """
        return (*self.ties, *(name for name in TIES if name not in self.ties))


def large_are_good(question: Question, name: str) -> bool:
    """Whether large values of a measure are the good ones, so that its worst are the small ones.

    Its objective says so, else its own limit: those of a least value are the small ones. Of what is neither, or has
    limits on both sides, the large values are bad, unless something is maximised.
    """
    goals = {o.name: o.maximize for o in question.objectives}
    ends = [(x.minimum, x.maximum) for x in question.limits if x.name == name]
    if name in goals or not ends:
        return goals.get(name, any(goals.values()))
    return all(high is None for _, high in ends)


def has_asked_gaps(d: Decision) -> bool:
    """Whether its gaps are what the user asked for: a menu of divisors says what the number is."""
    return d.menu is None and (d.values is not None or (d.integer and not d.count))


def with_asked_gaps(question: Question) -> tuple[str, ...]:
    """Name what the user wants whole or from a list, which is a limit; what is so by its nature is nobody's limit.

    Nothing lies between two entries of a model's menu.
    """
    unknowns = {u.name for u in question.model.unknowns}
    menus = {q.name for q in question.model.inputs if q.menu}
    return tuple(
        d.name
        for d in question.decide
        if has_asked_gaps(d) and d.name not in menus and (d.values is not None or d.name not in unknowns)
    )


def freed(d: Decision) -> Decision:
    """Return a decision without the bounds that the user gave, and without its gaps.

    A menu of divisors stays, and so do whole numbers of what counts things.
    """
    free = replace(d, minimum=None, maximum=None)
    return free if d.menu is not None else replace(free, integer=d.count, values=None)


def divided_or_dividing(question: Question) -> frozenset[str]:
    """Name the numbers that divide others, or are divided, by limits of the model that are in force."""
    rules = (x for x in question.model.limits if x.divides and x.name not in question.waive)
    return frozenset(itertools.chain.from_iterable(x.divides for x in rules))


def with_menus(question: Question) -> Question:
    """Return the question with those lists as menus whose numbers divide others, or are divided, by the model's limits.

    Numbers between those listed would not divide. Beside such rules halvings of a machine's number are a menu, too:
    without their ends nothing there can be proved.
    """
    dividing = divided_or_dividing(question)

    def kept(d: Decision) -> Decision:
        own = d.name in dividing or (bool(dividing) and d.base is not None)
        return replace(d, menu=Listed(d.values)) if own and d.values is not None and d.menu is None else d

    return replace(question, decide=tuple(map(kept, question.decide)))


def without(question: Question, names: Iterable[str]) -> Question:
    """Drop these limits from a question; a variable's name drops its bounds and makes it continuous."""
    dropped = frozenset(names)
    return replace(
        question,
        limits=tuple(limit for limit in question.limits if limit.name not in dropped),
        decide=tuple(freed(d) if d.name in dropped else d for d in question.decide),
        waive=question.waive | dropped,
    )


def machine_key(decision: str, machine: str) -> str:
    """Say under which key ``Question.machines`` has a machine that may be chosen.

    Its name where ``decision`` is "machine"; "cpu: NAME" for an entry of a map of machines ("machine.cpu").
    """
    return machine if decision == "machine" else f"{decision.removeprefix(MACHINE_PREFIX)}: {machine}"


def combinations(question: Question) -> Iterator[tuple[Mapping[str, str], Question]]:
    """Go through the combinations of categorical choices, each with the question it leaves."""
    named = [d for d in question.decide if d.choices is not None]
    for values in itertools.product(*(d.choices or () for d in named)):
        chosen = {d.name: value for d, value in zip(named, values, strict=True)}
        yield chosen, fixed(question, chosen)


def fixed(question: Question, chosen: Mapping[str, str]) -> Question:
    """Return the question with these categorical choices made, and without what then plays no part."""
    given = dict(question.given)
    for name, value in chosen.items():
        machine = question.machines.get(machine_key(name, value))
        given.update({name: value} if machine is None or not _is_machine(name) else machine)
    rest = tuple(_with_menu(d, given) for d in question.decide if d.name not in chosen)
    return settled(replace(question, given=given, decide=rest))


def _with_menu(d: Decision, given: Mapping[str, float | str]) -> Decision:
    """Return a decision with its menu, where it hangs on the machine that has been chosen."""
    return d if d.menu is None or d.values is not None else replace(d, values=d.menu(given))


def _is_machine(decision: str) -> bool:
    return f"{decision}.".startswith(MACHINE_PREFIX)


def settled(question: Question) -> Question:
    """Return the question without the decisions (and limits on them) that its texts leave without a part.

    As it is where some of these texts are still to be chosen.
    """
    model = question.model
    texts = [q.name for q in model.inputs if q.choices]
    if model.unused is None or any(d.name in texts for d in question.decide):
        return question
    unused = model.unused({n: str(question.given[n]) for n in texts if n in question.given})
    idle = {d.name for d in question.decide if d.name in unused}
    if not idle:
        return question
    return replace(
        question,
        decide=tuple(d for d in question.decide if d.name not in idle),
        limits=tuple(x for x in question.limits if x.name not in idle),
    )
