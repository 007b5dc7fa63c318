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
from dse.system.arrays import Array, Bools
from dse.system.records import dataclass
from formulations.row_keys import RowKey
from formulations.tolerances import SLACK
from formulations.uncertainty.measures import WORST, Quantile
from formulations.uncertainty.robust_program import Part, Posed, posed
from formulations.uncertainty.wanted import Wanted, left_out
from results.solution import Status
from solvers.linear import highs
from solvers.linear.linear_program import End, Numbers, Result
from solvers.outcome import Outcome
from solvers.robust.masters import robust_program
from solvers.robust.masters.master import MASTER_CLOSE, WORLD_BROKEN
from solvers.robust.masters.program_master import Master, Measured, new
from solvers.robust.masters.robust_geometric import Found
from solvers.robust.masters.robust_program import LEVEL

CHANCE_ROUNDS, MOST_WRITTEN = 60, 400
"""Programs, and samples that they write down, after which a question is left to others."""
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
    """The program so far: the rows of a master, and of worlds that may fail a row each, with what it is at most.

    ``fails``: the worlds whose z is a column, by group and number. ``rows``: (row, column of z, M, whether the level
    is on its other side). ``level``: what the level is at least and at most.
    """

    master: Master
    groups: tuple[Group, ...]
    goal: Measured | None
    fails: dict[tuple[int, int], int] = field(default_factory=dict)
    rows: list[tuple[Array, int, float, bool]] = field(default_factory=list)
    level: tuple[float, float] = (0.0, 0.0)

    def least(self) -> tuple[Result, Array | None]:
        """Grow the program until its best design breaks no more samples than may fail: the bound, and that design."""
        for _ in range(CHANCE_ROUNDS):
            found = self._solved()
            if found.end is not End.FOUND or found.u is None:
                return found, None
            u = np.append(found.u[: self.master.low.size], 1.0)
            ratios = self.master.judged(u).ratios
            grown = self.master.add(u, ratios)
            for g, group in enumerate(self.groups):
                grown |= self._add(g, group, u, ratios, found)
            fresh = self.goal is not None and new(self.master.cuts, self.goal.cut(u))
            value = 0.0 if self.goal is None else self.goal.value(u)
            if not grown and (not fresh or value - found.bound <= MASTER_CLOSE * abs(value)):
                return found, u
            if len(self.fails) > MOST_WRITTEN:
                break
        raise CannotTake(f"more than {MOST_WRITTEN} samples that may fail, or {CHANCE_ROUNDS} programs")

    def refuted(self) -> bool:
        """Whether no design breaks the limits in as few samples as may fail, by the bound of a program that gives."""
        base, rows = self._numbers(self.master.first_numbers()), self.master.rows
        limits = [self._wide(r) for r in rows] + [self._with_fail(*r[:3]) for r in self.rows if not r[3]]
        return robust_program.least_miss(self.master, base, limits) > SLACK

    def _solved(self) -> Result:
        above = [self._wide(c) for c in self.master.cuts]
        above += [self._with_fail(*r[:3]) for r in self.rows if r[3]]
        limits = [self._with_fail(*r[:3]) for r in self.rows if not r[3]]
        held = self._numbers(self.master.numbers()).with_rows(*limits)
        ends = [self.master.ends(c) for c in self.master.cuts] or [self.level]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        return self.master.least_above(held, above, low - 1e-6 * max(abs(low), 1e-300), high)

    def _numbers(self, n: Numbers) -> Numbers:
        """The same with a column for each z, and how many of each group may be 1."""
        count = len(self.fails)
        sums = np.zeros((len(self.groups), n.low.size + count + 1))
        for (g, _), k in self.fails.items():
            sums[g, n.low.size + k] = 1.0
        sums[:, -1] = [-float(group.may_fail) for group in self.groups]
        wide = Numbers(
            np.array([self._wide(r) for r in n.rows]).reshape(-1, n.low.size + count + 1),
            n.equal,
            np.append(n.low, np.zeros(count)),
            np.append(n.high, np.ones(count)),
            np.append(n.integer, np.ones(count, bool)),
        )
        return wide.with_rows(*sums)

    def _wide(self, row: Array) -> Array:
        return np.insert(row, [row.size - 1] * len(self.fails), 0.0)

    def _with_fail(self, row: Array, k: int, most: float) -> Array:
        found = self._wide(row)
        found[row.size - 1 + k] = -most
        return found

    def _add(self, g: int, group: Group, u: Array, ratios: Mapping[RowKey, Array], found: Result) -> bool:
        """Write down the worlds that fail most though the program has them hold; tell whether any was new."""
        assert found.u is not None, "asked of a design"
        t, of_level = float(found.u[-2]), not group.keys
        cuts = [self.master.posed.limit(key, u) for key in group.keys] or [self.master.posed.losses(u)]
        if of_level:
            over = [(cuts[0] @ u - t) / max(abs(t), 1e-300)]
        else:
            over = [np.nan_to_num(ratios[key], nan=np.inf) - 1.0 for key in group.keys]
        worst = np.max(over, axis=0)
        fails, grown = worst > WORLD_BROKEN, False
        if of_level and (fails & group.sure).any():
            i = int(np.where(group.sure, worst, -np.inf).argmax())
            grown = new(self.master.cuts, cuts[0][i])
        if np.count_nonzero(fails & ~group.sure) <= group.may_fail:
            return grown
        size = self.master.low.size
        let = [i for (h, i), k in self.fails.items() if h == g and found.u[size + k] > 0.5]
        order = np.argsort(-worst, kind="stable")
        fresh = [int(i) for i in order if fails[i] and not group.sure[i] and i not in let]
        for i in fresh[: group.may_fail + 1]:
            for cut, by in zip(cuts, over, strict=True):
                if by[i] > WORLD_BROKEN:
                    grown |= self._write(g, i, cut[i], of_level=of_level)
        return grown

    def _write(self, g: int, i: int, row: Array, *, of_level: bool) -> bool:
        k = self.fails.get((g, i), len(self.fails))
        if any(k == of and np.array_equal(row, r) for r, of, *_ in self.rows):
            return False
        most = -highs.minimise(self.master.numbers().relaxed(), -row).bound - of_level * self.level[0]
        if not np.isfinite(most):
            raise CannotTake("a limit that may fail and has no end")
        self.fails[g, i] = k
        self.rows.append((row, k, most * (1.0 + 1e-9), of_level))
        return True


def found(wanted: Wanted, *, tied: bool) -> Found:
    """Find the best design where limits may fail or a quantile is asked for; ``tied``: settle ties.

    Raises NotPosynomial or CannotTake, with the reason, where the question is no such program.
    """
    asked, worlds, measure = posed(wanted.worlds), wanted.worlds, wanted.measure
    if worlds.counted is not None or wanted.eased is not None:
        raise CannotTake("limits in all worlds beside others")
    keys = [key for key in asked.keys if wanted.counts(key.name)]
    groups = [_group(asked, tuple(k for k in keys if k.name in c.names), c.may_fail) for c in wanted.chances]
    groups = [group for group in groups if group.keys]
    out = {k.name: ~group.sure for group in groups for k in group.keys}
    if len({k.name for k in keys if wanted.failing(k.name)}) != sum(
        len({k.name for k in group.keys}) for group in groups
    ):
        raise CannotTake("a limit in two promises")
    search = Search(Master(asked, wanted.kept, out), tuple(groups), None)
    if isinstance(measure, Quantile):
        if asked.goal:
            assert wanted.exceeded is not None, "a quantile is exceeded in so many samples"
            search.groups += (_group(asked, (), wanted.exceeded),)
            search.level = _ends_of_level(search.master)
        measure = WORST
    elif asked.goal:
        search.goal = Measured(asked.losses, measure)
    u = search.master.start()
    search.master.add(u)
    if search.goal is not None:
        search.master.cuts.append(search.goal.cut(u))
    least, best = search.least()
    if best is None:
        return _without_design(search, least)
    x = search.master.design(best)
    fails = {n: some for n, some in left_out(wanted, x, all_that_may=True).items() if wanted.counts(n)}
    if search.level != (0.0, 0.0):
        loss = asked.losses(best) @ best
        fails[LEVEL] = frozenset(np.argsort(-loss, kind="stable")[: wanted.exceeded].tolist())
    told = robust_program.minimise(worlds, measure, kept=wanted.kept, left_out=fails, weigh=tied, tied=tied)
    if told.outcome.x is None:
        raise CannotTake("the design that is left when samples fail")
    outcome = told.outcome
    if outcome.bound is not None:
        sign = asked.program.sign
        outcome = replace(outcome, bound=sign * min(least.bound, sign * outcome.bound), certificate=PROOF)
    weights = {key: (value, True) for key, (value, _) in told.elasticities.items()}
    return replace(told, outcome=outcome, elasticities=weights, left_out=left_out(wanted, outcome.x or {}))


def _ends_of_level(master: Master) -> tuple[float, float]:
    """What a level of the losses is at least and at most, where no world is let off."""
    base, losses = master.first_numbers().relaxed(), master.posed.losses(master.start())
    low = min(highs.minimise(base, loss).bound for loss in losses)
    if not np.isfinite(low):
        raise CannotTake("a level of the objective without an end")
    return float(low), np.inf


def _without_design(search: Search, least: Result) -> Found:
    if least.end is End.INFEASIBLE and search.refuted():
        text = f"no design breaks the limits in as few samples as may fail; {PROOF}"
        return Found(Outcome(Status.INFEASIBLE, certificate=text, solver=robust_program.SOLVER))
    raise CannotTake(f"a program that ends as {least.end.value}")


def _group(asked: Posed, keys: tuple[RowKey, ...], may_fail: int) -> Group:
    sure = np.zeros(asked.worlds.size, bool)
    for part in asked.parts:
        forms = [part.rows[key] for key in keys if key in part.rows]
        if not keys and part.losses is not None:
            forms = [part.losses]
        sure[part.places] = _harder(part, forms) > may_fail
    return Group(keys, may_fail, sure)


def _harder(part: Part, forms: list[Array]) -> Array:
    """How many worlds of a part have forms that are nowhere below those of each world, itself among them."""
    numbers = [*forms, *(a for arguments in part.defines.values() for a in arguments)]
    if not forms or (part.program.low < 0).any():
        return np.zeros(part.places.size)
    table = np.concatenate([np.broadcast_to(f, (part.places.size, f.shape[-1])) for f in numbers], axis=1)
    table = table[:, np.ptp(table, axis=0) > 0]
    return np.array([np.count_nonzero((table >= row).all(1)) for row in table])
