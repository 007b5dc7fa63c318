"""Whether a stored sweep is what it says: every number re-read, every design re-evaluated by the model.

It shares no code with what solved the points, and reads one chunk at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import results.stores.chunks
import results.stores.files.storage
import results.stores.identities
import results.stores.store
import scenarios
from dse.sweeping import audits, sweeps, targets
from dse.sweeping.checks import checking, parts
from dse.sweeping.checks.findings import Findings
from dse.sweeping.points import chunk_work
from dse.sweeping.points.chunk_work import Ready
from dse.sweeping.points.study import Study
from dse.system.progress import Report, reporting
from dse.system.records import dataclass
from dse.version import VERSION
from results.stores.chunks import ChunkIndex
from results.stores.files.trouble import StoreForbidden
from results.variables import SHOWN_NAMES
from scenarios import Scenario

if TYPE_CHECKING:
    from results.dataset import Arrays
    from solvers.others.pyomo_points import By

VERIFIED_AGAIN = 20
MOST_TROUBLES = 100
CHANGES = frozenset({"dse", "method", "equations"})
"""Parts of an identity that may differ where a store is verified by another version."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is wrong: in which chunk and at which point (None: of the store as a whole), with what."""

    chunk: ChunkIndex | None
    point: tuple[int, ...] | None
    variable: str
    what: str

    def __str__(self) -> str:
        where = [f"chunk {self.chunk}"] if self.chunk is not None else []
        where += [f"point {self.point}"] if self.point is not None else []
        return f"{', '.join([*where, *([self.variable] if self.variable else [])])}: {self.what}"


@dataclass(slots=True)
class Verdict:
    """What became of a verification.

    ``points``: how many were judged; ``wrong``: how much is wrong, of which ``troubles`` are the first; ``pending``:
    chunks that are not done; ``damaged``: files or chunks that are missing or not what was written; ``found``: the
    largest of what is allowed; ``again``: points answered again by other means; ``notes``: what should be known and is
    not wrong.
    """

    store: str
    points: int = 0
    chunks: int = 0
    pending: int = 0
    damaged: int = 0
    wrong: int = 0
    troubles: list[Trouble] = field(default_factory=list)
    found: Findings = field(default_factory=Findings)
    again: audits.Again | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the sweep is finished and nothing is wrong."""
        return self.wrong == self.pending == 0

    def tell(self, trouble: Trouble, count: int = 1) -> None:
        """Note what is wrong."""
        self.wrong += count
        if len(self.troubles) < MOST_TROUBLES:
            self.troubles.append(trouble)

    def record(self) -> dict[str, Any]:
        """Return the verdict as values that JSON has."""
        again = self.again
        return {
            "store": self.store,
            "passed": self.passed,
            "points": self.points,
            "not_run_again": self.found.not_run,
            "chunks": self.chunks,
            "chunks_pending": self.pending,
            "wrong": self.wrong,
            "troubles": [
                {"chunk": t.chunk, "point": t.point, "variable": t.variable, "what": t.what}
                for t in self.troubles
            ],
            "largest_miss_of_a_limit": self.found.limit,
            "largest_gap": self.found.gap,
            "largest_difference": self.found.difference,
            "bounds_proved_again": self.found.proved,
            "bounds_tried": self.found.proved + self.found.unproved,
            "solved_again": again.points if again else 0,
            "agree": again.agree if again else 0,
            "undecided": again.undecided if again else 0,
            "notes": self.notes,
        }


def verify(
    store: str | Path,
    scenario: Scenario | None = None,
    audit: int = VERIFIED_AGAIN,
    progress: bool | Report | None = None,
) -> Verdict:
    """Verify the store of a sweep.

    ``scenario``: the question, where the one that is stored cannot be read any more (a machine file has moved).
    ``audit``: so many points, so many of those said to be infeasible, and of optima whose bound could not be proved
    once more, are answered again by other means.

    Raises StoreError where there is no store of a sweep, and ScenarioError where its question cannot be read.
    """
    # workers of the audit may have another working directory
    path = results.stores.files.storage.absolute(store)
    attributes, identity = results.stores.store.attributes(path), results.stores.store.identity(path)
    asked = scenario or _stored_scenario(attributes, path)
    at = chunk_work.of_scenario(
        asked,
        scenarios.grid(asked),
        _kept_variables(asked, identity),
        _solver_of_store(identity),
        full=results.stores.identities.DEPTH in identity,
    )
    verdict = Verdict(str(store))
    _identity(verdict, at, asked, identity, attributes)
    _metadata(verdict, at, path, identity)
    if verdict.wrong:
        # the numbers would be held against another question
        return verdict
    infeasible = _Kept(audit)
    with reporting(progress) as report:
        for index, arrays in _chunks(verdict, at, path, identity):
            region = results.stores.chunks.block(at.plan.shape, identity[results.stores.store.CHUNKS], index)
            _chunk(verdict, at, index, arrays, region, infeasible)
            report(verdict.points, int(np.prod(at.plan.shape)))
    if audit and "status" in identity["grid"]["variables"]:
        _again(
            verdict,
            at,
            asked,
            path,
            [*verdict.found.doubtful[:audit], *audits.drawn(at, audit), *infeasible.places],
        )
    return verdict


def _stored_scenario(attributes: Mapping[str, Any], path: str) -> Scenario:
    tables = results.stores.store.tables(path)
    return scenarios.from_text(str(attributes["scenario"]), "the question in the store", tables)


def repair(
    store: str | Path,
    scenario: Scenario | None = None,
    progress: bool | Report | None = None,
) -> None:
    """Compute what is missing of a store or damaged, and write damaged metadata anew, from its own question.

    It is what the sweep does that is started again; what is sound is left as it is. ``scenario``: as in ``verify``.
    Raises StoreError where nothing in the store says its question any more, where it belongs to another version or
    other equations than those here, and where it cannot be written; ScenarioError as ``verify``.
    """
    path = results.stores.files.storage.absolute(store)
    attributes = results.stores.store.origin(path)
    asked = scenario or _stored_scenario(attributes, path)
    identity = json.loads(attributes[results.stores.store.IDENTITY])
    grid, only = scenarios.grid(asked), _kept_variables(asked, identity)
    full = results.stores.identities.DEPTH in identity
    sweeps.run(asked, grid, path, None, None, progress, only, by=_solver_of_store(identity), full=full)


def _solver_of_store(identity: Mapping[str, Any]) -> By | None:
    """Return the solver through Pyomo that filled a store; None where our own methods did."""
    told = identity.get(targets.SOLVER)
    if not told:
        return None
    from solvers.others import pyomo_points

    return pyomo_points.read(str(told))


def _kept_variables(asked: Scenario, identity: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the variables of a store that keeps only some."""
    plan = results.dataset.layout(scenarios.grid(asked), full=results.stores.identities.DEPTH in identity)
    names = tuple(v.name for v in plan.variables)
    stored = tuple(identity["grid"]["variables"])
    return None if stored == names else tuple(n for n in stored if n in names)


def _identity(
    verdict: Verdict, at: Ready, asked: Scenario, identity: Mapping[str, Any], attributes: Mapping[str, Any]
) -> None:
    """Hold what the store says it is against what its question makes of it here."""
    chunks = tuple(identity[results.stores.store.CHUNKS])
    here = results.stores.identities.complete(targets.identity(asked, at), at.plan, chunks)
    for name, mine, theirs in results.stores.identities.differences(here, dict(identity)):
        text = results.stores.identities.differs(name, mine, theirs).strip()
        if name.partition(".")[0] in CHANGES:
            verdict.notes.append(text)
        else:
            verdict.tell(Trouble(None, None, name, text.removeprefix(f"{name}: ")))
    if attributes.get("scenario_hash") != identity.get("scenario"):
        verdict.tell(Trouble(None, None, "scenario", "the stored question is not the one that was swept"))


def _metadata(verdict: Verdict, at: Ready, path: str, identity: Mapping[str, Any]) -> None:
    """Hold metadata against what was written, and against what the question makes of them here."""
    damaged = results.stores.store.damaged_metadata(path)
    verdict.damaged += len(damaged)
    for name, what in damaged.items():
        verdict.tell(Trouble(None, None, name.partition("/")[0], f"{name} {what}"))
    if damaged:
        return
    group = results.stores.store.group(path)
    for variable in (*at.plan.coordinates, *at.plan.variables):
        try:
            array = group[variable.name]
            here = json.loads(json.dumps(dict(variable.attributes)))
            # titles are absent from older stores, and what stands behind them depends on the catalogue
            other = dict(array.attrs) | {SHOWN_NAMES: ""} != here | {SHOWN_NAMES: ""}
            values = None if variable.values is None else np.asarray(array[...]).tolist()
        except StoreForbidden:
            raise
        except Exception as problem:  # a decoder may raise anything on damaged bytes
            verdict.tell(Trouble(None, None, variable.name, f"cannot be read: {problem}"))
            continue
        if values is not None and not results.stores.identities.same(values, list(variable.values or ())):
            verdict.tell(Trouble(None, None, variable.name, "its values are not those of the question"))
        if other and identity.get("dse") == VERSION:
            verdict.tell(Trouble(None, None, variable.name, "its attributes are not those of the question"))


def _chunks(
    verdict: Verdict, at: Ready, path: str, identity: Mapping[str, Any]
) -> Iterator[tuple[ChunkIndex, Arrays]]:
    """Go through the chunks that are as they were written: index and arrays."""
    done = results.stores.store.done(path)
    whole = [
        i for i, _ in results.stores.chunks.chunk_slices(at.plan.shape, identity[results.stores.store.CHUNKS])
    ]
    for index in whole:
        if index not in done:
            verdict.pending += 1
    for index, damage, arrays in results.stores.store.verified(path, [i for i in whole if i in done]):
        verdict.chunks += 1
        verdict.damaged += bool(damage)
        if damage:
            name = damage.partition(" ")[0].partition("/")[0]
            known = name in identity["grid"]["variables"]
            verdict.tell(Trouble(index, None, name if known else "", damage))
        else:
            yield index, arrays


def _chunk(
    verdict: Verdict,
    at: Ready,
    index: ChunkIndex,
    arrays: Arrays,
    region: tuple[slice, ...],
    infeasible: _Kept,
) -> None:
    found = checking.check(at.spread, at.plan, region, arrays, bounds=True)
    verdict.points += found.points
    verdict.found.add(found)
    for example in found.examples:
        verdict.tell(Trouble(index, example.place, example.variable, example.what))
    verdict.wrong += found.wrong - len(found.examples)
    if "status" in arrays:
        if (arrays["status"] == 0).any():
            verdict.tell(Trouble(index, None, "status", "points of a finished chunk are not computed"))
        infeasible.look(arrays["status"] == parts.INFEASIBLE, region)


class _Kept:
    """A fair draw of so many places out of all that are shown to it, the same each time."""

    def __init__(self, count: int) -> None:
        self._count, self._dice = count, np.random.default_rng(count)
        self._drawn: list[tuple[float, tuple[int, ...]]] = []

    def look(self, where: Any, region: tuple[slice, ...]) -> None:
        spots = np.argwhere(where)
        luck = self._dice.random(len(spots))
        for i in np.argsort(luck)[: self._count]:
            place = tuple(int(s.start + k) for s, k in zip(region, spots[i], strict=True))
            self._drawn.append((float(luck[i]), place))
        self._drawn = sorted(self._drawn)[: self._count]

    @property
    def places(self) -> list[tuple[int, ...]]:
        """The places drawn so far."""
        return [place for _, place in self._drawn]


def _again(verdict: Verdict, at: Ready, asked: Scenario, path: str, places: list[tuple[int, ...]]) -> None:
    done = results.stores.store.done(path)
    chunks = results.stores.store.chunks_of(path)
    there = [
        p for p in dict.fromkeys(places) if tuple(i // c for i, c in zip(p, chunks, strict=True)) in done
    ]
    study = Study(asked.text, asked.file, chunks, path, chunk_work.own_models(asked))
    verdict.again = audits.again(at, study, results.stores.store.open(path), there)
    for wrong in verdict.again.examples:
        chunk = tuple(i // c for i, c in zip(wrong.place, chunks, strict=True))
        verdict.tell(Trouble(chunk, wrong.place, wrong.variable, wrong.what))
