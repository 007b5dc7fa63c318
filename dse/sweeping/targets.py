"""Where a sweep goes: a store that one sweep at a time fills, or memory, with the same verbs."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import dse.models
import results.stores.chunks
import results.stores.files.locks
import results.stores.files.storage
import results.stores.identities
import results.stores.memory
import results.stores.store
from dse.models.described.sources import fingerprints
from dse.models.shared import economics
from dse.sweeping import audits
from dse.sweeping.points.chunk_work import LEFT_OVER, Ready
from dse.sweeping.points.study import Finished, Study
from dse.system.nouns import plural
from dse.version import VERSION
from formulations import handover
from results.dataset import STATUS_CODES
from results.solution import Status
from results.stores import remarks
from results.stores.chunks import ChunkIndex
from scenarios import Scenario
from scenarios.structured.kernels import model_names

if TYPE_CHECKING:
    import xarray as xr

SINGLY = "points_solved_singly"
SOLVER = "solver"
AUDIT_NOTE = "chunks_done/audit.note"
AGAIN = "solved_again"
ERROR = str(STATUS_CODES[Status.ERROR])
_log = logging.getLogger("dse")


def identity(scenario: Scenario, at: Ready) -> dict[str, Any]:
    """Return everything that determines the numbers of a sweep, beside its grid.

    The question's text, the parameters of the machines as they are read now, the equations, the way they are
    solved, and the version of dse. Versions of libraries are not among them: they are attributes of the dataset,
    and what they change is within the gap that every point states.
    """
    # a solver that the user asked for; who asks for none has no such entry
    by = {} if at.points is None else {SOLVER: at.points.by.words()}
    full = {results.stores.identities.DEPTH: "full"} if at.plan.full else {}
    return {
        **by,
        **full,
        "scenario": scenario.hash,
        "dse": VERSION,
        "machine": json.loads(at.plan.attributes["machine_parameters"]),
        "equations": _equations(scenario, at),
        "method": at.plan.attributes.get("method", ""),
    }


def _equations(scenario: Scenario, at: Ready) -> dict[str, str]:
    """Return checksums of the equations of every model of a question, and of what puts several together."""
    made = [dse.models.get(name) for name in model_names(scenario)]
    asked = next(iter(at.grid.bases.values())).model
    if scenario.kernels or economics.is_priced(asked):
        made.append(asked)
    return {name: mark for model in made for name, mark in fingerprints(model).items()}


class Target:
    """Where the chunks of a sweep go; as a context it holds the lock of its store.

    ``path``: the store, None: in memory. ``done``: chunks that an earlier run has finished. ``retry``: chunks
    with points that failed, which are to be tried again. ``carried``: attributes of the store whose points are taken
    over.
    """

    def __init__(
        self,
        at: Ready,
        scenario: Scenario,
        store: str | Path | None,
        kind: str,
        *,
        retry: bool = False,
        carried: Mapping[str, Any] | None = None,
    ) -> None:
        self.at, self._carried = at, dict(carried or {})
        self._lock = contextlib.ExitStack()
        self._held: results.stores.files.locks.Held | None = None
        self._notes: dict[ChunkIndex, Mapping[str, Any]] = {}
        self.path: str | None = None
        self.done: set[ChunkIndex] = set()
        self.retry: list[ChunkIndex] = []
        self._damaged: Mapping[ChunkIndex, Mapping[str, str]] = {}
        if store is None:
            self._memory = results.stores.memory.Memory(at.plan, kind, at.work)
            self.chunks = self._memory.chunks
            return
        # workers may have another working directory
        self.path = results.stores.files.storage.absolute(store)
        self.chunks = results.stores.store.create(self.path, at.plan, identity(scenario, at), kind, at.work)
        self._damaged = results.stores.store.damaged_chunks(self.path)
        self.done = results.stores.store.done(self.path) - self._damaged.keys()
        if retry:
            notes = results.stores.store.notes(self.path)
            self.retry = [i for i, note in sorted(notes.items()) if note.get("statuses", {}).get(ERROR)]

    def __enter__(self) -> Self:
        """Hold the lock, unless all is done (so that a finished store may be read-only)."""
        if self.path is not None and (
            self.todo() or self.retry or not audits.finished(results.stores.store.attributes(self.path))
        ):
            self._held = self._lock.enter_context(results.stores.files.locks.held(self.path))
            # somebody may have been at work until now
            self._discard(results.stores.store.damaged_chunks(self.path, self._damaged))
            self.look()
            if self.todo() or self.retry:
                results.stores.store.resume(self.path)
        return self

    def _discard(self, damaged: Mapping[ChunkIndex, Mapping[str, str]]) -> None:
        """Take back chunks that are not what was written, and say so."""
        assert self.path is not None, "only what is stored can be damaged"
        for index in damaged:
            results.stores.store.discard(self.path, index)
        if damaged:
            name, what = next(iter(next(iter(damaged.values())).items()))
            many = plural(len(damaged), "chunk")
            _log.warning("%s: %s computed again, since %s %s", self.path, many, name, what)

    def __exit__(self, *problem: object) -> None:
        """Give the lock back."""
        self._lock.close()

    def todo(self) -> list[ChunkIndex]:
        """Return the chunks that are not done, in order."""
        return [index for index in self._all() if index not in self.done]

    def _all(self) -> list[ChunkIndex]:
        return [index for index, _ in results.stores.chunks.chunk_slices(self.at.plan.shape, self.chunks)]

    def there(self) -> bool:
        """Tell whether the store is still where it was."""
        return self.path is not None and results.stores.store.exists(self.path)

    def take(self, finished: Finished) -> None:
        """Keep a chunk that no worker has written; StoreBusy where another sweep has taken the store over."""
        if self._held is not None:
            self._held.check()
        self._notes[finished.index] = finished.note
        if finished.arrays is not None and self.path is None:
            self._memory.write_chunk(finished.index, finished.arrays)
            self.done.add(finished.index)

    def look(self, *, again: bool = False) -> None:
        """Look what is done: a worker left over from a run that was killed may have taken back a chunk of ours.

        ``again``: after chunks were computed, so that few are missing; a listing that does not show them may be an
        old one (network file systems keep them for a while).
        """
        if self.path is not None:
            self.done = results.stores.store.done(self.path)
            self.done |= results.stores.store.notes(self.path, self.todo()).keys() if again else set()

    def finish(self, study: Study, audit: int | None, ahead: audits.Child | None = None) -> xr.Dataset:
        """Tidy up, audit and return the dataset; ``audit``: see ``audits.wanted``, ``ahead``: ``audits.beginning``."""
        if self.path is None:
            dataset = self._memory.dataset()
            extra, _ = audits.timed(self.at, study, lambda: dataset, audits.wanted(self.at, audit), ahead)
            return dataset.assign_attrs(self._attributes(list(self._notes.values()), extra))
        count = audits.wanted(self.at, audit)
        if audit is None:
            # as many as an earlier run was asked for, so that a repaired store is the one that it was
            count = max(count, remarks.remarked(self.path, AUDIT_NOTE).get(AGAIN, 0))
        attributes = results.stores.store.attributes(self.path)
        enough = json.loads(attributes.get(audits.ATTRIBUTE, "{}")).get("solved_again", 0) >= count
        if audits.finished(attributes) and not self._notes and enough:
            return results.stores.store.open(self.path)
        notes = list(results.stores.store.notes(self.path, self._all()).values())
        opened = partial(results.stores.store.open, self.path)
        extra, seconds = audits.timed(self.at, study, opened, count, ahead)
        found = self._attributes(notes, extra)
        remarks.annotate(self.path, found)
        spent = {
            "seconds": sum(n.get("check_seconds", 0.0) for n in notes),
            "seconds_solved_again": seconds,
            AGAIN: count,
        }
        remarks.remark(self.path, AUDIT_NOTE, spent)
        results.stores.store.tidy(self.path)
        return opened()

    def _attributes(self, notes: Sequence[Mapping[str, Any]], extra: Any) -> dict[str, Any]:
        found: dict[str, Any] = {audits.ATTRIBUTE: json.dumps(audits.figures(notes, extra))}
        if self.at.path is not None:
            found[SINGLY] = sum(int(n.get("alone", 0)) for n in notes) + int(self._carried.get(SINGLY, 0))
        left = handover.merged(n.get(LEFT_OVER, {}) for n in notes)
        if left:
            # what a way knows that it cannot take is no news for a terminal
            level = logging.WARNING if handover.exceptional(left) else logging.INFO
            _log.log(
                level,
                "answered one by one, each choice at a point counted: %s",
                handover.words(left),
            )
        left = handover.merged([json.loads(self._carried.get(LEFT_OVER, "{}")), left])
        return {**self._carried, **found, LEFT_OVER: json.dumps(left)}


def audited(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the figures of a dataset's audit; empty where it has none."""
    return dict(json.loads(dataset.attrs.get(audits.ATTRIBUTE, "{}")))
