"""Extending a finished sweep: a store whose question differs in nothing but that its axes have more values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import results.stores.identities
import results.stores.store
import scenarios
from dse.sweeping import targets
from dse.sweeping.points.chunk_work import LEFT_OVER, Ready
from results.differing import drawn_worlds, question_differences
from results.stores import baselines, grown
from results.stores.files.storage import remote
from results.stores.files.trouble import StoreError
from results.stores.grown import Before
from scenarios import Scenario
from scenarios.language.machine_files import pins
from scenarios.uncertain import AXIS, CORRELATED

EXTENDED = "extended"
"""Attribute of a store that was extended: which sweeps its points are from, as JSON."""
VALUES = ("start", "stop", "num", "spacing", "values", "factors", "table")
MOST_DIFFERENCES = 20


def before(path: str, scenario: Scenario, at: Ready) -> Before | None:
    """Return what a store knows of a grid that has more values on its axes; None where there is nothing to extend.

    That is so where there is no store, or that of this very question. Raises StoreError, which says what differs,
    where anything else does, and where a value of the store is not asked for any more.
    """
    grown.recover(path)
    if not results.stores.store.exists(path):
        return None
    stored = results.stores.store.identity(path)
    mine = targets.identity(scenario, at)
    chunks = tuple(stored[results.stores.store.CHUNKS])
    complete = results.stores.identities.complete(mine, at.plan, chunks)
    if not any(results.stores.identities.differences(complete, stored)):
        return None
    attributes = results.stores.store.attributes(path)
    _refuse_other_question(path, list(_other_question(path, str(attributes["scenario"]), scenario)))
    _refuse_other_question(path, list(_other_sweep(path, mine, stored, at)))
    # what is damaged is computed again
    return grown.before(path, at.plan, frozenset(results.stores.store.damaged_chunks(path)))


def told(path: str) -> dict[str, Any]:
    """Return what the larger store says of the sweep that it extends, and of those before."""
    about = results.stores.store.attributes(path)
    parts = json.loads(about.get(EXTENDED, "[]"))
    part = {name: about.get(name, "") for name in ("scenario_hash", "method")}
    counted = {name: about[name] for name in (targets.SINGLY, LEFT_OVER) if name in about}
    return {EXTENDED: json.dumps([*parts, part]), **counted, **baselines.carried(about)}


def left_behind(path: str) -> str:
    """Say what the larger store does not take over; empty where that is nothing."""
    about = results.stores.store.attributes(path)
    if baselines.ATTRIBUTE not in about or baselines.carried(about):
        return ""
    label = json.loads(about[baselines.ATTRIBUTE])["label"]
    return f"its ratios to {label} are point by point, and not kept: give the baseline with the new values"


def clear(path: str, scenario: Scenario) -> None:
    """Make room beside a store whose lock is held, for the larger one.

    What is there and was extended already is removed: ``grown.swap`` was cut off after the two changed places. Raises
    StoreError where it is an unfinished extension to other values: what it computed is not thrown away unasked.
    """
    larger = grown.beside(path)
    if not results.stores.store.exists(larger):
        if remote(larger):
            # chunks of one that was removed only in part would be taken for done
            grown.discard(path)
        return
    parts = json.loads(results.stores.store.attributes(path).get(EXTENDED, "[]"))
    if parts and results.stores.store.attributes(larger).get("scenario_hash") == parts[-1]["scenario_hash"]:
        grown.discard(path)
    elif results.stores.store.identity(larger)["scenario"] != scenario.hash:
        raise StoreError(
            f"an extension of {path} to other values was cut off, and what it computed is in {larger}; "
            "sweep those values again to finish it, or delete that folder"
        )


def refuse_other_worlds(path: str, asked: Scenario) -> None:
    """Refuse a store of other worlds of this very question; StoreError, which says why they are others."""
    if AXIS not in asked.sweep or not results.stores.store.exists(path):
        return
    text = str(results.stores.store.attributes(path).get("scenario", ""))
    ways = drawn_worlds.way(text), drawn_worlds.way(asked.text)
    if ways[0] is None or ways[1] is None or list(_other_question(path, text, asked)):
        return
    asked_worlds = asked.tables[str(asked.sweep[AXIS].table)].columns
    group = results.stores.store.group(path)
    other = []
    for name, cells in asked_worlds.items():
        if name not in group:
            return
        pair = np.asarray(group[name][...]), np.asarray(cells.values)
        both = min(map(len, pair))
        other += [] if np.array_equal(pair[0][:both], pair[1][:both]) else [name]
    if other:
        why = _other_draws(ways[0], ways[1], other)
        held, now = dict(pins(text)), dict(pins(asked.text))
        why += [f"{name} has changed since" for name in held if now.get(name, held[name]) != held[name]]
        told = "\n".join(f"  {line}" for line in why)
        raise StoreError(f"{path} holds other samples of this question; choose another path\n{told}")


def _other_draws(stored: str, asked: str, other: Sequence[str]) -> list[str]:
    """Say why worlds drawn in these ways differ in these numbers."""
    pairs = list(zip(stored.split(CORRELATED), asked.split(CORRELATED), strict=False))
    told = [f"stored: {one}; asked: {two}" for one, two in pairs if one != two]
    if not told and stored == asked and stored.startswith("latin"):
        return ["a Latin hypercube of another number of samples has none of these"]
    if stored.count(CORRELATED) != asked.count(CORRELATED):
        told.append(f"the {'asked' if CORRELATED in asked else 'stored'} ones alone are correlated")
    return told or [f"drawn from other distributions: {', '.join(other)}"]


def refuse_fewer(stored: int, asked: Scenario, store: str) -> None:
    """Refuse a store that holds more worlds of this question than are asked for; raises StoreError."""
    entry = asked.sweep.get(AXIS)
    table = None if entry is None else asked.tables.get(entry.table or "")
    if table is not None and table.rows < stored:
        raise StoreError(
            f"{store} holds {stored} samples of this question, and {table.rows} are asked for: ask for samples = "
            f"{stored} or more under [uncertain.sampling] (what is there is not computed again), or choose another path"
        )


def worlds_in(path: str, asked: Scenario) -> int:
    """Return how many worlds a store holds of this very question; 0 where it is of another one, or has none."""
    if AXIS not in asked.sweep or not results.stores.store.exists(path):
        return 0
    text = str(results.stores.store.attributes(path).get("scenario", ""))
    coordinates = results.stores.store.group(path)
    if AXIS not in coordinates or not text or list(_other_question(path, text, asked)):
        return 0
    return int(coordinates[AXIS].shape[0])


def _refuse_other_question(path: str, differ: list[str]) -> None:
    if differ:
        more = [f"  and {len(differ) - MOST_DIFFERENCES} more"] if len(differ) > MOST_DIFFERENCES else []
        head = f"{path} cannot be extended: more than the values of axes differs; choose another path"
        raise StoreError("\n".join([head, *differ[:MOST_DIFFERENCES], *more]))


def _other_question(path: str, text: str, asked: Scenario) -> Iterator[str]:
    """Go through what two questions differ in, beside the values on their axes."""
    stored = scenarios.from_text(text, f"the question in {path}", results.stores.store.tables(path))
    if _bare(stored) == _bare(asked) and set(pins(stored.text)) <= set(pins(asked.text)):
        return
    rows = list(question_differences.differences(stored, asked, 0.0))
    other = [r for r in rows if not (r.name.startswith("sweep.") and not r.name.endswith(".path"))]
    for row in other:
        yield f"  {row.name}: stored {row.first}, asked {row.second}"
    if not other:
        one, two = _bare(stored), _bare(asked)
        for name in sorted(n for n in one.keys() | two.keys() if one.get(n) != two.get(n)):
            yield f"  {name} is written otherwise in the stored question"


def _bare(scenario: Scenario) -> dict[str, Any]:
    """Return what a scenario says, without its title and the values on its axes."""
    found = scenario.model_dump(exclude={"title"})
    for axis in found["sweep"].values():
        axis.update(dict.fromkeys(VALUES))
        axis["paths"] = sorted(axis["paths"]) if axis["paths"] else None
        axis["columns"] = sorted(axis["columns"]) if axis["columns"] else None
    return found


def _other_sweep(path: str, mine: Mapping[str, Any], stored: Mapping[str, Any], at: Ready) -> Iterator[str]:
    """Go through what else determines the numbers: machines, equations, the version of dse, and which are kept."""
    asked_depth, stored_depth = (told.get(results.stores.identities.DEPTH) for told in (mine, stored))
    if asked_depth != stored_depth:
        yield results.stores.identities.differs(results.stores.identities.DEPTH, asked_depth, stored_depth)
        return
    for name in ("machine", "equations", "dse", targets.SOLVER):
        pair = {name: mine.get(name, "")}, {name: stored.get(name, "")}
        for key, asked, there in results.stores.identities.differences(*pair):
            # a machine more on an axis has parameters that the store does not speak of
            if asked is not None and there is not None:
                yield results.stores.identities.differs(key, asked, there)
    names = [v.name for v in at.plan.variables]
    if names != stored["grid"]["variables"]:
        yield results.stores.identities.differs("variables", names, stored["grid"]["variables"])
        return
    group = results.stores.store.group(path)
    for c in at.plan.coordinates:
        if c.dims[0] not in at.plan.sizes:
            there = list(group[c.name][...].tolist()) if c.name in group else []
            if there != list(c.values or ()):
                yield results.stores.identities.differs(f"labels of {c.name}", list(c.values or ()), there)
