"""Limits that may fail in some samples, of linear and mixed-integer programs: which samples fail is decided with them.

Of W samples of a limit f_w(u) <= 0, affine or the largest of affine functions of shares, counts and picks u >= 0, k may
fail. Where k others have coefficients that are all at least those of sample w, the limit must hold in w: were it
broken there, k + 1 would be. Of each other sample a number z_w of 0 or 1 says whether it fails:

    f_w(u) <= M_w z_w,      sum of z_w <= k,      M_w = the largest value of f_w, by a linear program

(Luedtke, Ahmed and Nemhauser, *Math. Programming* 122, 2010, for such programs). Only samples that a design breaks are
written down, so that the program grows as a master does, and bounds the question at any time. A quantile of the
objective is the least t of which loss_w(u) - t <= 0 may fail in so many.

The design is then that of the master (``solvers.robust.masters.robust_program``) without the samples that fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from dse.models.arithmetic import CannotTake
from dse.system.arrays import Array, Bools, Indices
from dse.system.records import dataclass
from formulations.row_keys import RowKey
from formulations.tolerances import SLACK
from formulations.uncertainty.measures import WORST, Quantile
from formulations.uncertainty.robust_program import Part, Posed, posed
from formulations.uncertainty.wanted import Wanted, left_out
from results.solution import Status
from solvers.linear import highs
from solvers.linear.linear_program import End, Result
from solvers.outcome import Outcome
from solvers.robust.masters import robust_program
from solvers.robust.masters.master import MASTER_CLOSE, WORLD_BROKEN
from solvers.robust.masters.program_master import Master, Measured, new
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.masters.robust_program import LEVEL

CHANCE_ROUNDS, MOST_WRITTEN = 60, 1200
"""Programs, and switches of samples that they write down, after which a question is left to others."""
LEVEL_ROUNDING = 1e-6
"""By so much, relative, the least level lies below what bounds it."""
PROOF = "mixed-integer program of the samples that fail; bound of HiGHS' branch and bound"


@dataclass(frozen=True, slots=True)
class Group:
    """Limits ``keys`` that may fail together in ``may_fail`` worlds; none: the level of the objective.

    ``sure``: worlds (N,) in which they hold in any case.
    """

    keys: tuple[RowKey, ...]
    may_fail: int
    sure: Bools


@dataclass(slots=True)
class Search:
    """The master so far, of whose worlds some may fail.

    ``above``: rows of worlds that must be no worse than the level, or fail: (row, switch, what the row is at most).
    ``level``: what the level is at least; None without a quantile.
    """

    master: Master
    groups: tuple[Group, ...]
    goal: Measured | None
    above: list[tuple[Array, int, float]] = field(default_factory=list)
    level: float | None = None

    def least(self) -> tuple[Result, Array | None]:
        """Grow the program until its best design breaks no more samples than may fail: the bound, and that design."""
        master = self.master
        # of each group the switches of the worlds that are written down, by their numbers, and their weights
        switches = [dict[int, int]() for _ in self.groups]
        weights = [dict[int, float]() for _ in self.groups]
        master.sums += [(w, float(group.may_fail)) for w, group in zip(weights, self.groups, strict=True)]

        def solve() -> Result:
            above = [master.switched(row, k, most - (self.level or 0.0)) for row, k, most in self.above]
            found = master.solve(above, self.level)
            if self.level is not None and found.end is End.FOUND:
                # a nearer level makes each M smaller, a share of which HiGHS lets rows be off by
                self.level = max(self.level, _below(found.bound))
            return found

        def missing(u: Array, ratios: Mapping[RowKey, Array], found: Result) -> bool:
            grown = False
            for group, fails, w in zip(self.groups, switches, weights, strict=True):
                grown |= self._add(group, fails, u, ratios, found)
                w.update(dict.fromkeys(fails.values(), 1.0))
            if grown and master.switches > MOST_WRITTEN:
                raise CannotTake(f"more than {MOST_WRITTEN} samples that may fail")
            return grown

        return master.least(self.goal, MASTER_CLOSE, solve, missing, CHANCE_ROUNDS)

    def _add(
        self, group: Group, fails: dict[int, int], u: Array, ratios: Mapping[RowKey, Array], found: Result
    ) -> bool:
        """Write down the worlds that fail most though the program has them hold; tell whether any was new."""
        assert found.u is not None, "asked of a design"
        master, t, grown = self.master, float(found.u[-2]), False
        losses = None if group.keys else master.posed.losses(u)
        if losses is None:
            over = np.array([np.nan_to_num(ratios[key], nan=np.inf) - 1.0 for key in group.keys])
        else:
            over = (losses @ u - t)[None] / max(abs(t), 1e-300)
        worst = over.max(0)
        broken = worst > WORLD_BROKEN
        if losses is not None and (broken & group.sure).any():
            grown = new(master.cuts, losses[int(np.where(group.sure, worst, -np.inf).argmax())])
        broken &= ~group.sure
        if np.count_nonzero(broken) <= group.may_fail:
            return grown
        size = master.low.size
        let = {i for i, k in fails.items() if found.u[size + k] > 0.5}
        fresh = [i for i in map(int, np.argsort(-worst, kind="stable")) if broken[i] and i not in let]
        for i in fresh[: group.may_fail + 1]:
            if i not in fails:
                fails[i] = master.switches
                master.switches += 1
            k = fails[i]
            if losses is not None:
                grown |= master.write(self.above, losses[i], k)
            for key, by in zip(group.keys, over, strict=False):
                grown |= bool(by[i] > WORLD_BROKEN) and master.hold(key, i, u, k)
        return grown


def found(wanted: Wanted, *, tied: bool) -> Found:
    """Find the best design where limits may fail or a quantile is asked for; ``tied``: settle ties.

    Raises NotPosynomial or CannotTake, with the reason, where the question is no such program.
    """
    worlds, measure = wanted.worlds, wanted.measure
    asked = posed(worlds, measure, wanted.kept, may_fail=sum(c.may_fail for c in wanted.chances))
    if worlds.counted is not None or wanted.eased is not None:
        raise CannotTake("limits in all worlds beside others")
    keys = [key for key in asked.keys if wanted.counts(key.name)]
    groups = [_group(asked, tuple(k for k in keys if k.name in c.names), c.may_fail) for c in wanted.chances]
    groups = [group for group in groups if group.keys]
    out = {k.name: ~group.sure for group in groups for k in group.keys}
    if len({k for group in groups for k in group.keys}) < sum(len(group.keys) for group in groups):
        raise CannotTake("a limit in two promises")
    search = Search(Master(asked, wanted.kept, out), tuple(groups), None)
    if isinstance(measure, Quantile):
        if asked.goal:
            assert wanted.exceeded is not None, "a quantile is exceeded in so many samples"
            search.groups += (_group(asked, (), wanted.exceeded),)
            search.level = 0.0
        measure = WORST
    elif asked.goal:
        search.goal = Measured(asked.losses, measure)
    _begin(search)
    least, best = search.least()
    if best is None:
        return _without_design(search, least)
    x = search.master.design(best)
    fails = left_out(wanted, x, all_that_may=True)
    if search.level is not None:
        loss = asked.losses(best) @ best
        fails[LEVEL] = frozenset(np.argsort(-loss, kind="stable")[: wanted.exceeded].tolist())
    told = robust_program.minimise(worlds, measure, kept=wanted.kept, left_out=fails, weigh=tied, tied=tied)
    if told.outcome.x is None:
        raise CannotTake("the design that is left when samples fail")
    outcome = told.outcome
    if outcome.bound is not None:
        sign = asked.program.sign
        bound = sign * min(sign * asked.objective(least.bound), sign * outcome.bound)
        outcome = replace(outcome, bound=bound, certificate=PROOF)
    weights = {key: (value, True) for key, (value, _) in told.elasticities.items()}
    return replace(told, outcome=outcome, elasticities=weights, left_out=left_out(wanted, outcome.x or {}))


def _begin(search: Search) -> None:
    """Write down what holds in any case, at a point to begin with, and what a level is at least."""
    master, u = search.master, search.master.start()
    if (master.low < 0).any():
        raise CannotTake("what is decided may be below 0")
    master.add(u)
    for group in search.groups:
        for key in group.keys:
            hard = _hardest(master.posed.limit(key, u), u, group.may_fail + 1)
            # in one of these worlds one of the alternatives holds
            master.rows.append(
                np.min([f for i in hard for f in master.posed.alternatives(key, int(i), u)], axis=0)
            )
        if not group.keys:
            losses = master.posed.losses(u)
            master.cuts.append(losses[_hardest(losses, u, group.may_fail + 1)].min(axis=0))
    if search.goal is not None:
        master.cuts.append(search.goal.cut(u))
    if search.level is not None:
        least = highs.minimise(master.numbers().relaxed(), master.wide(master.cuts[-1]))
        if least.end is not End.INFEASIBLE:
            search.level = _below(least.bound)
        if not np.isfinite(search.level):
            raise CannotTake("a level of the objective without an end")


def _below(level: float) -> float:
    return level - LEVEL_ROUNDING * abs(level)


def _hardest(rows: Array, u: Array, count: int) -> Indices:
    return np.argsort(-(rows @ u), kind="stable")[:count]


def _without_design(search: Search, least: Result) -> Found:
    if least.end is End.INFEASIBLE and robust_program.least_miss(search.master) > SLACK:
        text = f"no design breaks the limits in as few samples as may fail; {PROOF}"
        return Found(Outcome(Status.INFEASIBLE, certificate=text, solver=robust_program.SOLVER))
    if least.end is End.FOUND:
        raise CannotTake(f"more than {CHANCE_ROUNDS} programs of samples that may fail")
    raise CannotTake(f"a program that ends as {least.end.value}")


def _group(asked: Posed, keys: tuple[RowKey, ...], may_fail: int) -> Group:
    sure = np.zeros(asked.worlds.size, bool)
    for part in asked.parts:
        forms = [part.rows[key] for key in keys if key in part.rows]
        if not keys and part.losses is not None:
            forms = [part.losses.forms]
        sure[part.places] = _harder(part, forms) > may_fail
    return Group(keys, may_fail, sure)


def _harder(part: Part, forms: list[Array]) -> Array:
    """How many worlds of a part have forms that are nowhere below those of each world, itself among them."""
    numbers = [*forms, *(a for arguments in part.defines.values() for a in arguments)]
    gain = any((form[:, list(part.defines)] < 0).any() for form in forms)
    if not forms or gain or (part.program.low < 0).any():
        return np.zeros(part.places.size)
    table = np.concatenate([np.broadcast_to(f, (part.places.size, f.shape[-1])) for f in numbers], axis=1)
    table = table[:, np.ptp(table, axis=0) > 0]
    return np.array([np.count_nonzero((table >= row).all(1)) for row in table])
