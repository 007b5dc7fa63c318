"""Whether a stored sweep is what it says: every number re-read, every design re-evaluated by the model.

It shares no code with what solved the points, and reads one chunk at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import results.checksums
import results.chunks
import results.identities
import results.storage
import results.store
import scenarios
from dse import audits, checking, chunk_work, targets
from dse.chunk_work import Ready, Study
from dse.findings import Findings
from dse.progress import Report, reporting
from results.chunks import ChunkIndex
from results.store import StoreError
from results.trouble import explained
from scenarios import Scenario

POINTS = 20
MOST = 100
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
    chunks that are not done; ``found``: the largest of what is allowed; ``again``: points answered again by other
    means; ``notes``: what should be known and is not wrong.
    """

    store: str
    points: int = 0
    chunks: int = 0
    pending: int = 0
    wrong: int = 0
    troubles: list[Trouble] = field(default_factory=list)
    found: Findings = field(default_factory=Findings)
    again: audits.Again | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the sweep is finished and nothing is wrong."""
        return self.wrong == 0

    def tell(self, trouble: Trouble, count: int = 1) -> None:
        """Note what is wrong."""
        self.wrong += count
        if len(self.troubles) < MOST:
            self.troubles.append(trouble)

    def record(self) -> dict[str, Any]:
        """Return the verdict as values that JSON has."""
        again = self.again
        return {
            "store": self.store,
            "passed": self.passed,
            "points": self.points,
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
    audit: int = POINTS,
    progress: bool | Report | None = None,
) -> Verdict:
    """Verify the store of a sweep.

    ``scenario``: the question, where the one that is stored cannot be read any more (a machine file has moved).
    ``audit``: so many points, so many of those said to be infeasible, and of optima whose bound could not be proved
    once more, are answered again by other means.

    Raises StoreError where there is no store of a sweep, and ScenarioError where its question cannot be read.
    """
    # workers of the audit may have another working directory
    path = results.storage.absolute(store)
    attributes, identity = results.store.attributes(path), results.store.identity(path)
    asked = scenario or scenarios.from_text(str(attributes["scenario"]), "the question in the store")
    at = chunk_work.ready(scenarios.grid(asked), _kept(asked, identity))
    verdict = Verdict(str(store))
    _identity(verdict, at, asked, identity, attributes)
    _coordinates(verdict, at, path)
    if verdict.wrong:
        # the numbers would be held against another question
        return verdict
    infeasible = _Kept(audit)
    with reporting(progress) as report:
        for index in _chunks(verdict, at, path, identity):
            region = results.chunks.block(at.plan.shape, identity[results.store.CHUNKS], index)
            _chunk(verdict, at, path, index, region, infeasible)
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


def _kept(asked: Scenario, identity: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the variables of a store that keeps only some."""
    names = tuple(v.name for v in results.dataset.layout(scenarios.grid(asked)).variables)
    stored = tuple(identity["grid"]["variables"])
    return None if stored == names else tuple(n for n in stored if n in names)


def _identity(
    verdict: Verdict, at: Ready, asked: Scenario, identity: Mapping[str, Any], attributes: Mapping[str, Any]
) -> None:
    """Hold what the store says it is against what its question makes of it here."""
    chunks = tuple(identity[results.store.CHUNKS])
    here = results.identities.complete(targets.identity(asked, at), at.plan, chunks)
    for name, mine, theirs in results.identities.differences(here, dict(identity)):
        text = results.identities.differs(name, mine, theirs).strip()
        if name.partition(".")[0] in CHANGES:
            verdict.notes.append(text)
        else:
            verdict.tell(Trouble(None, None, name, text))
    if attributes.get("scenario_hash") != identity.get("scenario"):
        verdict.tell(Trouble(None, None, "scenario", "the stored question is not the one that was swept"))


def _coordinates(verdict: Verdict, at: Ready, path: str) -> None:
    where = results.storage.folder(path)
    with explained(where, "read"):
        group = zarr.open_group(where.zarr(write=False), mode="r")
    for coordinate in at.plan.coordinates:
        try:
            stored = np.asarray(group[coordinate.name][...]).tolist()
        except Exception as problem:  # a decoder may raise anything on damaged bytes
            verdict.tell(Trouble(None, None, coordinate.name, f"cannot be read: {problem}"))
            continue
        if stored != list(coordinate.values or ()):
            verdict.tell(Trouble(None, None, coordinate.name, "its values are not those of the question"))


def _chunks(verdict: Verdict, at: Ready, path: str, identity: Mapping[str, Any]) -> Iterator[ChunkIndex]:
    """Go through the chunks that are as they were written."""
    where, notes = results.storage.folder(path), results.store.notes(path)
    group = zarr.open_group(where.zarr(write=False), mode="r")
    for index, _ in results.chunks.chunk_slices(at.plan.shape, identity[results.store.CHUNKS]):
        if index not in notes:
            verdict.pending += 1
            verdict.tell(Trouble(index, None, "", "it is not done; run the sweep again"))
            continue
        verdict.chunks += 1
        damage = results.checksums.damage(group, index, notes[index])
        if damage:
            name, _, what = damage.partition(" ")
            known = name in identity["grid"]["variables"]
            verdict.tell(Trouble(index, None, name if known else "", what if known else damage))
        else:
            yield index


def _chunk(
    verdict: Verdict, at: Ready, path: str, index: ChunkIndex, region: tuple[slice, ...], infeasible: _Kept
) -> None:
    try:
        arrays = results.store.read_chunk(path, index)
    except StoreError as problem:
        verdict.tell(Trouble(index, None, "", str(problem)))
        return
    found = checking.check(at.spread, at.plan, region, arrays, bounds=True)
    verdict.points += found.points
    verdict.found.add(found)
    for example in found.examples:
        verdict.tell(Trouble(index, example.place, example.variable, example.what))
    verdict.wrong += found.wrong - len(found.examples)
    if "status" in arrays:
        if (arrays["status"] == 0).any():
            verdict.tell(Trouble(index, None, "status", "points of a finished chunk are not computed"))
        infeasible.look(arrays["status"] == checking.INFEASIBLE, region)


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
    done = results.store.done(path)
    chunks = results.store.chunks_of(path)
    there = [
        p for p in dict.fromkeys(places) if tuple(i // c for i, c in zip(p, chunks, strict=True)) in done
    ]
    study = Study(asked.text, asked.file, chunks, path, chunk_work.own_model(asked))
    verdict.again = audits.again(at, study, results.store.open(path), there)
    for wrong in verdict.again.examples:
        chunk = tuple(i // c for i, c in zip(wrong.place, chunks, strict=True))
        verdict.tell(Trouble(chunk, wrong.place, wrong.variable, wrong.what))


def passed_audit(attributes: Mapping[str, Any]) -> bool:
    """Whether the audit that a dataset tells of found nothing wrong (also where it tells of none)."""
    told = json.loads(attributes.get(audits.ATTRIBUTE, "{}"))
    return bool(told.get("passed", True))
