"""The papers' tables, figures and stated results, set beside our own answers.

``run("demmel2013", out)`` answers every question again in that run; only what the paper says is looked up.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from dse.papers.paper import reproduce
from dse.papers.report import Picture, Report, Row, Statement, Verdict, terminal, to_json
from dse.system.progress import Report as Progress

__all__ = ["Picture", "Report", "Row", "Statement", "Verdict", "papers", "run", "terminal", "to_json"]


@cache
def papers() -> tuple[str, ...]:
    """Names of the papers that can be reproduced, oldest first: every package in this one."""
    found = [entry.name for entry in iter_modules(__path__) if entry.ispkg]
    return tuple(sorted(found, key=lambda name: (name[-4:], name)))


def run(paper: str, out: Path | None = None, progress: Progress | None = None) -> Report:
    """Reproduce one paper; write its pictures, CSV files and a Markdown page into ``out``.

    ``out`` defaults to ``reproduce-<paper>`` in the current folder and is made where it is missing.
    ``progress`` is told how many of how many parts are done.
    Raises KeyError for a paper that is not in ``papers()`` and OSError where ``out`` cannot be written.
    """
    if paper not in papers():
        msg = f"no paper {paper!r} here; there is: {', '.join(papers())}"
        raise KeyError(msg)
    folder = Path(f"reproduce-{paper}") if out is None else Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return reproduce(
        import_module(f"dse.papers.{paper}").paper, folder, progress or (lambda done, total: None)
    )
