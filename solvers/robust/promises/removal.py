"""Geometric programs of which some samples may fail: solved by removing the samples that hold the optimum up.

    min F_0(y)   s.t.   H_j(y) <= 0,   lo <= y <= hi,
                        F_ri(y) <= 0 for the rows r of group g, for all but k_g of the samples i

with all F and H of the form log sum exp(c + A y). Which samples are left out is part of the answer, so the problem is
not convex. It is searched like this (Matousek, *On geometric optimization with few violated constraints*, Discrete
Comput. Geom. 14, 1995): with a set R of samples left out, the optimum over all others is a geometric program, and its
multipliers name the few samples B that hold it up, at most as many as there are decided quantities. Whoever is better
than that optimum leaves out at least one of B. So R branches into R + b for each b in B that may still fail. The least
optimum of all R is the answer, the least of the bounds its proof: any design follows the branches of the samples that
it leaves out, to a set R whose B it keeps, and is no better than the Lagrangian bound that uses the samples of B alone.

Sets from which the same samples are left out at the optimum are one (a sample of R that holds there again comes back),
as long as the optimum fell on the way: so each step lowers the optimum or enlarges R, and the search ends. Of two
decided quantities and 35 samples that may fail, some 700 optima are met (C(k+d, d) for points in general position), in
rounds of which each is one call of the kernel. Where that is too many, the best of each round are followed; then the
design found is one that holds, and the bound is another (``solvers.robust.promises.removal_bounds``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dse.system.records import dataclass
from solvers import side_by_side
from solvers.geometric.kernel import gp
from solvers.geometric.kernel.gp_terms import LOG_ZERO, Array, Terms, lagrangian, terms

SAMPLE_HOLDS = 1e-9  # a sample that misses by less holds: what the kernel promises of its limits
NODE_SLACK = 1e-7  # of a bound that may be lost so that fewer samples hold it up
SUPPORTS = 1e-8  # a multiplier below this holds nothing up; the bound is computed without it
MOST_REMOVAL_NODES = 6000  # optima that a whole search may be expected to meet
BEAM = 6
REMOVAL_ROUNDS = 60  # of adding samples to one program: each round adds the one that misses most
NODES_AT_ONCE = 256
REMOVAL_ITERATIONS = 400

Item = tuple[int, int]  # a group, and a sample of it


@dataclass(frozen=True, slots=True)
class Rows:
    """A limit that every sample has: exponents (K, n) shared, log coefficients (N, K), and its group."""

    group: int
    A: Array
    logc: Array

    def at(self, y: Array) -> Array:
        """Values (B, N) at points y (B, n)."""
        z = (y @ self.A.T)[:, None, :] + self.logc[None]
        top = z.max(-1)
        found: Array = top + np.log(np.exp(z - top[..., None]).sum(-1))
        return found


@dataclass(frozen=True, slots=True)
class Sampled:
    """The problem: the goal and the limits without samples (``fixed``: row 0 the goal), and those with samples.

    ``may_fail``: of each group, how many samples may; with 0 all hold. ``low``, ``high``: the box (n,). ``groups``:
    what the groups are called by whoever asks.
    """

    fixed: tuple[tuple[Array, Array], ...]
    rows: tuple[Rows, ...]
    may_fail: tuple[int, ...]
    low: Array
    high: Array
    groups: tuple[int, ...] = ()

    @property
    def free(self) -> int:
        """How many quantities are to be decided."""
        return int(np.count_nonzero(self.high - self.low > gp.FIXED))

    def misses(self, y: Array) -> list[Array]:
        """By how much each sample of each group misses at points y (B, n): (B, N) for each group."""
        found: list[Any] = [None] * len(self.may_fail)
        for r in self.rows:
            value = r.at(y)
            found[r.group] = value if found[r.group] is None else np.maximum(found[r.group], value)
        return found

    @property
    def expected(self) -> float:
        """How many optima a whole search may meet: C(k+d, d) for each group (for points in general position)."""
        return math.prod(math.comb(k + self.free, k) for k in self.may_fail)


@dataclass(frozen=True, slots=True)
class Removed:
    """What was found: ``y`` (n,) the best design (None: there is none), its ``value`` and a lower ``bound``.

    ``left_out``: of each group the samples that fail. ``whole``: whether the search was; if not, ``bound`` is only that
    of the design's own samples and proves nothing. ``programs``: how many were solved. ``infeasible``: proved so.
    """

    y: Array | None
    value: float
    bound: float
    left_out: tuple[frozenset[int], ...]
    whole: bool
    programs: int

    @property
    def infeasible(self) -> bool:
        """Whether no design leaves out few enough samples."""
        return self.whole and self.y is None


@dataclass(slots=True, eq=False)
class _Node:
    """A set of samples left out, and the optimum without them."""

    out: tuple[frozenset[int], ...]
    work: set[tuple[int, int]] = field(default_factory=set)  # (row, sample) that its program has
    above: float = math.inf
    y: Array | None = None
    value: float = math.inf
    bound: float = math.inf
    support: tuple[Item, ...] = ()


def search(problem: Sampled, most: int = MOST_REMOVAL_NODES, beam: int = BEAM) -> Removed:
    """Find the best design that leaves out no more samples than may fail.

    Whole where at most ``most`` optima are to be expected, else by the ``beam`` best of each number left out.
    Raises ArithmeticError where the kernel cannot close a program.
    """
    problem, first = in_order(problem)
    whole = problem.expected <= most
    root = _Node(first)
    todo, seen = [root], {root.out}
    best: _Node | None = None
    bound, programs = math.inf, 0
    while todo:
        batch, todo = (todo[:NODES_AT_ONCE], todo[NODES_AT_ONCE:]) if whole else (todo, [])
        programs += _solve_nodes(problem, batch)
        if not whole:
            batch = sorted(batch, key=lambda n: n.value)[:beam]
        for solved in batch:
            bound = min(bound, solved.bound)
            if solved.value < (math.inf if best is None else best.value):
                best = solved
            node = _brought_back(problem, solved)
            if node.out != solved.out and node.out in seen:
                continue
            seen.add(node.out)
            for child in _children(problem, node):
                if child.out not in seen:
                    seen.add(child.out)
                    todo.append(child)
    if best is None:
        return Removed(None, math.inf, bound, root.out, whole, programs)
    return Removed(best.y, best.value, min(bound, best.value), best.out, whole, programs)


def in_order(problem: Sampled) -> tuple[Sampled, tuple[frozenset[int], ...]]:
    """Leave out the worst samples of each group that one number orders; returns the rest, and what was left out.

    That is so where all its coefficients rise together: who holds in a sample then holds in all below it, so no set of
    samples left out is better than the k worst.
    """
    allowed, first = list(problem.may_fail), []
    for g in range(len(allowed)):
        table = np.concatenate([r.logc for r in problem.rows if r.group == g], axis=1)
        order = np.argsort(-table.sum(1), kind="stable")
        if allowed[g] < len(order) and (np.diff(table[order], axis=0) <= 0).all():
            first.append(frozenset(order[: allowed[g]].tolist()))
            allowed[g] = 0
        else:
            first.append(frozenset())
    return replace(problem, may_fail=tuple(allowed)), tuple(first)


def without(
    problem: Sampled, out: Sequence[Iterable[int]], near: Array | None = None
) -> tuple[Array | None, float, float]:
    """Solve with given samples left out: the design (None: infeasible), its value, its bound.

    ``near``: a design, whose worst samples the program begins with.
    """
    node = _Node(tuple(frozenset(o) for o in out))
    _solve_nodes(problem, [node], near)
    return node.y, node.value, node.bound


def least_bound(
    problem: Sampled, outs: Sequence[tuple[frozenset[int], ...]], near: Array | None = None
) -> tuple[float, Array | None]:
    """Return the least of the bounds of several programs, and its design, each with given samples left out.

    ``near``: as above.
    """
    nodes = [_Node(out) for out in outs]
    for at in range(0, len(nodes), NODES_AT_ONCE):
        _solve_nodes(problem, nodes[at : at + NODES_AT_ONCE], near)
    least = min(nodes, key=lambda n: n.bound)
    return least.bound, least.y


def worst(problem: Sampled, y: Array) -> tuple[frozenset[int], ...]:
    """Return of each group as many samples as may fail: those that miss most at a design, if they miss at all."""
    misses = problem.misses(y[None])
    found = []
    for miss, k in zip(misses, problem.may_fail, strict=True):
        order = np.argsort(-miss[0], kind="stable")[:k]
        found.append(frozenset(int(i) for i in order))
    return tuple(found)


def _children(problem: Sampled, node: _Node) -> list[_Node]:
    """The sets that also leave out one of the samples that hold the optimum up."""
    found = []
    for group, sample in node.support:
        if len(node.out[group]) < problem.may_fail[group]:
            out = tuple(o | {sample} if g == group else o for g, o in enumerate(node.out))
            mine = {(r, i) for r, i in node.work if problem.rows[r].group != group or i != sample}
            found.append(_Node(out, mine, node.value))
    return found


def _brought_back(problem: Sampled, node: _Node) -> _Node:
    """Return the node with only those samples left out that fail at its optimum, if the optimum fell on the way.

    What is left out for good (of a group that one number orders) stays so: no branch would leave it out again.
    """
    if node.y is None or not node.value < node.above - 1e-9:
        return node
    miss = problem.misses(node.y[None])
    out = tuple(
        frozenset(i for i in o if miss[g][0, i] > SAMPLE_HOLDS) if problem.may_fail[g] else o
        for g, o in enumerate(node.out)
    )
    if out == node.out:
        return node
    return replace(node, out=out)


def _solve_nodes(problem: Sampled, nodes: Sequence[_Node], near: Array | None = None) -> int:
    """Solve the programs of some nodes together, adding samples until all that are not left out hold."""
    if not any(n.work for n in nodes):
        _begin(problem, nodes, 0.5 * (problem.low + problem.high) if near is None else near)
    left, programs = list(nodes), 0
    for _ in range(REMOVAL_ROUNDS):
        slots = [max(sum(1 for r, _ in n.work if r == k) for n in left) for k in range(len(problem.rows))]
        found, table, places = _kernel(problem, left, slots)
        programs += len(left)
        missing = _add(problem, left, found)
        for n, node in enumerate(left):
            if not missing[n]:
                _write_down_optimum(problem, node, found, n, table, places[n])
        left = [node for n, node in enumerate(left) if missing[n]]
        if not left:
            return programs
    raise ArithmeticError("samples without end: each program misses another one")


def _begin(problem: Sampled, nodes: Sequence[_Node], y: Array) -> None:
    """Begin with the sample of each row that is largest at a design."""
    for k, r in enumerate(problem.rows):
        worst = np.argsort(-r.at(y[None])[0], kind="stable")
        for node in nodes:
            first = next((int(i) for i in worst if int(i) not in node.out[r.group]), None)
            if first is not None:
                node.work.add((k, first))


def _kernel(
    problem: Sampled, nodes: Sequence[_Node], slots: Sequence[int]
) -> tuple[gp.Result, Terms, list[list[tuple[int, int]]]]:
    """Solve the programs of nodes in one table: the fixed rows, then as many slots of each sampled row as one needs.

    A slot without a sample is absent.
    """
    A = [a for a, _ in problem.fixed]
    sizes = [len(a) for a in A]
    for r, count in zip(problem.rows, slots, strict=True):
        A += [r.A] * count
        sizes += [len(r.A)] * count
    ptr = np.cumsum([0, *sizes])
    logc = np.full((len(nodes), int(ptr[-1])), LOG_ZERO)
    fixed = np.concatenate([c for _, c in problem.fixed])
    logc[:, : fixed.size] = fixed
    places = []
    for n, node in enumerate(nodes):
        mine: list[tuple[int, int]] = []
        at = len(problem.fixed)
        for k, count in enumerate(slots):
            some = sorted(i for r, i in node.work if r == k)
            for slot, i in enumerate(some):
                logc[n, ptr[at + slot] : ptr[at + slot + 1]] = problem.rows[k].logc[i]
            mine += [(k, i) for i in some] + [(k, -1)] * (count - len(some))
            at += count
        places.append(mine)
    table = terms(np.concatenate(A), np.maximum(logc, LOG_ZERO), ptr)
    if side_by_side.beside_others():
        low, high = (np.broadcast_to(end, (len(nodes), end.size)) for end in (problem.low, problem.high))
        result = side_by_side.solve(table.A, table.logc, ptr, low, high)
        if _usable(result):
            return result, table, places
    result = gp.solve(table.A, table.logc, ptr, problem.low, problem.high, max_iterations=REMOVAL_ITERATIONS)
    if not _usable(result):
        raise ArithmeticError("the interior point closes a program neither way")
    return result, table, places


def _usable(result: gp.Result) -> bool:
    """Whether every program is closed; a gap that is not quite makes a weaker bound, not a wrong one."""
    near = (result.value - result.bound <= 1e-7) & (result.violation <= SAMPLE_HOLDS)
    return bool(((result.status != gp.FAILED) | near).all())


def _add(problem: Sampled, nodes: Sequence[_Node], found: gp.Result) -> list[bool]:
    """Add to each program the sample of each row that misses most; tells which programs miss none."""
    missing = [False] * len(nodes)
    for k, r in enumerate(problem.rows):
        value = r.at(found.y)
        for n, node in enumerate(nodes):
            if found.status[n] == gp.INFEASIBLE:
                continue
            if node.out[r.group]:
                value[n, list(node.out[r.group])] = -np.inf
            worst = int(value[n].argmax())
            if value[n, worst] > SAMPLE_HOLDS and (k, worst) not in node.work:
                node.work.add((k, worst))
                missing[n] = True
    return missing


def _write_down_optimum(
    problem: Sampled,
    node: _Node,
    found: gp.Result,
    n: int,
    table: Terms,
    places: Sequence[tuple[int, int]],
) -> None:
    """Write down what a program came to: its optimum, the samples that hold it up, the bound by these alone."""
    table = table.take(np.array([n]))
    lam = found.multipliers[n]
    goal = 0.0 if found.status[n] == gp.INFEASIBLE else 1.0
    node.bound = math.inf
    enough = 0.0
    if goal:
        node.y, node.value, node.bound = found.y[n], float(found.value[n]), float(found.bound[n])
        enough = node.bound - NODE_SLACK
    m = len(problem.fixed) - 1
    some = lam.copy()
    some[m:][lam[m:] < SUPPORTS * (1.0 if goal else float(lam.sum()))] = 0.0
    proved = float(
        lagrangian(table, problem.low[None], problem.high[None], found.y[n][None], some[None], goal)[0]
    )
    if not proved > enough:
        some, proved = lam, node.bound
    if goal:
        node.bound = min(proved, node.value)
    kept = [place for place, w in zip(places, some[m:], strict=True) if w > 0 and place[1] >= 0]
    node.support = tuple(dict.fromkeys((problem.rows[r].group, i) for r, i in kept))
    node.work = set(kept)
