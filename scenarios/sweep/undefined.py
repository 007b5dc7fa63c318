"""Where definitions have no value: a root of what is negative, a logarithm of what is not positive, a divisor of 0.

A design at which a definition has no value is not a design. A few hundred designs are tried
between the bounds of what is decided. What stands under a root or a logarithm and is negative at one of them becomes a
limit ``NAME.defined``, so that it is proved, not sampled, whether any design is left. A definition that divides by 0
at all of them is a mistake, and so is an objective that divides by what is negative at some designs within the limits
and positive at others (unless it takes only single values), since it has no best value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dse.models.described.fitted import NotPositive
from dse.models.model import MACHINE_PREFIX, evaluate
from dse.system.draws import FIXED_SEED
from dse.system.records import dataclass
from dse.system.tolerance import LIMIT_HOLDS
from scenarios.define.compiling import compiled, plain_lift
from scenarios.define.composed import Definition, Guard, definitions_of, guarded
from scenarios.define.suspects import Suspect, suspects_of
from scenarios.define.trees import Expression, names
from scenarios.language.errors import Findings, shown
from scenarios.question import STRETCH, Decision, Question, combinations
from scenarios.sweep.grids import Grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

DESIGNS = 256
FEW_CORNERS = 8
PLACES = 3
MOST_SPOTS, FEW_SPOTS, MOST_CHOICES = 2000, 24, 16
"""Points, and combinations of names, that are looked at where a definition rests on given and decided numbers alone,
and points where the whole model has to be run."""
# beyond this from its other end a decided quantity without an end of its own is not tried
FAR_END = 1e12


def kept_apart(grid: Grid, findings: Findings) -> Grid:
    """Return the grid with limits that keep definitions where they have a value; mistakes are noted."""
    model = next(iter(grid.bases.values())).model
    suspects = [s for d in definitions_of(model) for s in suspects_of(d)]
    if not definitions_of(model) or model.black_box:
        return grid
    asked = [q for q in map(_first_undefined, _three_points(grid)) if q is not None]
    _fitted_at_zero(asked, findings)
    if not asked or not suspects or findings.problems:
        return grid
    try:
        tried = [_tested_designs(q, suspects) for q in asked]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # equations of a stranger that take no arrays: what they come to is judged at the answer
        return grid
    for d in dict.fromkeys(s.definition for s in suspects):
        if all(_is_lost(d, q, t) for q, t in zip(asked, tried, strict=True)) and not _a_limit(
            d, suspects, tried
        ):
            _nowhere(d, [s for s in suspects if s.definition is d], tried[0], findings)
    if not findings.problems:
        _poles(asked[0], suspects, tried, findings)
    guards = tuple(
        Guard(s.definition.name, s.tree, s.pole)
        for k, s in enumerate(suspects)
        if not s.divisor
        and (
            any((t.values[k] < 0).any() for t in tried)
            or _is_negative_somewhere(grid, s)
            or _ends_at_pole(asked[0], s, [t.values[k] for t in tried])
        )
    )
    if not guards or findings.problems:
        return grid
    made = guarded(model, guards)
    return replace(grid, bases={k: replace(q, model=made) for k, q in grid.bases.items()})


def lost(question: Question, at: Mapping[str, Any]) -> dict[str, str]:
    """Return which definitions of a question in which nothing is decided have no value somewhere, and why, by name.

    ``at``: the metrics by name, numbers or arrays. What is infinite as one of the model's metrics is (the energy of a
    run that takes forever) is none of these: something that a definition is made of has no finite value there.
    """
    import numpy as np

    numbers = {**question.given, **at}
    found: dict[str, str] = {}
    for d in definitions_of(question.model):
        none = ~np.isfinite(np.asarray(at[d.name], float))
        if not none.any():
            continue
        # in its own definition, the name of a machine parameter means the machine's value
        of = [question.given[n] if n == d.name else numbers[n] for n in names(d.tree)]
        for value in of:
            none = none & np.isfinite(np.asarray(value, float))
        if none.any():
            with np.errstate(all="ignore"):
                why = _why_without_value(suspects_of(d), numbers, none)
            found[d.name] = f"{shown(d.text)} has no value: {why}"
    return found


def _fitted_at_zero(asked: list[Question], findings: Findings) -> None:
    """Note where a fitted model is asked at a computed 0 at every design tried: it was fitted to numbers above 0."""
    import numpy as np

    told: dict[tuple[str, str], None] = {}
    for q in asked:
        x = _designs_in_box(q)
        for k in range(min(FEW_CORNERS, *(len(v) for v in x.values())) if x else 1):
            at = {**q.given, **{n: float(v[k]) for n, v in x.items()}}
            try:
                with np.errstate(all="ignore"):
                    evaluate(q.model, at)
            except NotPositive as error:
                told[_of_zero(q, at, error)] = None
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                return
            else:
                return
    for key, wrong in told:
        findings.add(key, wrong, "keep what it is computed from above 0")


def _of_zero(q: Question, at: Mapping[str, Any], error: NotPositive) -> tuple[str, str]:
    """Return the key of the definition that comes to 0 or asks a function at 0, and what is wrong."""
    every = definitions_of(q.model)
    named = str(error).partition(" ")[0]
    key = next((d.name for d in every if d.name == named), "")
    for d in () if key else every:
        try:
            compiled(d.tree, plain_lift)(at)
        except NotPositive:
            key = d.name
            break
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue
    return (f"define.{key}" if key else "define"), str(error)


def _three_points(grid: Grid) -> list[Question]:
    """Return the question at the first, the middle and the last point of the grid."""
    spots = {tuple((n - 1) * k // (PLACES - 1) for n in grid.shape) for k in range(PLACES)}
    return [grid.question(spot) for spot in sorted(spots)]


def _first_undefined(question: Question) -> Question | None:
    return next((asked for _, asked in combinations(question)), None)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What came of a few hundred designs: every number by name, of each suspect part its values, where limits hold."""

    at: Mapping[str, Any]
    values: tuple[Array, ...]
    held: NDArray[np.bool_]
    alone: bool

    def nowhere(self, d: Definition) -> bool:
        """Tell whether a definition has a value at none of them."""
        import numpy as np

        return not np.isfinite(np.asarray(self.at[d.name], float)).any()


def _is_lost(d: Definition, question: Question, tried: _Tried) -> bool:
    """Tell whether a definition has a value at none of the designs tried, by its own fault where none is decided."""
    return tried.nowhere(d) and not (tried.alone and d.name not in lost(question, tried.at))


def _tested_designs(question: Question, suspects: list[Suspect]) -> _Tried:
    import numpy as np

    x = _designs_in_box(question)
    shape = (len(next(iter(x.values()))),) if x else (1,)
    given = {n: np.full(shape, v) if isinstance(v, float) else v for n, v in question.given.items()}
    with np.errstate(all="ignore"):
        found = evaluate(question.model, {**given, **x})
        at = {**given, **x, **found}
        values = tuple(
            np.broadcast_to(np.asarray(compiled(s.tree, plain_lift)(at), float), shape) for s in suspects
        )
        held = _limits_hold(question, at, shape)
    return _Tried(at, values, held, not x)


def _is_negative_somewhere(grid: Grid, s: Suspect) -> bool:
    """Tell whether a part of a definition is negative at some design of some point of a grid, whatever is chosen.

    Where it rests on given and decided numbers alone only these are looked at, at all points that differ in them.
    """
    import numpy as np

    model = next(iter(grid.bases.values())).model
    every = definitions_of(model)
    needed = _rests_on(s.tree, {d.name: d for d in every})
    alone = not needed & ({q.name for q in model.metrics} - {d.name for d in every})
    runs = [(d.name, compiled(d.tree, plain_lift)) for d in every if d.name in needed]
    run = compiled(s.tree, plain_lift)
    most = 1 if alone and not any(n.startswith(MACHINE_PREFIX) for n in needed) else MOST_CHOICES
    try:
        for spot in _spots_that_differ(grid, needed, MOST_SPOTS if alone else FEW_SPOTS):
            for _, q in itertools.islice(combinations(grid.question(spot)), most):
                if alone:
                    at: dict[str, Any] = {**q.given, **_designs_in_box(q)}
                    with np.errstate(all="ignore"):
                        for name, other in runs:
                            at[name] = other(at)
                        values = run(at)
                else:
                    values = _tested_designs(q, [s]).values[0]
                if bool((values < 0) if isinstance(values, float) else (values < 0).any()):
                    return True
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # what a stranger's equations come to is judged at the answer
        return False
    return False


def _ends_at_pole(question: Question, s: Suspect, values: list[Array]) -> bool:
    """Tell whether what stands under a logarithm is 0 at an end of the bounds, to which designs come as near as any."""
    every = {d.name: d for d in definitions_of(question.model)}
    return s.pole and any((v == 0).any() for v in values) and not _has_few_values(question, s.tree, every)


def _rests_on(tree: Expression, every: Mapping[str, Definition]) -> set[str]:
    """Return the names that a part of a definition rests on, those of other definitions and of what they need too."""
    open_ones, seen = list(names(tree)), set[str]()
    while open_ones:
        name = open_ones.pop()
        if name not in seen:
            seen.add(name)
            open_ones += names(every[name].tree) if name in every else ()
    return seen


def _spots_that_differ(grid: Grid, needed: Collection[str], most: int) -> list[tuple[int, ...]]:
    """Return points of a grid that differ in some numbers: all, or of more than so many some drawn at random."""
    import numpy as np

    along = {c.along for c in grid.changes if c.apart or c.target.name in needed}
    shape = tuple(n if k in along else 1 for k, n in enumerate(grid.shape))
    if math.prod(shape) <= most:
        return list(np.ndindex(shape))
    return list(
        map(tuple, np.random.default_rng(FIXED_SEED).integers(shape, size=(most, len(shape))).tolist())
    )


def _limits_hold(question: Question, at: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell at which designs the user's limits hold; those of the model itself may leave none of so few."""
    import numpy as np

    held = np.ones(shape, bool)
    for limit in question.limits:
        value = np.broadcast_to(np.asarray(at.get(limit.name, math.nan), float), shape)
        if limit.minimum is not None and math.isfinite(limit.minimum):
            held &= ~(value < limit.minimum - LIMIT_HOLDS * abs(limit.minimum))
        if limit.maximum is not None and math.isfinite(limit.maximum):
            held &= ~(value > limit.maximum + LIMIT_HOLDS * abs(limit.maximum))
    return held


def _designs_in_box(question: Question) -> dict[str, Array]:
    """Return designs between the bounds: all ends where they are few, the rest at random, by ratio."""
    import numpy as np

    decided = [d for d in question.decide if d.choices is None and d.name != STRETCH.name]
    if not decided:
        return {}
    draw = np.random.default_rng(FIXED_SEED)
    ends = np.array(list(itertools.islice(itertools.product((0.0, 1.0), repeat=len(decided)), DESIGNS // 4)))
    shares = np.concatenate([ends, draw.uniform(size=(DESIGNS - len(ends), len(decided)))])
    known = {q.name: q for q in question.model.metrics} | question.model.parameters()
    return {d.name: _values_at_shares(d, known[d.name], shares[:, j]) for j, d in enumerate(decided)}


def _values_at_shares(d: Decision, q: Any, share: Array) -> Array:
    import numpy as np

    if d.values:
        every = np.array(d.values)
        inside = every[(every >= (d.minimum or 0.0)) & (every <= (d.maximum or math.inf))]
        every = inside if inside.size else every
        return np.asarray(every[np.minimum((share * len(every)).astype(int), len(every) - 1)], float)
    low = d.minimum if d.minimum else max(q.floor, q.minimum, 0.0)
    high = d.maximum if d.maximum is not None else q.ceiling
    low = max(low, high / FAR_END) if d.minimum is None else low
    high = min(high, low * FAR_END) if d.maximum is None else high
    if low <= 0 or high <= low:
        found = low + (high - low) * share
    else:
        found = np.exp(np.log(low) + share * (math.log(high) - math.log(low)))
        found = np.clip(found, low, high)
    # a whole number between the bounds, not the 0 next to them
    return np.asarray(
        np.clip(np.round(found), math.ceil(low), max(high, math.ceil(low))) if d.integer else found, float
    )


def _a_limit(d: Definition, suspects: list[Suspect], tried: list[_Tried]) -> bool:
    """Tell whether a limit says that a definition has no value: a few designs are not proof that none has one."""
    own = [(k, s) for k, s in enumerate(suspects) if s.definition is d]
    under = any((t.values[k] < 0).any() for t in tried for k, s in own if not s.divisor)
    return under and not any(t.alone for t in tried)


def _nowhere(d: Definition, suspects: list[Suspect], tried: _Tried, findings: Findings) -> None:
    where = "" if tried.alone else f" at any of {len(tried.held)} designs tried between the bounds"
    why = _why_without_value(suspects, tried.at, tried.held | True)
    wrong = f"{shown(d.text)} has no value{where}: {why}"
    findings.add(f"define.{d.name}", wrong, "correct the expression, or the numbers and bounds it depends on")


def _why_without_value(suspects: Iterable[Suspect], at: Mapping[str, Any], where: NDArray[np.bool_]) -> str:
    """Say why a definition has no value at some designs; ``suspects``: parts of it, ``at``: every number by name."""
    import numpy as np

    own = [
        (s, np.broadcast_to(np.asarray(compiled(s.tree, plain_lift)(at), float), where.shape)[where])
        for s in suspects
    ]
    if any(s.divisor and not v.any() for s, v in own):
        return "it divides by 0"
    if own and not any(np.isfinite(v).any() for _, v in own):
        return "a part of it has none"
    if any((v < 0).any() for s, v in own if not s.divisor):
        return "it takes a root or a logarithm of what is negative"
    if any(s.pole and not v.all() for s, v in own):
        return "it takes the logarithm of 0, or a negative power of it"
    return "it is too large to be computed with"


def _has_few_values(question: Question, tree: Expression, every: Mapping[str, Definition]) -> bool:
    """Tell whether a divisor has so few values that the best of what it divides is reached: all are away from 0."""
    seen = _rests_on(tree, every)
    free = {d.name for d in question.decide if d.choices is None and d.values is None and not d.integer}
    computed = {q.name for q in question.model.metrics} - every.keys()
    return not (seen & free or (free and seen & computed))


def _poles(question: Question, suspects: list[Suspect], tried: list[_Tried], findings: Findings) -> None:
    """Note what is minimised or maximised and divides by what changes its sign within the limits."""
    every = {d.name: d for d in definitions_of(question.model)}
    open_ones = [o.name for o in question.objectives if o.name in every]
    needed: dict[str, None] = {}
    while open_ones:
        name = open_ones.pop()
        if name not in needed:
            needed[name] = None
            open_ones += [n for n in names(every[name].tree) if n in every]
    for k, s in enumerate(suspects):
        if not s.divisor or s.definition.name not in needed or _has_few_values(question, s.tree, every):
            continue
        values = [t.values[k][t.held] for t in tried]
        if any((v < 0).any() and (v > 0).any() for v in values):
            wrong = (
                f"{shown(s.definition.text)} divides by what is negative at some designs and positive at others, "
                "so that there is no best value"
            )
            right = (
                "keep the divisor on one side of 0: by bounds under [decide], or by a limit on a part of it"
            )
            findings.add(f"define.{s.definition.name}", wrong, right)
