"""Attributes of a store that are added later: of its root, and of single chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from results.stores import markers, roots
from results.stores.files import seals
from results.stores.files.object_storage import ROOT
from results.stores.files.seals import ATTRIBUTES
from results.stores.files.storage import Place, folder
from results.stores.files.trouble import explained


def annotate(place: Place, attributes: Mapping[str, Any]) -> None:
    """Add attributes (say audit figures) to the dataset of a store, all at once; the same again writes nothing."""
    with roots.at(place, "write to") as (where, told):
        if {**told[ATTRIBUTES], **attributes} != told[ATTRIBUTES]:
            # in an order of their own, so that the file is the same however often it was written
            before = {name: value for name, value in told[ATTRIBUTES].items() if name not in attributes}
            where.put(ROOT, seals.dumped({**told, ATTRIBUTES: {**before, **attributes}}))


def remark(place: Place, name: str, told: Mapping[str, Any]) -> None:
    """Put a small JSON file among the markers (``name``: chunks_done/…, not ending in .json)."""
    where = folder(place)
    with explained(where, "write to"):
        where.put(name, seals.dumped(told))


def remarked(place: Place, name: str) -> dict[str, Any]:
    """Return what ``remark`` has put there; empty where there is none, or it cannot be read."""
    where = folder(place)
    with explained(where, "read"):
        try:
            return seals.loaded(markers.read(where, [name])[0].get(name))
        except (ValueError, PermissionError):
            return {}
