"""One design of which limits may fail in some worlds, or whose objective's quantile counts: geometric programs.

A limit with a probability may fail in k of the N samples; the quantile of an objective is a level that may be exceeded
in k of them, one more unknown t with a row objective / t <= 1 for each sample. Which samples these are is searched by
``solvers.robust.promises.removal``. Maxima that only harm are written out first: with one argument in the place of each
maximum a limit is a posynomial, and it holds where it holds for every choice of arguments. Whole numbers and listed
values are branched on, each box with a search of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dse.models.arithmetic import CannotTake
from formulations import canonical as canon
from formulations.arithmetics.maxima import SIDE, is_maximum
from formulations.arithmetics.posynomial import NotPosynomial, Posynomial
from formulations.grids import batch
from formulations.problem import Row
from formulations.row_keys import RowKey
from formulations.uncertainty import robust
from formulations.uncertainty.measures import Measured, Quantile, Weighing
from formulations.uncertainty.robust import Posed, certain, folded
from formulations.uncertainty.wanted import Chance, Wanted
from results.solution import Status
from solvers.geometric.kernel.gp_terms import LOG_ZERO
from solvers.geometric.programs import nodes
from solvers.outcome import Outcome
from solvers.robust.masters import robust_caps
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.promises import removal, removal_bounds, removal_whole
from solvers.robust.promises.removal import Removed, Rows, Sampled

Array = NDArray[np.float64]
LEVEL = "level"
EASY = 300
"""Optima that a search may be expected to meet which is made before any other."""
MOST_CHOICES = 64
"""Ways to put an argument in the place of each maximum of a limit."""
FARTHEST_EXPONENT = 690.0
LEVEL_KEY = RowKey(LEVEL, SIDE)
SOLVER = "dse removal of support samples"
TOGETHER = "a probability or quantile together with a mean or CVaR that is not a posynomial of its own"


class Hard(CannotTake):
    """The sets of samples that matter are more than a few."""


def minimise(wanted: Wanted, *, easily: bool = False) -> Found:
    """Find the best design of which each chance fails in no more samples than it may.

    ``easily``: in few programs or not at all. Raises NotPosynomial where a limit or the measure is not a posynomial,
    Hard where the sets of samples are not so few.
    """
    asked = robust.kept(robust.posed(wanted.worlds), wanted.kept)
    chances = _with_level(wanted)
    problem = sampled(asked, chances, wanted.measure)
    found = _best_removal(asked, problem, _easily if easily else _searched_failures)
    words = _removal_words(found, asked.worlds.measured, chances, asked.worlds.plural)
    if found.y is None:
        if not found.infeasible:
            return Found(Outcome(Status.ERROR, message=f"no design was found; {words}", solver=SOLVER))
        return Found(Outcome(Status.INFEASIBLE, certificate=words, solver=SOLVER))
    x = {v.name: float(canon.si_values(v, y)) for v, y in zip(asked.variables, found.y, strict=False)}
    bound = None if asked.goal is None else asked.goal.to_user(found.bound)
    closed = asked.goal is not None and found.value - found.bound <= asked.worlds.nominal.gap
    status = Status.OPTIMAL if closed else Status.FEASIBLE
    left_out: dict[str, frozenset[int]] = {n: frozenset() for c in wanted.chances for n in c.names}
    for place, out in zip(problem.groups, found.left_out, strict=False):
        for name in chances[place].names if place < len(chances) else ():
            left_out[name] |= out
    return Found(Outcome(status, x, bound, words, SOLVER), left_out=left_out)


def _with_level(wanted: Wanted) -> tuple[Chance, ...]:
    """What may fail, and last the level that a quantile of the objective is."""
    quantile = isinstance(wanted.measure, Quantile) and wanted.worlds.nominal.objectives
    return (*wanted.chances, Chance((), wanted.exceeded or 0)) if quantile else wanted.chances


def least_factor(wanted: Wanted) -> float | None:
    """Return the least factor by which a limit would have to give so that the others leave a design.

    None where the others leave none, or a whole number keeps it open.
    """
    asked = dataclasses.replace(robust.kept(robust.posed(wanted.worlds), wanted.kept), goal=None)
    problem = sampled(asked, wanted.chances, None, eased=wanted.eased)
    found = _best_removal(asked, problem, _searched_failures)
    return math.exp(found.value) if found.y is not None and found.value - found.bound <= 1e-6 else None


def _best_removal(asked: Posed, problem: Sampled, searched: removal_whole.Search) -> Removed:
    discrete = {i: nodes.listed(v.decision) for i, v in enumerate(asked.variables) if v.discrete}
    return removal_whole.search(problem, discrete, searched) if discrete else searched(problem, None)


def _removal_words(found: Removed, size: int, chances: Sequence[Chance], worlds: str) -> str:
    names = [f"{' and '.join(c.names) or 'the level'} may fail in {c.may_fail}" for c in chances]
    how = "every set of them that can matter was searched"
    if found.infeasible:
        how = "no set of them leaves a design"
    elif not found.whole:
        how = "the bound is that of sets of samples, one of which must hold"
    programs = f"{found.programs} geometric programs, each with its Lagrangian bound"
    return f"of {size} {worlds} {', '.join(names)}; {how}: {programs}"


def sampled(
    asked: Posed, chances: Sequence[Chance], measure: Measured | None, eased: RowKey | None = None
) -> Sampled:
    """Write a question in many worlds as rows over its samples; the level, where there is one, is the last variable.

    ``eased``: the end of a limit whose ratio is to be least, in place of an objective.
    """
    hard = len(chances)
    groups = {n: [g for g, c in enumerate(chances) if n in c.names] for c in chances for n in c.names}
    unknown, one = Posynomial({((LEVEL, 1.0),): 1.0}), Posynomial({(): 1.0})
    rows = [
        (g, dataclasses.replace(r, denominator=r.denominator * unknown) if r.key == eased else r)
        for r in asked.rows
        for g in groups.get(r.key.name, [hard])
    ]
    goal, level = _goal_or_level(asked, chances, measure)
    if goal is None:
        goal = unknown
        if level is not None:
            own = next((g for g, c in enumerate(chances) if not c.names), hard)
            rows.append((own, Row(LEVEL_KEY, level, unknown)))
    if eased is not None:
        goal = unknown
    names = [v.name for v in asked.variables]
    low, high = (ends[0] for ends in canon.boxes(asked.variables, far=True)[:2])
    if goal is unknown:
        names.append(LEVEL)
        low, high = np.append(low, -FARTHEST_EXPONENT), np.append(high, FARTHEST_EXPONENT)
    fixed, many = [_sample_table(names, goal, one, 1)], list[Rows]()
    for group, row in rows:
        if not row.denominator.is_monomial:
            raise NotPosynomial(
                f"the limit {row.key.name} divides by a sum of {len(row.denominator.terms)} terms"
            )
        for top in written_out(asked, row.numerator):
            A, logc = _sample_table(names, top, row.denominator, asked.worlds.size)
            logc = logc[: asked.worlds.count_of(row.key.name)]
            if np.ptp(logc, axis=0).max() == 0:
                fixed.append((A, logc[:1]))
            else:
                many.append(Rows(group, A, logc))
    for cap in asked.worlds.caps:
        whole = robust_caps.exact(asked, cap)
        if whole is None:
            raise NotPosynomial(TOGETHER)
        fixed.append(_sample_table(names, whole, one, 1))
    used = sorted({r.group for r in many})
    # a group whose limits are the same in all samples fails in none or in all
    allowed = [*(c.may_fail for c in chances), 0]
    return Sampled(
        tuple((A, c[0]) for A, c in fixed),
        tuple(dataclasses.replace(r, group=used.index(r.group)) for r in many),
        tuple(allowed[g] for g in used),
        low,
        high,
        tuple(used),
    )


def _goal_or_level(
    asked: Posed, chances: Sequence[Chance], measure: Measured | None
) -> tuple[Posynomial | None, Posynomial | None]:
    """What is minimised as one posynomial; or None, and the posynomial of each sample that a level is above."""
    if asked.goal is None:
        return Posynomial({(): 1.0}), None
    whole = folded(asked.goal)
    if whole is None:
        raise NotPosynomial(f"{asked.goal.name} divides by a sum")
    if certain(whole):
        return robust.at_world(whole, 0), None
    if not isinstance(measure, Weighing) or measure.share <= 0:
        return None, whole
    found = robust.exact_goal(asked, measure)
    exact = None if found is None else folded(found)
    if exact is None:
        raise NotPosynomial(TOGETHER)
    return exact, None


def _sample_table(
    names: Sequence[str], top: Posynomial, bottom: Posynomial, size: int
) -> tuple[Array, Array]:
    made = batch.table(tuple(names), [(top, bottom)], (size,))
    return made.exponents, np.maximum(made.logc, LOG_ZERO)


def written_out(asked: Posed, p: Posynomial) -> Iterator[Posynomial]:
    """Go through the posynomials that are all at most 1 where ``p`` is: each maximum one of its arguments.

    Raises NotPosynomial where there are more than MOST_CHOICES, or an argument that is a sum stands to a broken power.
    """
    names = sorted({v for key in p.terms for v, _ in key if is_maximum(v)})
    if not names:
        yield p
        return
    ways = list(itertools.islice(itertools.product(*(asked.taken[n] for n in names)), MOST_CHOICES + 1))
    if len(ways) > MOST_CHOICES:
        raise NotPosynomial(f"more than {MOST_CHOICES} ways to hold the maxima of a limit")
    for way in ways:
        chosen = {n: r.numerator * r.denominator.power(-1.0) for n, r in zip(names, way, strict=True)}
        total = robust.without_maxima(p, partial(_chosen_power, chosen))
        yield from written_out(asked, total)


def _chosen_power(chosen: Mapping[str, Posynomial], name: str, power: float) -> Posynomial:
    found = robust.own_power(chosen[name], power)
    if found is None:
        raise NotPosynomial("a maximum of sums to a fractional power")
    return found


def _easily(problem: Sampled, near: Array | None) -> Removed:
    """Search as ``_searched_failures`` does where that takes few programs; else raise Hard."""
    return _searched_failures(problem, near, EASY)


def _searched_failures(problem: Sampled, near: Array | None, most: float = math.inf) -> Removed:
    """Search which samples fail: the obvious ones where these are proved best, else as far as it takes.

    ``most``: optima that a search may be expected to meet; raises Hard where it is more.
    """
    quick = removal_bounds.closed(problem, near)
    if quick is not None:
        return quick
    if removal.in_order(problem)[0].expected > most:
        raise Hard(f"{problem.expected:.0f} sets of samples")
    found = removal.search(problem)
    return found if found.whole else removal_bounds.bounded(problem, found)
