"""What the tasks of a sweep are told, and what they hand back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from dse.models.model import Model
from dse.system.records import dataclass
from dse.version import VERSION
from results.dataset import Arrays
from results.stores.chunks import ChunkIndex
from scenarios.language.tables import Table

if TYPE_CHECKING:
    from solvers.others.pyomo_points import By


@dataclass(frozen=True, slots=True)
class Study:
    """All that a worker needs to compute any chunk of a sweep.

    ``text`` and ``file``: the scenario as written. ``store``: where results go, None: they are handed back.
    ``models``: those that only the caller knows. ``only``: names of the variables to keep (None: all). ``retry``:
    only the points that failed are solved, those of chunks that are done. ``run``: tells a sweep from the
    next one on the same store. ``tables``: whose rows are swept, where no store has them.
    ``extends``: the store whose points are taken over, but for those of its ``damaged`` chunks. ``by``: the solver
    that the user asked for. ``full``: see ``ready``.
    """

    text: str
    file: str
    chunks: tuple[int, ...]
    store: str | None = None
    models: tuple[Model, ...] = ()
    version: str = VERSION
    only: tuple[str, ...] | None = None
    retry: bool = False
    run: str = ""
    tables: tuple[Table, ...] = ()
    extends: str | None = None
    damaged: frozenset[ChunkIndex] = frozenset()
    by: By | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """A chunk is done; ``arrays`` only where there is no store to write to.

    ``note``: what its marker says beside the checksums: ``alone`` (points that the way for whole blocks left to be
    solved one by one), ``left_over`` (why: points by reason), ``seconds``, ``check`` and ``check_seconds`` (see
    ``dse.sweeping.checks.checking``).
    """

    index: ChunkIndex
    arrays: Arrays | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
