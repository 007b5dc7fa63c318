"""What ``dse uncertainty --indices`` shows: which uncertain numbers matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dse.commands.terminal.door import ANSWERED, NO_ANSWER, draw
from dse.commands.terminal.printing import say, say_json, show, table

if TYPE_CHECKING:
    from dse.commands.terminal.options.cluster_options import Place
    from scenarios import Scenario


def tell(
    asked: Scenario,
    rows: int | None,
    design: Mapping[str, float | str] | None,
    pictures: Sequence[str],
    place: Place,
    *,
    as_json: bool,
) -> int:
    """Compute indices and losses, print and draw them; returns the exit code. Raises ScenarioError."""
    from dse import api
    from dse.commands.terminal.options.cluster_options import client_at
    from results.uncertainty.matters_text import sentences, tables

    with client_at(place) as client:
        found = api.what_matters(asked, rows, design, client, place.workers, True, place.patience)
    draw(pictures, "matters", found, found.samples.attrs)
    if as_json:
        say_json(found.record() | {"written": list(pictures)})
    else:
        say(found.title)
        for sentence in sentences(found):
            say(sentence)
        for name, head, lines in tables(found):
            say(f"\n{name}")
            show(table(head, lines))
        for name in pictures:
            say(f"Written: {name}")
    return ANSWERED if found.left_out < found.rows else NO_ANSWER
